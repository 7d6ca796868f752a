#include "textlog/metric_line.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "tabular/column_roles.h"
#include "textlog/field_names.h"
#include "textlog/fields.h"
#include "textlog/letters_place.h"
#include "textlog/line.h"
#include "textlog/shared_name.h"

namespace vigil::textlog {
namespace {

constexpr std::array<std::string_view, 11> kEvaluationWords = {
    "val", "valid", "validate", "validation", "validating", "eval", "evaluate", "evaluation", "test", "testing", "dev"};

constexpr std::array<std::string_view, 3> kTrainingWords = {"train", "training", "learn"};

template <std::size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view known) { return EqualsIgnoringCase(word, known); });
}

// "Iter(train)" and "Epoch(val)" of OpenMMLab.
std::string_view WithoutTail(std::string_view name) {
  return name.ends_with(')') && name.find('(') != std::string_view::npos ? name.substr(0, name.rfind('(')) : name;
}

// "Ep. 1 : Up. 1000": abbreviations of a terse trainer, which their dot makes sure.
bool IsAbbreviated(std::string_view word, std::string_view abbreviation) {
  return word.ends_with('.') && EqualsIgnoringCase(word.substr(0, word.size() - 1), abbreviation);
}

// "Best epoch : 8" is that of another line.
bool SpeaksOfBest(std::string_view name) { return StartsWithIgnoringCase(name, "best"); }

constexpr std::size_t kLongestStepName = 24;  // spares longer words the search

// "... - it    10 | loss 2.3": the word is all of its part of the line, which ends behind the count.
bool IsPartOfItsOwn(const Field& field, std::string_view word, std::string_view behind) {
  const std::string_view rest = Trim(behind);
  return field.name == word && rest.starts_with('|');
}

bool IsStepName(const Field& field, std::string_view behind) {
  const std::string_view word = LastWord(WithoutTail(field.name));
  if (SpeaksOfBest(field.name)) return false;
  if (IsAbbreviated(word, "up")) return true;
  // One and two letters count only before ':' or '=' ("it: 5"), or where they open the line ("it 5"). "b=2" is a name
  // like any other.
  const bool opens_line = field.at == word.size() + 1;
  const bool is_apart = opens_line || field.sign == ':' || field.sign == '=' || IsPartOfItsOwn(field, word, behind);
  if (word.size() <= 2 && !is_apart) return false;
  return word.size() <= kLongestStepName && word != "b" && tabular::StepWordPriority(word) != 0;
}

// "Epoch", "Epoch(train)"; "Train: 3 [  50/1251 (  4%)]" counts epochs too.
bool IsEpochName(const Field& field, std::string_view behind) {
  const std::string_view word = LastWord(WithoutTail(field.name));
  if (SpeaksOfBest(field.name)) return false;
  if (EqualsIgnoringCase(word, "epoch") || IsAbbreviated(word, "ep")) return true;
  return EqualsIgnoringCase(word, "train") && field.total == 0 && behind.starts_with(" [");
}

bool IsCount(double value) { return value >= 0 && value < 9e15 && value == std::floor(value); }

// Words that belong to a path, a file or another name do not count: "trainer/validate.py:12", "test_run".
bool IsWordOfItsOwn(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kJoins = "/._-";
  const bool joined_before = begin > 0 && kJoins.find(text[begin - 1]) != std::string_view::npos;
  const bool joined_behind =
      end + 1 < text.size() && kJoins.find(text[end]) != std::string_view::npos && text[end + 1] != ' ';
  return !joined_before && !joined_behind;
}

// "ETA: 35s": the letter of the learning rate has no unit.
bool IsTimeToGo(const Field& field) { return field.seconds != 0 && EqualsIgnoringCase(field.name, "eta"); }

// "Speed: 36.2 samples/sec", "- 4ms/step": where the name says nothing, the unit does.
bool IsNamedByRate(std::string_view name, std::string_view rate) {
  const std::string_view counted = rate.substr(0, rate.find('/'));
  const bool counts_steps = counted.size() > 1 && tabular::StepWordPriority(counted) != 0;
  return (counts_steps || catalogue::Interpret(rate)) && (name.empty() || !catalogue::Interpret(name));
}

