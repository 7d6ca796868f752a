#include "formats/trainer_state/trainer_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "catalogue/says.h"
#include "codec/codec.h"
#include "formats/json/looks.h"
#include "tabular/json_rows.h"
#include "tabular/json_table.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

constexpr std::size_t kLongestFact = 512;

// Lists of log entries, under HF's own name and under those that people give them when they save `log_history`.
constexpr std::array<std::string_view, 6> kHistories = {"log_history",   "history",       "logs",
                                                        "training_logs", "train_history", "training_history"};

constexpr std::string_view kOwnHistory = kHistories[0];

// What the source is called: the trainer's own file, or rows that anybody may have written.
constexpr std::string_view kOwnFormat = "trainer-state";
constexpr std::string_view kRowsFormat = "json-rows";

bool IsHistory(std::string_view key) {
  return std::find(kHistories.begin(), kHistories.end(), key) != kHistories.end();
}

// Top-level members that say something about the run; the others are bookkeeping of the trainer.
bool IsFact(std::string_view key) {
  constexpr std::array<std::string_view, 13> kFacts = {"global_step",
                                                       "max_steps",
                                                       "logging_steps",
                                                       "save_steps",
                                                       "eval_steps",
                                                       "num_train_epochs",
                                                       "epoch",
                                                       "train_batch_size",
                                                       "best_model_checkpoint",
                                                       "best_metric",
                                                       "best_global_step",
                                                       "total_flos",
                                                       "logging_nan_inf_filter"};
  return std::find(kFacts.begin(), kFacts.end(), key) != kFacts.end();
}

