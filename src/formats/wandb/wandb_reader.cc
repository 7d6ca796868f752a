#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "catalogue/says.h"
#include "codec/codec.h"
#include "formats/wandb/axes.h"
#include "formats/wandb/items.h"
#include "formats/wandb/wandb.h"
#include "hyperparams/hyperparams.h"
#include "tabular/distribution.h"
#include "textlog/textlog.h"

namespace vigil::formats {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;
using wandb::Item;
using wandb::Unquoted;

constexpr std::string_view kFileHeader("\x3A\x57\x26\x42\xE1\xBE\x00", 7);

// Field numbers of a Record that are read; the others (files, telemetry, requests) are passed over.
constexpr std::uint32_t kHistory = FieldKey(2, WireType::kBytes);
constexpr std::uint32_t kSummary = FieldKey(3, WireType::kBytes);
constexpr std::uint32_t kConfig = FieldKey(5, WireType::kBytes);
constexpr std::uint32_t kStats = FieldKey(7, WireType::kBytes);
constexpr std::uint32_t kAlert = FieldKey(10, WireType::kBytes);
constexpr std::uint32_t kMetric = FieldKey(12, WireType::kBytes);
constexpr std::uint32_t kConsole = FieldKey(13, WireType::kBytes);
constexpr std::uint32_t kRun = FieldKey(17, WireType::kBytes);
constexpr std::uint32_t kExit = FieldKey(18, WireType::kBytes);
constexpr std::uint32_t kEnvironment = FieldKey(26, WireType::kBytes);

double TimestampOf(std::string_view bytes) {
  double seconds = 0;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kVarint)) seconds += static_cast<double>(fields.AsInt64());
    if (fields.key() == FieldKey(2, WireType::kVarint)) seconds += 1e-9 * static_cast<double>(fields.AsInt64());
  }
  return seconds;
}

class WandbReader : public ingest::Reader {
 public:
  explicit WandbReader(ingest::PartBuilder& builder)
      : builder_(builder), console_part_(builder.part().sources.front().path, "log-text"), console_(OpenConsole()) {}

  // A run that logged nothing to its history may have printed it: which of the two counts is known at the end.
  ingest::Growth growth() const override {
    const bool by_records = rows_ > 0 && (console_ == nullptr || console_->growth() == ingest::Growth::kByRecords);
    return by_records ? ingest::Growth::kByRecords : ingest::Growth::kSettlesAtEnd;
  }
  void Settle(bool paused) override {
    FeedConsole(false);
    if (console_ != nullptr) console_->Settle(paused);
    TakeFromConsole(console_part_.part());
  }
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
  // One value of a row of history that waits to be put into its series: the step may stand behind it in the row.
  struct Pending {
    ingest::PartBuilder::SeriesId series = 0;
    std::size_t axis = wandb::Axes::kNone;
    double value = 0;
  };

  // What is known about a key of the history.
  enum class Role : std::uint8_t { kRowStep, kTime, kStep, kValue, kInternal };
  struct Column {
    Role role = Role::kValue;
    bool opened = false;
    ingest::PartBuilder::SeriesId series = 0;
    std::size_t axis = wandb::Axes::kNone;
  };