// "lr(1e-4): 0.1" is 1e-5 under the name lr.
NamedNumber NumberOf(const Field& field) {
  NamedNumber number = {InsideBracket(field.name), field.value, field.trailing,
                        field.thousands,           field.at,    field.unit_scale};
  number.seconds = field.seconds;
  number.gibibytes = field.gibibytes;
  number.percent = field.percent;
  number.missing = field.missing;
  if (!field.rate.empty() && IsNamedByRate(number.name, field.rate)) number.name = field.rate;
  // "Accuracy: 9831/10000" is a share that is written as its two counts.
  const bool is_part = field.total > 0 && field.value <= static_cast<double>(field.total);
  if (is_part && (ContainsIgnoringCase(field.name, "acc") || ContainsIgnoringCase(field.name, "correct"))) {
    number.value = field.value / static_cast<double>(field.total);
    number.is_part = true;
  }
  const std::size_t open = field.name.ends_with(')') ? field.name.rfind('(') : std::string_view::npos;
  if (open == std::string_view::npos || open == 0) return number;
  const auto scale = ParseNumber(field.name.substr(open + 1, field.name.size() - open - 2));
  if (!scale) return number;
  number.name = field.name.substr(0, open);
  number.name_scale = *scale;
  number.value *= *scale;
  return number;
}

// A bare count, "it", "s" and "update" count things other than steps too: only a loss beside them makes the line one.
bool IsSureOfStep(const Field& field) {
  constexpr std::array<std::string_view, 5> kCommonWords = {"update", "updates", "batch", "batches", "steps"};
  const std::string_view word = LastWord(field.name);
  // "timesteps" and the like are those of an environment, of which one update takes many.
  return word.size() > 2 && !IsOneOf(word, kCommonWords) &&
         tabular::StepWordPriority(word) >= tabular::StepPriority("update");
}

// A step that counts through all epochs is better than a count within one, and than a count of batches.
bool IsBetterStep(const Field& field, const MetricLine& line, bool sure) {
  if (line.step < 0 || line.step_is_global || field.trailing || !IsCount(field.value)) return false;
  return tabular::CountsWholeRun(LastWord(field.name)) || (!sure && EqualsIgnoringCase(LastWord(field.name), "step"));
}

// A count without a name: the first number of the line, or one alone in brackets behind what loggers write
// ("140 writer.py:48] [120] loss=2.3").
bool IsLead(const Field& field, std::string_view behind, const MetricLine& line) {
  const bool has_unit = field.seconds != 0 || !field.rate.empty();  // "- 28s - loss: 1.2": how long it took
  if (!field.name.empty() || field.total != 0 || field.after_arrow || has_unit || !IsCount(field.value)) return false;
  return (line.lead < 0 && line.numbers.empty()) || (field.in_brackets && behind.starts_with(']'));
}

// What a loop is run for: a loss, or the reward of an agent.
bool NamesGoal(const NamedNumbers& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](const NamedNumber& number) {
    const auto meaning = catalogue::Interpret(number.name);
    if (!meaning) return false;
    return meaning->signal == "loss" || meaning->signal == "eval_loss" || meaning->signal == "reward";
  });
}

bool SpeaksOfLoss(std::string_view text) {
  if (OpensBatches(text)) return true;  // the losses stand in the lines below
  return ContainsIgnoringCase(text, "loss") || ContainsIgnoringCase(text, "trl:") || ContainsIgnoringCase(text, "tel:");
}

void TakeStep(const Field& field, MetricLine& line) {
  line.step_is_global = tabular::CountsWholeRun(LastWord(field.name));
  line.is_summary = line.step < 0 && line.step_is_global && line.epoch >= 0 && !line.numbers.empty();
  // What stands before the step is mostly the logger's own: file names, process ids.
  if (line.step < 0 && !line.is_summary) {
    for (NamedNumber& number : line.numbers) number.weak = true;
  }
  line.step = static_cast<std::int64_t>(field.value);
  line.total_steps = field.total;
  line.step_at = field.at;
  line.step_thousands = field.thousands;
}

// "epoch 1 val: loss: 0.64", "Epoch 1, validation: loss=0.59": the first word behind the place heads the line.
bool HeadsEvaluation(std::string_view text, std::size_t place) {
  std::size_t at = std::min(place, text.size());
  while (at < text.size() && !IsLetter(text[at])) ++at;
  std::size_t end = at;
  while (end < text.size() && IsLetter(text[end])) ++end;
  return end < text.size() && text[end] == ':' && IsOneOf(text.substr(at, end - at), kEvaluationWords);
}

// The split that "[valid] " or "[train] " heads, the last one in `text`; empty without one.
std::string_view SectionIn(std::string_view text) {
  const std::size_t close = text.rfind("] ");
  const std::size_t open = close == std::string_view::npos ? close : text.rfind('[', close);
  if (open == std::string_view::npos) return {};
  const std::string_view word = text.substr(open + 1, close - open - 1);
  return IsOneOf(word, kEvaluationWords) || IsOneOf(word, kTrainingWords) ? word : std::string_view();
}

