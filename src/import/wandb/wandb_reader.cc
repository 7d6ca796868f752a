#include <fmt/format.h>

#include <array>

#include "codec/codec.h"
#include "import/settings/settings.h"
#include "import/wandb/wandb.h"

namespace vigil::import {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

constexpr std::string_view kFileHeader("\x3A\x57\x26\x42\xE1\xBE\x00", 7);

// Field numbers of a Record that are read; the others (summaries, files, telemetry, requests) are passed over.
constexpr std::uint32_t kHistory = FieldKey(2, WireType::kBytes);
constexpr std::uint32_t kConfig = FieldKey(5, WireType::kBytes);
constexpr std::uint32_t kStats = FieldKey(7, WireType::kBytes);
constexpr std::uint32_t kConsole = FieldKey(13, WireType::kBytes);
constexpr std::uint32_t kRun = FieldKey(17, WireType::kBytes);
constexpr std::uint32_t kExit = FieldKey(18, WireType::kBytes);

// A key and its value as JSON: how history, config and system metrics are stored.
struct Item {
  std::string key;
  std::string_view json;
};

Item ParseItem(std::string_view bytes) {
  Item item;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kBytes)) item.key = fields.bytes();
    if (fields.key() == FieldKey(2, WireType::kBytes)) {  // nested keys, one field a level
      if (!item.key.empty()) item.key += '/';
      item.key += fields.bytes();
    }
    if (fields.key() == FieldKey(16, WireType::kBytes)) item.json = fields.bytes();
  }
  return item;
}

std::string_view Unquoted(std::string_view json) {
  const bool quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return quoted ? json.substr(1, json.size() - 2) : json;
}

double TimestampOf(std::string_view bytes) {
  double seconds = 0;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kVarint)) seconds += static_cast<double>(fields.AsInt64());
    if (fields.key() == FieldKey(2, WireType::kVarint)) seconds += 1e-9 * static_cast<double>(fields.AsInt64());
  }
  return seconds;
}

class WandbReader : public Reader {
 public:
  explicit WandbReader(PartBuilder& builder)
      : builder_(builder), console_part_(builder.part().sources.front().path, "log-text"), console_(OpenConsole()) {}

  Growth growth() const override { return Growth::kSettlesAtEnd; }
  std::size_t Consume(std::string_view bytes, bool last) override {
    std::size_t header = 0;
    if (!started_) {
      if (bytes.size() < kFileHeader.size()) return 0;
      header = kFileHeader.size();
      started_ = true;
    }
    const std::string_view body = bytes.substr(header);
    const std::size_t taken = ReadRecords(body, last);
    if (last) Conclude();
    return header + taken;
  }

 private:
  // One value of a row of history that is not yet in its series: the step may stand behind it in the row.
  struct Pending {
    PartBuilder::SeriesId series = 0;
    double value = 0;
  };

  std::unique_ptr<Reader> OpenConsole() {
    for (const Format& format : Formats()) {
      if (format.id == "log-text") return format.open(console_part_);
    }
    return nullptr;
  }

  std::size_t ReadRecords(std::string_view body, bool last) {
    for (;;) {
      const codec::LogRecord record = blocks_.Next(body);
      if (record.state == codec::LogState::kRecord) {
        ReadRecord(record.payload);
      } else if (record.state == codec::LogState::kDamaged) {
        if (damaged_blocks_++ == 0) first_damage_ = blocks_.offset();
      } else {
        cut_ = last && record.state == codec::LogState::kCut;
        const std::size_t taken = blocks_.taken();
        blocks_.NextPiece();
        return taken;
      }
    }
  }