  std::unique_ptr<ingest::Reader> OpenConsole() { return textlog::OpenLogText(console_part_); }

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
    DropConsole();
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == kHistory) ReadHistory(fields.bytes());
      if (fields.key() == kSummary) HoldSummary(fields.bytes());
      if (fields.key() == kAlert) ReadAlert(fields.bytes());
      if (fields.key() == kMetric) DeclareAxis(fields.bytes());
      if (fields.key() == kEnvironment) ReadEnvironment(fields.bytes());
      if (fields.key() == kConfig) ReadConfig(fields.bytes());
      if (fields.key() == kStats) ReadStats(fields.bytes());
      if (fields.key() == kConsole) ReadConsole(fields.bytes());
      if (fields.key() == kRun) ReadRun(fields.bytes());
      if (fields.key() == kExit) ReadExit(fields.bytes());
    }
  }

  void ReadHistory(std::string_view bytes) {
    held_summary_.clear();  // it says the same
    row_.clear();
    axes_.BeginRow(rows_++);
    double time = model::kNoValue;
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(2, WireType::kBytes)) ReadRowStep(fields.bytes());
      if (fields.key() != FieldKey(1, WireType::kBytes)) continue;
      wandb::ParseItem(fields.bytes(), item_);
      const auto value = ParseNumber(Unquoted(item_.json));
      if (value) {
        TakeNumber(*value, time);
      } else {
        histograms_.Take(item_);
      }
    }
    for (const Pending& pending : row_) {
      model::Series& series = builder_.series(pending.series);
      if (series.empty()) series.axis = axes_.KindOf(pending.axis);
      builder_.Add(pending.series, axes_.StepOn(pending.axis), pending.value, time);
    }
    histograms_.Finish([&](const std::string& name, const tabular::Distribution& distribution) {
      const std::int64_t step = axes_.StepOn(axes_.AxisFor(name));
      const tabular::DistributionSeries series = tabular::OpenDistribution(name, builder_);
      if (series.opened) tabular::AddDistribution(series, step, time, distribution, builder_);
    });
  }

  void ReadRowStep(std::string_view bytes) {
    ProtoFields step(bytes);
    while (step.Next()) {
      if (step.key() == FieldKey(1, WireType::kVarint)) axes_.SetRowStep(step.AsInt64());
    }
  }

  void TakeNumber(double value, double& time) {
    Column& column = ColumnOf(item_.key);
    if (column.role == Role::kRowStep) axes_.TakeRowStep(value);
    if (column.role == Role::kTime) time = value;
    if (column.role == Role::kStep) axes_.TakeStep(item_.key, value);
    if (column.role != Role::kValue) return;
    if (!column.opened) column.series = builder_.OpenSeries(item_.key);
    column.opened = true;
    row_.push_back({column.series, column.axis, value});
  }

  Column& ColumnOf(const std::string& key) {
    if (const auto at = columns_.find(key); at != columns_.end()) return at->second;
    if (columns_.size() >= ingest::PartBuilder::kMaxSeries) columns_.clear();
    return columns_.emplace(key, Column{RoleOf(key), false, 0, axes_.AxisFor(key)}).first->second;
  }

  Role RoleOf(std::string_view key) const {
    if (key == "_step") return Role::kRowStep;
    if (key == "_timestamp") return Role::kTime;
    if (key == "_runtime" || key == "_wandb") return Role::kInternal;
    return axes_.IsStep(key) ? Role::kStep : Role::kValue;
  }

  void DeclareAxis(std::string_view bytes) {
    axes_.Declare(bytes);
    columns_.clear();
  }

  // The client repeats each row of the history in a summary before it. One that nothing of the history follows was
  // written by the user, or is the last.
  void HoldSummary(std::string_view bytes) {
    ReadHeldSummary();
    if (bytes.size() < kLongestTree) held_summary_ = bytes;
  }

  void ReadHeldSummary() {
    ProtoFields fields(held_summary_);
    while (fields.Next()) {
      if (fields.key() != FieldKey(1, WireType::kBytes)) continue;
      wandb::ParseItem(fields.bytes(), item_);
      const auto value = ParseNumber(Unquoted(item_.json));
      if (value && !item_.key.starts_with('_') && summary_.size() < kMostSummaries) summary_[item_.key] = *value;
    }
    held_summary_.clear();
  }

  // What was logged at the end and is no series yet: one point behind all others.
  void AddSummary() {
    ReadHeldSummary();
    for (const auto& [key, value] : summary_) {
      const Column& column = ColumnOf(key);
      if (column.role == Role::kValue && !column.opened)
        builder_.Add(builder_.OpenSeries(key), axes_.StepOn(column.axis), value);
    }
  }

  void ReadAlert(std::string_view bytes) {
    std::string_view title;
    std::string_view text;
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(1, WireType::kBytes)) title = fields.bytes();
      if (fields.key() == FieldKey(2, WireType::kBytes)) text = fields.bytes();
    }
    model::Event event;
    event.text = Printable(fmt::format("alert: {}: {}", title, text.substr(0, kLongestFact)));
    if (rows_ > 0) event.at = model::StepAt(axes_.StepOn(wandb::Axes::kNone));
    builder_.AddEvent(std::move(event));
  }

  void ReadEnvironment(std::string_view bytes) {
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() == FieldKey(2, WireType::kBytes)) State("python_version", fields.bytes());
      if (fields.key() == FieldKey(18, WireType::kBytes)) State("gpu_type", fields.bytes());
      if (fields.key() == FieldKey(19, WireType::kVarint)) State("gpu_count", std::to_string(fields.AsInt64()));
      if (fields.key() == FieldKey(25, WireType::kBytes)) State("cuda_version", fields.bytes());
    }
  }

  // Said again whenever more of the machine is known: each once.
  void State(std::string_view key, std::string_view value) {
    const auto& facts = builder_.part().facts;
    const bool known =
        std::any_of(facts.begin(), facts.end(), [&](const model::Fact& fact) { return fact.raw_key == key; });
    if (!known && !value.empty() && value.size() < kLongestFact) builder_.AddFact(key, Printable(value));
  }

  void ReadConfig(std::string_view bytes) {
    ProtoFields fields(bytes);
    while (fields.Next()) {
      if (fields.key() != FieldKey(1, WireType::kBytes)) continue;
      wandb::ParseItem(fields.bytes(), item_);
      const Item& item = item_;
      const bool internal = item.key.empty() || item.key.starts_with("_wandb");
      if (!internal && item.json.starts_with('{') && item.json.size() < kLongestTree) {
        hyperparams::AddJsonHyperparameters(item.json, builder_, item.key);
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
      wandb::ParseItem(fields.bytes(), item_);
      const auto value = ParseNumber(Unquoted(item_.json));
      if (!value || item_.key.starts_with('_')) continue;
      const auto series = builder_.OpenSeries("system/" + item_.key);
      builder_.series(series).axis = model::Axis::kTime;
      row_.push_back({series, wandb::Axes::kNone, *value});
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
      if (fields.key() == FieldKey(8, WireType::kBytes)) builder_.SetName(fields.bytes());
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
    // 255 is what the client writes whenever it does not know how the process ended: in notebooks, and on Ctrl-C.
    if (code == kNotKnown) event.kind = model::EventKind::kMessage;
    event.says = says::EventExitCode{.code = code};
    builder_.AddEvent(std::move(event));
    ended_ = true;
  }

  // What was printed stands behind what the client recorded. Before more is recorded it is taken away again.
  void TakeFromConsole(const model::Run& console) {
    DropConsole();
    own_ = OwnCounts{builder_.part().events.size(), builder_.part().facts.size()};
    for (model::Event event : console.events) {
      event.at = ingest::PartBuilder::Placed(event.at);
      builder_.AddEvent(std::move(event));
    }
    for (const model::Fact& fact : console.facts) builder_.AddFact(fact.raw_key, fact.value, fact.place.line);
  }

  void DropConsole() {
    if (!own_) return;
    builder_.part().events.resize(own_->events);
    builder_.part().facts.resize(own_->facts);
    own_.reset();
  }

  void Conclude() {
    DropConsole();
    AddSummary();
    FeedConsole(true);
    model::Run console = console_part_.Finish();
    TakeFromConsole(console);
    // A run that logged nothing to its history may have printed it.
    if (rows_ == 0) {
      for (model::Series& series : console.series) builder_.part().series.push_back(std::move(series));
    }
    if (damaged_blocks_ > 0)
      builder_.ReportDamage(says::DamageWandbBlocks{.byte = first_damage_, .count = damaged_blocks_});
    if (cut_) builder_.AddNote(says::NoteRecordCut{.byte = blocks_.offset()});
    if (!ended_ && !cut_) builder_.AddNote(says::NoteNoExitRecord{});
  }

  // Events and facts of the records, while those of the console stand behind them.
  struct OwnCounts {
    std::size_t events = 0;
    std::size_t facts = 0;
  };

  static constexpr std::int64_t kNotKnown = 255;
  static constexpr std::size_t kMostSummaries = 10'000;
  static constexpr std::size_t kConsolePiece = std::size_t{64} << 10U;
  static constexpr std::size_t kLongestFact = 4096;
  static constexpr std::size_t kLongestTree = std::size_t{1} << 20U;
  ingest::PartBuilder& builder_;
  codec::LogBlocks blocks_{kFileHeader.size()};
  ingest::PartBuilder console_part_;
  std::unique_ptr<ingest::Reader> console_;
  std::string pending_console_;
  std::vector<Pending> row_;
  Item item_;
  wandb::Axes axes_;
  wandb::HistogramItems histograms_;
  std::unordered_map<std::string, Column> columns_;
  std::string held_summary_;
  std::map<std::string, double> summary_;
  std::optional<OwnCounts> own_;
  bool started_ = false;
  bool ended_ = false;
  bool cut_ = false;
  std::int64_t rows_ = 0;
  std::uint64_t damaged_blocks_ = 0;
  std::uint64_t first_damage_ = 0;
};

}  // namespace

int RecogniseWandb(const ingest::Probe& probe) { return probe.head.starts_with(kFileHeader) ? 100 : 0; }
std::unique_ptr<ingest::Reader> OpenWandb(ingest::PartBuilder& builder) {
  return std::make_unique<WandbReader>(builder);
}

}  // namespace vigil::formats