// Words that join a number to what was said before: "1,234 after 123,456".
constexpr std::array<std::string_view, 9> kJoiningWords = {"after", "at", "for", "in", "of", "on", "per", "the", "@"};

// "Loss after iteration", "Training loss (for one batch) at step" and "Loss (epoch": what comes before the word that
// counts, for the number behind the count.
std::string_view WordsBefore(std::string_view name, std::string_view counted) {
  name = Trim(name.substr(0, name.size() - counted.size()));
  while (!name.empty()) {
    if (name.ends_with('(') || name.ends_with('[')) {
      name = Trim(name.substr(0, name.size() - 1));
    } else if (name.ends_with(')') && name.find('(') != std::string_view::npos) {
      name = Trim(name.substr(0, name.rfind('(')));
    } else if (const std::size_t space = name.rfind(' '); IsOneOf(name.substr(space + 1), kJoiningWords)) {
      name = space == std::string_view::npos ? std::string_view() : Trim(name.substr(0, space));
    } else {
      break;
    }
  }
  return name;
}

// Whether a line ends within the exponent of the number that this text begins with: "2.80e-".
bool EndsInExponent(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view rest = text.substr(end);
  return rest == "e" || rest == "E" || rest == "e-" || rest == "E-" || rest == "e+" || rest == "E+";
}

// "12:  learn: 1.98  test: 1.99": in a line that a count opens, names of nothing but the data are those of the
// objective, where both data are named. Without the count they are as often accuracies at the end.
void NameObjectives(NamedNumbers& numbers) {
  NamedNumber* training = nullptr;
  NamedNumber* evaluation = nullptr;
  for (NamedNumber& number : numbers) {
    if (number.weak || number.is_part) continue;
    if (training == nullptr && IsOneOf(number.name, kTrainingWords)) training = &number;
    if (evaluation == nullptr && IsOneOf(number.name, kEvaluationWords)) evaluation = &number;
  }
  if (training == nullptr || evaluation == nullptr) return;
  if (IsCount(training->value) && IsCount(evaluation->value)) return;  // sizes of the data
  training->name = "train loss";
  evaluation->name = "val loss";
}

// Fills a line field by field.
class LineParser {
 public:
  LineParser(std::string_view text, MetricLine& line) : text_(text), line_(line), fields_(text), place_(text.size()) {}
  bool Parse(bool cut);

 private:
  void Clear();
  void Take(const Field& field);
  void TakeLastOfCutLine(const Field& field);
  bool TakesStep(const Field& field);
  bool TakesPair(const Field& field);
  bool TakesEpoch(const Field& field);
  bool TakesPending(const Field& field);
  bool TakesSharedName(const Field& field);
  void TakeNumber(const Field& field);
  void MarkSections();
  void MoveStepToEpoch();

  std::string_view text_;
  MetricLine& line_;
  FieldReader fields_;
  std::size_t place_;  // of the first step or epoch
  bool is_first_ = true;
  bool after_epoch_ = false;
  bool after_bracket_ = false;  // "[0/8]" opened the line and another bracket follows
  bool sure_ = true;
  bool abbreviated_ = false;  // "Ep. 1": the line must hold the word that such lines are found by
  std::string_view pending_;  // "Loss" of "Loss after iteration 20:"
};

void LineParser::Clear() {
  line_.step = -1;
  line_.epoch = -1;
  line_.total_steps = 0;
  line_.step_within_epoch = false;
  line_.step_opens_line = false;
  line_.step_is_bare = false;
  line_.step_is_global = false;
  line_.is_summary = false;
  line_.irregular = false;
  line_.guessed = false;
  line_.counted = false;
  line_.epoch_is_part = false;
  line_.lead = -1;
  line_.numbers.clear();
}

// "1.25": a dot and digits; "Epoch 3. Loss: 0.1" has a dot that ends a sentence.
bool IsPartOfOne(std::string_view number) {
  const std::size_t dot = number.find_first_not_of("0123456789");
  return dot != std::string_view::npos && number[dot] == '.' && dot + 1 < number.size() && IsDigit(number[dot + 1]);
}

bool EndsSentence(std::string_view number) {
  const std::size_t dot = number.find_first_not_of("0123456789");
  return dot != std::string_view::npos && number[dot] == '.' && !IsPartOfOne(number);
}

// "[0/8][50/1583]": the first of two counts was the epoch.
void LineParser::MoveStepToEpoch() {
  line_.epoch = static_cast<double>(line_.step);
  line_.epoch_at = line_.step_at;
  line_.step = -1;
  line_.step_opens_line = false;
  after_epoch_ = true;
}