  void ReadRecord(std::string_view bytes) {
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == kHistory) ReadHistory(fields.bytes());
      if (fields.key() == kConfig) ReadConfig(fields.bytes());
      if (fields.key() == kStats) ReadStats(fields.bytes());
      if (fields.key() == kConsole) ReadConsole(fields.bytes());
      if (fields.key() == kRun) ReadRun(fields.bytes());
      if (fields.key() == kExit) ReadExit(fields.bytes());
    }
  }

  void ReadHistory(std::string_view bytes) {
    row_.clear();
    std::int64_t row_step = model::kNoStep;  // counts calls of log()
    std::int64_t own_step = model::kNoStep;  // the trainer's own step, where it logs one
    double time = model::kNoValue;
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(2, WireType::kBytes)) {
        ProtoFields step(fields.bytes());
        while (step.Next()) {
          if (step.key() == FieldKey(1, WireType::kVarint)) row_step = step.AsInt64();
        }
      }
      if (fields.key() != FieldKey(1, WireType::kBytes)) continue;
      const Item item = ParseItem(fields.bytes());
      const auto value = ParseNumber(Unquoted(item.json));
      if (!value) continue;
      if (item.key == "_step") {
        row_step = static_cast<std::int64_t>(*value);
      } else if (item.key == "_timestamp") {
        time = *value;
      } else if (IsStepKey(item.key) && *value >= 0 && *value < 9e15) {
        own_step = static_cast<std::int64_t>(*value);
      } else if (item.key != "_runtime" && item.key != "_wandb") {
        row_.push_back({builder_.OpenSeries(item.key), *value});
      }
    }
    const std::int64_t step = own_step != model::kNoStep ? own_step : row_step != model::kNoStep ? row_step : rows_;
    ++rows_;
    for (const Pending& pending : row_) builder_.Add(pending.series, step, pending.value, time);
  }

  static bool IsStepKey(std::string_view key) {
    constexpr std::array<std::string_view, 8> kStepKeys = {
        "train/global_step", "trainer/global_step", "global_step",         "step", "iter",
        "iteration",         "train/step",          "training/global_step"};
    for (const std::string_view known : kStepKeys) {
      if (key == known) return true;
    }
    return false;
  }

  void ReadConfig(std::string_view bytes) {
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() != FieldKey(1, WireType::kBytes)) continue;
      const Item item = ParseItem(fields.bytes());
      const bool internal = item.key.empty() || item.key.starts_with("_wandb");
      if (!internal && item.json.starts_with('{') && item.json.size() < kLongestTree) {
        AddJsonSettings(fmt::format("{{\"{}\": {}}}", item.key, item.json), builder_);
        continue;
      }
      const std::string_view value = Unquoted(item.json);
      if (!internal && !value.empty() && value != "null" && value.front() != '{' && value.size() < kLongestFact)
        builder_.AddFact(item.key, value);
    }
  }

  void ReadStats(std::string_view bytes) {
    double time = model::kNoValue;
    row_.clear();
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(2, WireType::kBytes)) time = TimestampOf(fields.bytes());
      if (fields.key() != FieldKey(3, WireType::kBytes)) continue;
      const Item item = ParseItem(fields.bytes());
      const auto value = ParseNumber(Unquoted(item.json));
      if (!value || item.key.starts_with('_')) continue;
      const auto series = builder_.OpenSeries("system/" + item.key);
      builder_.series(series).axis = model::Axis::kTime;
      row_.push_back({series, *value});
    }
    const bool is_clock = time > 0 && time < 1e11;
    if (!is_clock) return;
    for (const Pending& pending : row_)
      builder_.Add(pending.series, static_cast<std::int64_t>(time), pending.value, time);
  }

  // Console output is what the run would have printed to a log: its errors are read there.
  void ReadConsole(std::string_view bytes) {
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(3, WireType::kBytes)) pending_console_ += fields.bytes();
    }
    if (console_ == nullptr) pending_console_.clear();
    if (pending_console_.size() >= kConsolePiece) FeedConsole(false);
  }

  void FeedConsole(bool last) {
    if (console_ == nullptr) return;
    pending_console_.erase(0, console_->Consume(pending_console_, last));
  }

  void ReadRun(std::string_view bytes) {
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(4, WireType::kBytes)) ReadConfig(fields.bytes());
      if (fields.key() == FieldKey(8, WireType::kBytes)) builder_.part().name = fields.bytes();
    }
  }

  void ReadExit(std::string_view bytes) {
    std::int64_t code = 0;
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(1, WireType::kVarint)) code = fields.AsInt64();
    }
    model::Event event;
    event.kind = model::EventKind::kExit;
    event.name = code == 0 ? "finished" : std::to_string(code);
    // 255 is what the client writes whenever it was not told how the process ended: in notebooks, and on Ctrl-C.
    if (code == kNotTold) event.kind = model::EventKind::kMessage;
    event.text = fmt::format("the run ended with exit code {}", code);
    builder_.AddEvent(std::move(event));
    ended_ = true;
  }

  void Conclude() {
    FeedConsole(true);
    model::Run console = console_part_.Finish();
    for (model::Event& event : console.events) builder_.AddEvent(std::move(event));
    for (model::Fact& fact : console.facts) builder_.AddFact(fact.raw_key, fact.value, fact.place.line);
    // A run that logged nothing to its history may have printed it.
    if (rows_ == 0) {
      for (model::Series& series : console.series) builder_.part().series.push_back(std::move(series));
    }
    if (damaged_blocks_ > 0)
      builder_.ReportDamage(
          fmt::format("byte {}: damaged block, {} in all, read on behind it", first_damage_, damaged_blocks_));
    if (cut_)
      builder_.AddNote(
          fmt::format("byte {}: the last record is cut, as in a run that was killed or still runs", blocks_.offset()));
    if (!ended_ && !cut_) builder_.AddNote("no exit record: the run was killed, or still runs");
  }

  static constexpr std::int64_t kNotTold = 255;
  static constexpr std::size_t kConsolePiece = std::size_t{64} << 10U;
  static constexpr std::size_t kLongestFact = 4096;
  static constexpr std::size_t kLongestTree = std::size_t{1} << 20U;
  PartBuilder& builder_;
  codec::LogBlocks blocks_{kFileHeader.size()};
  PartBuilder console_part_;
  std::unique_ptr<Reader> console_;
  std::string pending_console_;
  std::vector<Pending> row_;
  bool started_ = false;
  bool ended_ = false;
  bool cut_ = false;
  std::int64_t rows_ = 0;
  std::uint64_t damaged_blocks_ = 0;
  std::uint64_t first_damage_ = 0;
};

}  // namespace

int RecogniseWandb(const Probe& probe) { return probe.head.starts_with(kFileHeader) ? 100 : 0; }
std::unique_ptr<Reader> OpenWandb(PartBuilder& builder) { return std::make_unique<WandbReader>(builder); }

}  // namespace vigil::import
