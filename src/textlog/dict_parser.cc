// Dictionaries that trainers print: {'loss': 2.3, 'grad_norm': '0.71', 'epoch': 0.1}, Python or JSON, several in a
// line.
#include <algorithm>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "textlog/dict_line.h"
#include "textlog/make_parsers.h"
#include "textlog/name_memo.h"
#include "textlog/row_roles.h"

namespace vigil::textlog {
namespace {

// {'train_runtime': ..., 'train_samples_per_second': ..., 'train_loss': ...}: the summary at the end.
bool IsSummary(const NamedNumbers& numbers) {
  return FindNumber(numbers, "train_runtime") != nullptr && FindNumber(numbers, "loss") == nullptr &&
         (FindNumber(numbers, "train_loss") != nullptr || FindNumber(numbers, "train_samples_per_second") != nullptr);
}

RowKind KindOfRow(const NamedNumbers& numbers) {
  if (FindNumber(numbers, "loss") != nullptr) return RowKind::kTraining;
  const bool evaluates = std::any_of(numbers.begin(), numbers.end(), [](const NamedNumber& number) {
    return number.name.starts_with("eval") || number.name.starts_with("test_");
  });
  return evaluates ? RowKind::kEvaluation : RowKind::kTraining;
}

class DictParser final : public LineParser {
 public:
  explicit DictParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    bool any = false;
    std::size_t open = FindDict(line.text);
    const std::string_view before = line.text.substr(0, open);
    while (open != std::string_view::npos) {
      numbers_.clear();
      std::size_t end = nested_.Parse(line.text, open, numbers_);
      if (end == std::string_view::npos) end = ParseDict(line.text, open, numbers_);
      if (end == std::string_view::npos) break;
      any = Take(before, line) || any;
      const std::size_t later = FindDict(line.text.substr(end));
      open = later == std::string_view::npos ? later : end + later;
    }
    return any ? Outcome::kTaken : Outcome::kNotMine;
  }

  void Finish() override {
    const std::uint64_t counted_on = state_.dicts.counted_on();
    if (counted_on != 0) state_.builder.AddNote(says::NoteStepsCountedOn{.count = counted_on});
  }

 private:
  // Takes the numbers of one dictionary. True when they were a row, or the summary at the end.
  bool Take(std::string_view before, const LogLine& line) {
    if (IsSummary(numbers_)) {
      TakeSummary(line);
      return true;
    }
    if (TakesSettings(line)) return true;
    if (!TakeRow(before, line)) return false;
    is_finished_ = false;
    return true;
  }

  void TakeSummary(const LogLine& line) {
    const double steps = NumberOr(numbers_, "train_runtime", 0) * NumberOr(numbers_, "train_steps_per_second", 0);
    state_.dicts.EndSession(roles_.Find(numbers_).epoch, steps > 0 && steps < kLargestStep ? std::llround(steps) : 0);
    // Every rank may print it.
    if (!is_finished_)
      state_.events.AddNotice(model::EventKind::kExit, "finished", line.text, state_.Here(line, line.rank));
    is_finished_ = true;
  }

  // The step is that of the dictionary, of the text before it, or found out at the end of the log.
  std::int64_t StepOf(std::int64_t step, std::string_view before) {
    if (step >= 0 || IsBlank(before) || !ParseMetricLine(before, false, before_)) return step;
    return before_.step;
  }

  bool HasLoss() {
    return std::any_of(numbers_.begin(), numbers_.end(), [&](const NamedNumber& number) {
      const NameMemo::Known known = names_.Find(number.name);
      return !known.is_weak && (known.signal == "loss" || known.signal == "eval_loss");
    });
  }

  // A dictionary that names several settings of a training is no row, whatever else it names.
  bool TakesSettings(const LogLine& line) {
    constexpr std::size_t kFewSettings = 4;
    // Nearly every dictionary of a log is a row with its loss: no name of it has to be looked up.
    if (numbers_.size() < kFewSettings || FindNumber(numbers_, "loss") != nullptr) return false;
    std::size_t settings = 0;
    for (const NamedNumber& number : numbers_) {
      const NameMemo::Known known = names_.Find(number.name);
      settings += !known.setting.empty() && known.setting != "lr" && known.signal.empty() ? 1 : 0;
    }
    if (settings < kFewSettings || HasLoss()) return false;
    for (const NamedNumber& number : numbers_) {
      if (!names_.Find(number.name).setting.empty())
        state_.builder.AddFact(number.name, FormatExact(number.value), line.number);
    }
    return true;
  }

  bool TakeRow(std::string_view before, const LogLine& line) {
    const auto [named_step, epoch] = roles_.Find(numbers_);
    const std::int64_t step = StepOf(named_step, before);
    // A dictionary of settings knows a learning rate too; a row of metrics says where in the training it stands.
    const bool says_where = step >= 0 || epoch >= 0;
    if (!says_where && (numbers_.size() < 2 || !HasLoss())) return false;
    roles_.KeepMetrics(numbers_);
    RowPlace place = {step, line.rank, line.number, step < 0 ? Origin::kDictRow : Origin::kDictWithStep};
    if (!state_.sink.Find(numbers_, place)) return false;
    if (step < 0) place.step = state_.dicts.Add(KindOfRow(numbers_), epoch, line.after_wipe);
    if (step >= 0 || !state_.dicts.has_bar()) state_.steps.Observe(place);
    state_.sink.Add(numbers_, place);
    // Where there is a bar, the bar says whether the run went on: rows may be buffered behind it.
    if (!state_.dicts.has_bar()) state_.events.ObserveStep(state_.steps.latest(), line.offset);
    return true;
  }

  LogState& state_;
  NamedNumbers numbers_;
  NestedDict nested_;
  RowRoles roles_;
  NameMemo names_;
  MetricLine before_;         // the text before the dictionary
  bool is_finished_ = false;  // the summary at the end was the last row
};

}  // namespace

std::unique_ptr<LineParser> MakeDictParser(LogState& state) { return std::make_unique<DictParser>(state); }

}  // namespace vigil::textlog