class TrainerStateReader : public ingest::Reader {
 public:
  explicit TrainerStateReader(ingest::PartBuilder& builder) : builder_(builder), table_(builder) {}

  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }
  std::size_t Consume(std::string_view bytes, bool last) override {
    if (phase_ == Phase::kOver) return bytes.size();
    scanner_.Continue(bytes, last);
    while (Advance()) {
    }
    table_.Flush();
    taken_ += scanner_.consumed();
    if (last) Finish();
    return phase_ == Phase::kOver ? bytes.size() : scanner_.consumed();
  }

 private:
  enum class Phase : std::uint8_t { kStart, kMember, kFactValue, kHistoryValue, kEntries, kRow, kSkip, kOver };

  // One token further, or one row; false when there is no more for now.
  bool Advance() {
    if (phase_ == Phase::kRow) return AdvanceRow();
    const JsonToken token = phase_ == Phase::kSkip ? scanner_.SkipTo(skip_to_depth_) : scanner_.Next();
    if (token == JsonToken::kNeedMore) return false;
    if (token == JsonToken::kBroken || token == JsonToken::kEnd) return End(token);
    switch (phase_) {
      case Phase::kStart:
        return Start(token);
      case Phase::kMember:
        return TakeMember(token);
      case Phase::kFactValue:
        return TakeFact(token);
      case Phase::kHistoryValue:
      case Phase::kEntries:
        return TakeEntry(token);
      case Phase::kSkip:
        phase_ = after_skip_;
        return true;
      case Phase::kRow:
      case Phase::kOver:
        break;
    }
    return false;
  }

  bool Start(JsonToken token) {
    if (token == JsonToken::kArrayBegin) {
      phase_ = Phase::kEntries;
      builder_.part().sources.front().format = kRowsFormat;
    }
    if (token == JsonToken::kObjectBegin) phase_ = Phase::kMember;
    if (phase_ != Phase::kStart) return true;
    builder_.ReportDamage(says::DamageNoLogEntries{});
    phase_ = Phase::kOver;
    return false;
  }

  bool TakeMember(JsonToken token) {
    if (token != JsonToken::kKey) return true;  // the end of the object
    key_ = std::string(scanner_.text().substr(0, tabular::Columns::kLongestKey));
    phase_ = IsHistory(key_) ? Phase::kHistoryValue : Phase::kFactValue;
    // Rows alone say nothing about who wrote them; a document with HF's own name for them is the trainer's.
    if (key_ == kOwnHistory) {
      is_own_ = true;
      builder_.part().framework = "hf-trainer";
    }
    if (IsHistory(key_)) builder_.part().sources.front().format = is_own_ ? kOwnFormat : kRowsFormat;
    return true;
  }

  bool TakeFact(JsonToken token) {
    phase_ = Phase::kMember;
    if (token == JsonToken::kObjectBegin || token == JsonToken::kArrayBegin) return Skip(Phase::kMember);
    if (!IsFact(key_)) return true;
    if (token == JsonToken::kNumber) StateNumber(scanner_.number());
    if (token == JsonToken::kTrue) builder_.AddFact(key_, "true", scanner_.line());
    if (token == JsonToken::kFalse) builder_.AddFact(key_, "false", scanner_.line());
    if (token == JsonToken::kString && scanner_.text().size() <= kLongestFact)
      builder_.AddFact(key_, Printable(codec::UnescapeJson(scanner_.text())), scanner_.line());
    return true;
  }

  void StateNumber(double value) {
    builder_.AddFact(key_, FormatExact(value), scanner_.line());
    constexpr double kMostSteps = 1e15;
    if (key_ == "global_step" && value >= 0 && value < kMostSteps) global_step_ = static_cast<std::int64_t>(value);
    if (key_ == "max_steps" && value >= 1 && value < kMostSteps)
      builder_.part().planned_steps = model::StepAt(static_cast<std::int64_t>(value));
  }

  bool TakeEntry(JsonToken token) {
    if (phase_ == Phase::kHistoryValue) {
      phase_ = token == JsonToken::kArrayBegin ? Phase::kEntries : Phase::kMember;
      return token == JsonToken::kObjectBegin ? Skip(Phase::kMember) : true;
    }
    if (token == JsonToken::kObjectBegin) {
      phase_ = Phase::kRow;
      table_.reader().Begin();
    } else if (token == JsonToken::kArrayBegin) {
      Skip(Phase::kEntries);
    } else if (token == JsonToken::kArrayEnd) {
      phase_ = Phase::kMember;
    }
    return true;
  }

  bool AdvanceRow() {
    const JsonToken token = table_.reader().Read(scanner_);
    if (token == JsonToken::kNeedMore) return false;
    if (token != JsonToken::kObjectEnd) return End(token);
    table_.AddRow();
    phase_ = Phase::kEntries;
    return true;
  }

  bool Skip(Phase then) {
    skip_to_depth_ = scanner_.depth() - 1;
    after_skip_ = then;
    phase_ = Phase::kSkip;
    return true;
  }

  bool End(JsonToken token) {
    if (token == JsonToken::kBroken) {
      builder_.ReportDamage(says::DamageJsonDocument{
          .line = scanner_.line(), .byte = taken_ + scanner_.consumed(), .message = scanner_.problem()});
    }
    Finish();
    return false;
  }

  void Finish() {
    if (phase_ == Phase::kOver) return;
    phase_ = Phase::kOver;
    table_.Finish();
    StateCheckpoint();
  }

  // A state inside a checkpoint folder is a place to restart from.
  void StateCheckpoint() {
    const std::string_view folder = ingest::FolderOf(builder_.part().sources.front().path);
    const auto step = ingest::CheckpointStep(ingest::FileOf(folder));
    if (!step) return;
    model::Event event;
    event.kind = model::EventKind::kCheckpoint;
    event.name = std::string(ingest::FileOf(folder));
    event.text = std::string(folder);
    event.at = model::StepAt(global_step_ == model::kNoStep ? *step : global_step_);
    builder_.AddEvent(std::move(event));
  }

  ingest::PartBuilder& builder_;
  tabular::JsonTable table_;
  codec::JsonScanner scanner_;
  std::uint64_t taken_ = 0;
  Phase phase_ = Phase::kStart;
  Phase after_skip_ = Phase::kMember;
  std::size_t skip_to_depth_ = 0;
  std::string key_;
  bool is_own_ = false;
  std::int64_t global_step_ = model::kNoStep;
};

}  // namespace

int RecogniseTrainerState(const ingest::Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (text.starts_with('[')) return SureOfRowsInArray(text.substr(1));
  if (!text.starts_with('{')) return 0;
  int best = 0;
  for (const std::string_view key : kHistories) {
    const std::size_t at = text.find(fmt::format("\"{}\"", key));
    if (at == std::string_view::npos) continue;
    const std::string_view value = FromFirstCharacter(text.substr(at + key.size() + 2));
    if (!value.starts_with(':')) continue;
    const std::string_view list = FromFirstCharacter(value.substr(1));
    if (!list.starts_with('[')) continue;
    // An empty or very long first entry is still HF's own file.
    best = std::max(best, key == kOwnHistory ? 100 : SureOfRowsInArray(list.substr(1)));
  }
  return best;
}

std::unique_ptr<ingest::Reader> OpenTrainerState(ingest::PartBuilder& builder) {
  return std::make_unique<TrainerStateReader>(builder);
}

}  // namespace vigil::formats