bool LineParser::TakesStep(const Field& field) {
  const bool bare_count =
      field.name.empty() && field.total > 0 && (is_first_ || after_epoch_ || after_bracket_ || field.in_brackets);
  const bool is_second = bare_count && after_bracket_ && field.in_brackets;
  if (is_second) MoveStepToEpoch();
  const bool is_step =
      line_.step < 0 && IsCount(field.value) && (bare_count || (!field.trailing && IsStepName(field, fields_.Rest())));
  if (!IsCount(field.value) && !field.trailing && IsStepName(field, fields_.Rest())) line_.irregular = true;
  if (!is_step && !IsBetterStep(field, line_, sure_)) return false;
  line_.step_within_epoch = is_step && bare_count && after_epoch_;
  line_.step_is_bare = bare_count;
  line_.step_opens_line = is_step && bare_count && is_first_;
  sure_ = IsSureOfStep(field) || (line_.epoch >= 0 && !is_second);
  TakeStep(field, line_);
  abbreviated_ = abbreviated_ || field.name.ends_with('.');
  place_ = std::min(place_, std::size_t{field.at});
  const std::string_view rest = fields_.Rest();
  after_bracket_ = line_.step_opens_line && field.in_brackets && (rest.starts_with("][") || rest.starts_with("] ["));
  if (!field.trailing && !field.name.empty()) pending_ = WordsBefore(field.name, LastWord(field.name));
  return true;
}

// "[1,  2000] loss: 2.153".
bool LineParser::TakesPair(const Field& field) {
  if (!is_first_ || field.second < 0 || !IsCount(field.value)) return false;
  line_.epoch = field.value;
  line_.epoch_at = field.at;
  line_.step = field.second;
  line_.step_at = field.second_at;
  line_.step_thousands = false;
  sure_ = false;
  place_ = field.at;
  return true;
}

bool LineParser::TakesEpoch(const Field& field) {
  if (line_.epoch >= 0 || field.trailing || field.value < 0 || !IsEpochName(field, fields_.Rest())) return false;
  // "(trainer:762) INFO: 8epoch results": a count before the place is the logger's own.
  for (NamedNumber& number : line_.numbers) number.weak = number.weak || IsCount(number.value);
  line_.epoch = field.value;
  line_.epoch_at = field.at;
  line_.epoch_is_part = IsPartOfOne(text_.substr(field.at));
  line_.irregular = line_.irregular || EndsSentence(text_.substr(field.at));
  abbreviated_ = abbreviated_ || field.name.ends_with('.');
  place_ = std::min(place_, std::size_t{field.at});
  pending_ = WordsBefore(field.name, LastWord(field.name));
  return true;
}

// "Loss after iteration 20: 7.79": the number behind a count that had more words before it than it needs.
bool LineParser::TakesPending(const Field& field) {
  const std::string_view name = pending_;
  pending_ = {};
  if (name.empty() || field.total != 0 || field.after_arrow || (!field.name.empty() && !field.trailing)) return false;
  const std::string_view before = Trim(text_.substr(0, field.at));
  if (!before.ends_with(':') && !before.ends_with('=') && !before.ends_with(" is")) return false;
  Field named = field;
  named.name = name;
  NamedNumber number = NumberOf(named);
  number.weak = true;
  line_.numbers.push_back(number);
  return true;
}

bool LineParser::TakesSharedName(const Field& field) {
  if (field.trailing || line_.numbers.size() + 2 > kMostNumbers) return false;
  const auto pair = ReadSharedName(field.name, text_.substr(field.at));
  if (!pair) return false;
  for (std::size_t i = 0; i < pair->names.size(); ++i) {
    NamedNumber number = {pair->names[i], pair->values[i]};
    number.at = field.at;
    line_.numbers.push_back(number);
  }
  line_.irregular = true;  // what is learned of a line has one value for a name
  return true;
}

// "1epoch results: [train] loss=1.9, [valid] loss=0.6": what stands behind the head of a section is of its split.
void LineParser::MarkSections() {
  bool evaluation = false;
  std::size_t from = place_;
  for (NamedNumber& number : line_.numbers) {
    if (number.at < from) continue;
    const std::string_view head = SectionIn(text_.substr(from, number.at - from));
    if (!head.empty()) evaluation = IsOneOf(head, kEvaluationWords);
    number.evaluation = evaluation;
    line_.irregular = line_.irregular || evaluation;  // what is learned of a line has one split
    from = number.at;
  }
}

void LineParser::TakeNumber(const Field& field) {
  if (TakesSharedName(field)) return;
  if (IsLead(field, fields_.Rest(), line_)) {
    line_.lead = static_cast<std::int64_t>(field.value);
    line_.lead_at = field.at;
    for (NamedNumber& number : line_.numbers) number.weak = true;
  } else if (field.name.empty() && field.after_arrow && !line_.numbers.empty()) {
    line_.numbers.back().value = field.value;
    line_.numbers.back().at = field.at;
    line_.irregular = true;
  } else if ((!field.name.empty() || !field.rate.empty()) && line_.numbers.size() < kMostNumbers) {
    const NamedNumber number = NumberOf(field);
    if (number.name.empty() || IsTimeToGo(field)) return;
    line_.numbers.push_back(number);
    line_.irregular = line_.irregular || line_.numbers.back().is_part;
    // "INFO [train.py:561]" is a line of a program.
    if (IsOneOf(field.name, kJoiningWords) || field.name.ends_with(".py")) line_.numbers.back().weak = true;
  }
}

void LineParser::Take(const Field& field) {
  const bool taken = TakesPending(field) || TakesPair(field) || TakesStep(field);
  const bool is_epoch = !taken && TakesEpoch(field);
  if (!taken && !is_epoch) TakeNumber(field);
  after_epoch_ = is_epoch;
  is_first_ = false;
}

// The line ends with this number, and the number may be truncated: a step with more digits would be another step, and
// whether a value lacks any is for those who know the ones before it.
void LineParser::TakeLastOfCutLine(const Field& field) {
  if (IsStepName(field, {}) || IsEpochName(field, {})) return;
  const std::int64_t step = line_.step;
  const double epoch = line_.epoch;
  const std::int64_t lead = line_.lead;
  const std::size_t before = line_.numbers.size();
  Take(field);
  line_.step = step;
  line_.epoch = epoch;
  line_.lead = lead;
  if (line_.numbers.size() > before) line_.numbers.back().at_cut = text_.substr(field.at);
}

bool LineParser::Parse(bool cut) {
  Clear();
  Field field;
  while (fields_.Next(field)) {
    if (cut && EndsInExponent(text_.substr(field.at))) break;
    if (field.at_end && cut) {
      TakeLastOfCutLine(field);
      break;
    }
    Take(field);
  }
  if (line_.lead >= 0 && line_.lead_at <= 1) NameObjectives(line_.numbers);
  if (line_.step < 0 && line_.epoch < 0 && SpeaksOfLoss(text_)) TakePlaceInLetters(text_, line_);
  if (abbreviated_ && !ContainsIgnoringCase(text_, " up. ")) return false;
  if ((line_.step < 0 && line_.epoch < 0) || (!sure_ && !SpeaksOfLoss(text_) && !NamesGoal(line_.numbers)))
    return false;
  // Estimators of TensorFlow sum up an evaluation so.
  const bool is_estimators = text_.find("Saving dict for global step") != std::string_view::npos;
  line_.evaluation = is_estimators || SpeaksOfEvaluation(text_.substr(0, place_)) || HeadsEvaluation(text_, place_);
  if (!line_.evaluation) MarkSections();
  return true;
}

}  // namespace

bool SpeaksOfEvaluation(std::string_view before) {
  constexpr int kWordsToSee = 4;
  constexpr std::size_t kCharactersToSee = 80;
  if (before.size() > kCharactersToSee) before.remove_prefix(before.size() - kCharactersToSee);
  std::size_t end = before.size();
  for (int words = 0; words < kWordsToSee; ++words) {
    while (end > 0 && !IsLetter(before[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && IsLetter(before[begin - 1])) --begin;
    if (begin == end) return false;
    const bool fits = end - begin >= 3 && end - begin <= 10;
    if (fits && IsOneOf(before.substr(begin, end - begin), kEvaluationWords) && IsWordOfItsOwn(before, begin, end))
      return true;
    end = begin;
  }
  return false;
}

bool ParseMetricLine(std::string_view text, bool cut, MetricLine& line) { return LineParser(text, line).Parse(cut); }

void ParseNamedNumbers(std::string_view text, NamedNumbers& numbers) {
  numbers.clear();
  FieldReader fields(text);
  Field field;
  while (fields.Next(field)) {
    if ((field.name.empty() && field.rate.empty()) || numbers.size() >= kMostNumbers) continue;
    const NamedNumber number = NumberOf(field);
    if (!number.name.empty()) numbers.push_back(number);
  }
}

}  // namespace vigil::textlog
