#include "import/log/metric_line.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "import/log/line.h"

namespace vigil::import::log {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestAside = 32;  // "(+0.12z)", "(64.99%)", "(2.35 avg)"

// The last word before a number that makes it the step. One and two letters count only before ':' or '='.
constexpr std::array<std::string_view, 15> kStepWords = {
    "step", "iter",          "iteration",      "global_step", "current_steps", "it",    "train_step", "opt_step",
    "s",    "training_step", "optimizer_step", "update",      "batch",         "steps", "num_updates"};
// Words that count through all epochs, wherever in the line they stand.
constexpr std::array<std::string_view, 2> kGlobalStepWords = {"num_updates", "global_step"};
constexpr std::array<std::string_view, 10> kEvaluationWords = {
    "val", "valid", "validate", "validation", "validating", "eval", "evaluate", "evaluation", "test", "testing"};

enum CharClass : std::uint8_t { kNothing, kLetter, kNumeric, kSign, kDelimiter };

constexpr std::array<std::uint8_t, 256> MakeClasses() {
  std::array<std::uint8_t, 256> classes = {};
  for (unsigned c = 'a'; c <= 'z'; ++c) classes[c] = kLetter;
  for (unsigned c = 'A'; c <= 'Z'; ++c) classes[c] = kLetter;
  classes['_'] = kLetter;
  for (unsigned c = '0'; c <= '9'; ++c) classes[c] = kNumeric;
  for (const char c : {'+', '-', '.'}) classes[static_cast<unsigned char>(c)] = kSign;
  for (const char c : {'|', ',', ';', '\t'}) classes[static_cast<unsigned char>(c)] = kDelimiter;
  return classes;
}
constexpr std::array<std::uint8_t, 256> kClasses = MakeClasses();
std::uint8_t ClassOf(char c) { return kClasses[static_cast<unsigned char>(c)]; }

struct Field {
  std::string_view name;
  double value = 0;
  std::int64_t total = 0;
  char before = ' ';      // the character that the number follows
  bool trailing = false;  // the name stands behind the number: "9577 tok/s"
  bool at_end = false;    // the number touches the end of the text
  bool thousands = false;
  bool after_arrow = false;  // "3.1 -> 8.9": what became of the number before
  std::uint32_t at = 0;
  double unit_scale = 1;
  double seconds = 0;
  bool in_brackets = false;  // "[  50/1251": a bracket opens before it
};

// A unit of time in seconds, 0 for every other unit.
double SecondsOf(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array<Unit, 8> kUnits = {
      {{"ms", 1e-3}, {"s", 1}, {"sec", 1}, {"secs", 1}, {"us", 1e-6}, {"min", 60}, {"m", 60}, {"h", 3600}}};
  const auto at = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& known) { return known.name == unit; });
  return at == kUnits.end() ? 0 : at->seconds;
}

// "INFO:tensorflow:" before a message: level and name as Python's logging writes them unless told otherwise.
std::size_t LoggerLength(std::string_view text) {
  constexpr std::array<std::string_view, 4> kLevels = {"INFO:", "WARNING:", "DEBUG:", "ERROR:"};
  for (const std::string_view level : kLevels) {
    if (!text.starts_with(level)) continue;
    std::size_t at = level.size();
    while (at < text.size() && (IsLetter(text[at]) || IsDigit(text[at]) || text[at] == '_' || text[at] == '.')) ++at;
    return at > level.size() && at < text.size() && text[at] == ':' ? at + 1 : 0;
  }
  return 0;
}

bool EndsWithLoss(std::string_view words) {
  constexpr std::string_view kLoss = "loss";
  return words.size() >= kLoss.size() && EqualsIgnoringCase(words.substr(words.size() - kLoss.size()), kLoss);
}

// Cuts a text into fields, left to right: a name, and the number it stands before.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : text_(text), at_(LoggerLength(text)), name_start_(at_) {}
  bool Next(Field& field);
  // What stands behind the field that was read last.
  std::string_view Rest() const { return text_.substr(std::min(at_, text_.size())); }

 private:
  char At(std::size_t i) const { return i < text_.size() ? text_[i] : ' '; }
  bool IsDigitAt(std::size_t i) const { return i < text_.size() && IsDigit(text_[i]); }
  bool StartsValue(std::size_t at) const;
  bool StartsNonFinite(std::size_t at) const;
  void SkipWord();
  void SkipToken();
  bool ReadField(Field& field);
  std::size_t ReadThousands(std::size_t begin, std::size_t end, double& value) const;
  std::size_t ReadTotal(std::size_t end, std::int64_t& total) const;
  std::size_t ReadUnit(std::size_t end, double& scale) const;
  std::size_t SkipAside(std::size_t end) const;
  bool IsPartOfWord(std::size_t end) const;
  void TakeTrailingName(Field& field);
  bool IsDate(std::size_t end) const;
  bool EndsPart(std::size_t end) const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t name_start_ = 0;
};

// A number counts where a value can stand: after a space, a separator or an opening bracket, not inside a name.
bool FieldReader::StartsValue(std::size_t at) const {
  if (at == 0) return true;
  switch (text_[at - 1]) {
    case ' ':
    case ':':
    case '=':
    case '\t':
    case '|':
    case ',':
    case '[':
    case '(':
      return true;
    default:
      return false;
  }
}

// "loss nan" and "loss: nan" are values; "number of nan iterations" is a name.
bool FieldReader::StartsNonFinite(std::size_t at) const {
  if (!StartsValue(at)) return false;
  const std::string_view before = Trim(text_.substr(name_start_, at - name_start_));
  if (before.ends_with(':') || before.ends_with('=') || before.find(' ') == std::string_view::npos) return true;
  std::size_t end = at;
  while (end < text_.size() && (IsLetter(text_[end]) || text_[end] == '.')) ++end;
  return EndsPart(end) || EndsWithLoss(before);
}

// Whether nothing, or nothing of the same part of the line, follows: "Train Loss nan | ...".
bool FieldReader::EndsPart(std::size_t end) const {
  if (end >= text_.size() || ClassOf(text_[end]) == kDelimiter || text_[end] == ']' || text_[end] == ')') return true;
  return text_[end] == ' ' && (At(end + 1) == ' ' || At(end + 1) == '-' || ClassOf(At(end + 1)) == kDelimiter);
}

void FieldReader::SkipWord() {
  ++at_;
  while (at_ < text_.size() && (ClassOf(text_[at_]) == kLetter || ClassOf(text_[at_]) == kNumeric)) ++at_;
}

// The rest of a date, a time, a version or an identifier.
void FieldReader::SkipToken() {
  while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ']' && ClassOf(text_[at_]) != kDelimiter) ++at_;
}

bool FieldReader::Next(Field& field) {
  while (at_ < text_.size()) {
    const std::size_t before = at_;
    const char c = text_[at_];
    bool may_be_value = false;
    switch (ClassOf(c)) {
      case kDelimiter:
        name_start_ = ++at_;
        continue;
      case kLetter:
        may_be_value = ((c | 0x20) == 'n' || (c | 0x20) == 'i' || c == 't') && StartsNonFinite(at_);
        break;
      case kSign:
        if (c == '-' && At(at_ + 1) == ' ' && at_ > 0 && text_[at_ - 1] == ' ') {
          name_start_ = ++at_;
          continue;
        }
        may_be_value = StartsValue(at_);
        break;
      case kNumeric:
        may_be_value = StartsValue(at_);
        break;
      default:
        ++at_;
        continue;
    }
    if (may_be_value && ReadField(field)) return true;
    if (at_ == before) SkipWord();
  }
  return false;
}

// 7,282 at [begin, end) of which the number reader took 7.
std::size_t FieldReader::ReadThousands(std::size_t begin, std::size_t end, double& value) const {
  if (end - begin > 3 || !std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                                      text_.begin() + static_cast<std::ptrdiff_t>(end), IsDigit))
    return end;
  while (At(end) == ',' && IsDigitAt(end + 1) && IsDigitAt(end + 2) && IsDigitAt(end + 3) && !IsDigitAt(end + 4)) {
    std::size_t used = 0;
    value = value * 1000 + static_cast<double>(ReadDigits(text_.substr(end + 1, 3), used));
    end += 4;
  }
  return end;
}

// "/ 250000" or " / 250000" behind a count.
std::size_t FieldReader::ReadTotal(std::size_t end, std::int64_t& total) const {
  const bool apart = At(end) == ' ' && At(end + 1) == '/';
  if (At(end) != '/' && !apart) return end;
  std::size_t at = end + (apart ? 2 : 1);
  while (at < text_.size() && text_[at] == ' ') ++at;
  std::size_t digits = 0;
  total = std::max<std::int64_t>(0, ReadDigits(text_.substr(at), digits));
  return digits == 0 ? end : at + digits;
}

// "ms", "GiB", "%", "TFLOP/s"; a lone k, M, B, G or T scales.
std::size_t FieldReader::ReadUnit(std::size_t end, double& scale) const {
  std::size_t at = end;
  while (at < text_.size() && (IsLetter(text_[at]) || (text_[at] == '/' && at > end && IsLetter(At(at + 1))))) ++at;
  if (at == end + 1) {
    constexpr std::string_view kScales = "kKMGBT";
    constexpr std::array<double, 6> kFactors = {1e3, 1e3, 1e6, 1e9, 1e9, 1e12};
    const std::size_t letter = kScales.find(text_[end]);
    if (letter != std::string_view::npos) scale = kFactors[letter];
  }
  return At(at) == '%' ? at + 1 : at;
}

// An aside right behind the value, or after one space when it holds a number: "9.46GiB(64.99%)", "2.3 (+0.12z)".
std::size_t FieldReader::SkipAside(std::size_t end) const {
  std::size_t open = end;
  if (At(open) == ' ') ++open;
  if (At(open) != '(') return end;
  const char first = At(open + 1);
  if (open != end && !IsDigit(first) && first != '+' && first != '-' && first != ' ') return end;
  const std::size_t close = text_.substr(open, kLongestAside).find(')');
  return close == std::string_view::npos ? end : open + close + 1;
}

// Dates, times, versions and identifiers begin like numbers: 2026-04-19, 20:44:12, 2.10.0, 10L_model.
bool FieldReader::IsPartOfWord(std::size_t end) const {
  const char c = At(end);
  const char next = At(end + 1);
  if (c == '_') return true;
  if (c == ':' || c == '-' || c == '.') return IsDigit(next) || (c != ':' && IsLetter(next));
  return IsDigit(c);
}

// "2026/11/14" and "11/14 10:00:00" look like a count out of a total.
bool FieldReader::IsDate(std::size_t end) const {
  if (At(end) == '/' && IsDigitAt(end + 1)) return true;
  std::size_t at = end;
  while (at < text_.size() && text_[at] == ' ') ++at;
  std::size_t hours = 0;
  ReadDigits(text_.substr(at), hours);
  const std::size_t minutes = at + hours + 1;
  return at != end && (hours == 1 || hours == 2) && At(at + hours) == ':' && IsDigitAt(minutes) &&
         IsDigitAt(minutes + 1);
}

// "9577 tok/s": a number without a name before it may have it behind, up to the end of its part of the line.
void FieldReader::TakeTrailingName(Field& field) {
  std::size_t end = at_;
  while (end < text_.size() && ClassOf(text_[end]) != kDelimiter && ClassOf(text_[end]) != kNumeric) ++end;
  if (At(at_) != ' ' || !IsLetter(At(at_ + 1)) || (end < text_.size() && ClassOf(text_[end]) == kNumeric)) return;
  field.name = Trim(text_.substr(at_, end - at_));
  field.trailing = true;
  at_ = end;
}

std::string_view LastWord(std::string_view name) {
  const std::size_t space = name.find_last_of(" [(");
  return space == std::string_view::npos ? name : name.substr(space + 1);
}

// The name within the text between two numbers: without separators, brackets and what belongs to an earlier value.
std::string_view NameIn(std::string_view text) {
  while (!text.empty() && ClassOf(text.front()) != kLetter) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t:=\"'[(~").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  if (const std::size_t wide = text.rfind("  "); wide != std::string_view::npos) text = text.substr(wide + 2);
  while (!text.empty() && ClassOf(text.front()) != kLetter) text.remove_prefix(1);
  if (text.find('=') != std::string_view::npos || text.find(": ") != std::string_view::npos) text = LastWord(text);
  // "train.py] [120] loss=2.3": what stands before a closing bracket belongs to somebody else.
  if (const std::size_t bracket = text.rfind(']'); bracket != std::string_view::npos) {
    text = text.substr(bracket + 1);
    while (!text.empty() && ClassOf(text.front()) != kLetter) text.remove_prefix(1);
  }
  // "metric 'epoch_loss", "val_loss' reached": what is quoted is the name.
  if (const std::size_t quote = text.find('\''); quote != std::string_view::npos) {
    const std::string_view behind = text.substr(quote + 1);
    text = !behind.empty() && ClassOf(behind.front()) == kLetter ? behind : text.substr(0, quote);
  }
  return text.size() > kLongestName ? std::string_view() : text;
}

bool FieldReader::ReadField(Field& field) {
  std::size_t used = 0;
  const auto value = ReadNumber(text_.substr(at_), used);
  if (!value) return false;
  // "loss 2.3 (mean 2.5)": a parenthesis opens a value only as a count, "Epoch:[1/1](200/39695)".
  const std::size_t begin = at_;
  field = Field{};
  field.before = begin == 0 ? ' ' : text_[begin - 1];
  field.value = *value;
  field.at = static_cast<std::uint32_t>(begin);
  std::size_t end = ReadThousands(begin, begin + used, field.value);
  field.thousands = end != begin + used;
  field.at_end = end == text_.size();
  if (IsPartOfWord(end)) {
    SkipToken();
    return false;
  }
  end = ReadTotal(end, field.total);
  if (field.total > 0 && IsDate(end)) {
    SkipToken();
    return false;
  }
  if (field.before == '(' && (field.total == 0 || At(end) != ')')) return false;
  const std::size_t unit_end = ReadUnit(end, field.unit_scale);
  field.seconds = unit_end == end ? 0 : SecondsOf(text_.substr(end, unit_end - end));
  field.value *= field.unit_scale;
  if (unit_end != end && IsPartOfWord(unit_end)) return false;
  end = SkipAside(unit_end);
  if (field.before == '[' && At(end) == ',') {  // a list: its first value stands for it
    const std::size_t close = text_.find(']', end);
    end = close == std::string_view::npos ? text_.size() : close + 1;
  }
  const std::string_view between = text_.substr(name_start_, begin - name_start_);
  field.name = NameIn(between);
  field.in_brackets = Trim(between).ends_with('[');
  field.after_arrow = field.name.empty() && Trim(between).ends_with("->");
  at_ = end;
  if (field.name.empty() && field.total == 0 && !field.after_arrow) TakeTrailingName(field);
  name_start_ = at_;
  return true;
}

template <std::size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view known) { return EqualsIgnoringCase(word, known); });
}

// "Iter(train)" and "Epoch(val)" of OpenMMLab.
std::string_view WithoutTail(std::string_view name) {
  return name.ends_with(')') && name.find('(') != std::string_view::npos ? name.substr(0, name.rfind('(')) : name;
}

bool IsStepName(const Field& field) {
  const std::string_view word = LastWord(WithoutTail(field.name));
  if (word.size() <= 2 && field.before != ':' && field.before != '=') return false;
  return word.size() <= 14 && IsOneOf(word, kStepWords);
}

// "Epoch", "Epoch(train)"; "Train: 3 [  50/1251 (  4%)]" counts epochs too.
bool IsEpochName(const Field& field, std::string_view behind) {
  const std::string_view word = LastWord(WithoutTail(field.name));
  if (EqualsIgnoringCase(word, "epoch")) return true;
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

// Whether one of the last words before the step says that an evaluation is told: "INFO - validate step: 100",
// "| valid | epoch 001 |", "[eval] iter 5". `before` is the line up to the step or epoch.
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

// "lr(1e-4): 0.1" is 1e-5 under the name lr.
NamedNumber NumberOf(const Field& field) {
  NamedNumber number = {field.name, field.value, field.trailing, field.thousands, field.at, field.unit_scale};
  number.seconds = field.seconds;
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
  const std::string_view word = LastWord(field.name);
  return word.size() > 2 && !EqualsIgnoringCase(word, "update") && !EqualsIgnoringCase(word, "batch") &&
         !EqualsIgnoringCase(word, "steps");
}

// A step that counts through all epochs is better than a count within one, and than a count of batches.
bool IsBetterStep(const Field& field, const MetricLine& line, bool sure) {
  if (line.step < 0 || field.trailing || !IsCount(field.value)) return false;
  if (IsOneOf(LastWord(field.name), kGlobalStepWords)) return !line.step_is_global;
  return !sure && !line.step_is_global && EqualsIgnoringCase(LastWord(field.name), "step");
}

// A count without a name: the first number of the line, or one alone in brackets behind what loggers write
// ("140 writer.py:48] [120] loss=2.3").
bool IsLead(const Field& field, std::string_view behind, const MetricLine& line) {
  if (!field.name.empty() || field.total != 0 || field.after_arrow || !IsCount(field.value)) return false;
  return (line.lead < 0 && line.numbers.empty()) || (field.in_brackets && behind.starts_with(']'));
}

bool SpeaksOfLoss(std::string_view text) {
  if (text.starts_with("[batch=")) return true;  // the losses stand in the lines below
  return ContainsIgnoringCase(text, "loss") || ContainsIgnoringCase(text, "trl:") || ContainsIgnoringCase(text, "tel:");
}

void TakeStep(const Field& field, MetricLine& line) {
  line.step_is_global = IsOneOf(LastWord(field.name), kGlobalStepWords);
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

}  // namespace

bool ParseMetricLine(std::string_view text, bool cut, MetricLine& line) {
  line.step = -1;
  line.epoch = -1;
  line.total_steps = 0;
  line.step_within_epoch = false;
  line.step_opens_line = false;
  line.step_is_global = false;
  line.is_summary = false;
  line.irregular = false;
  line.lead = -1;
  line.numbers.clear();
  FieldReader fields(text);
  Field field;
  bool is_first = true;
  bool after_epoch = false;
  bool sure = true;
  std::size_t place = text.size();  // of the first step or epoch
  while (fields.Next(field)) {
    if (field.at_end && cut) break;
    const bool bare_count = field.name.empty() && field.total > 0 && (is_first || after_epoch || field.in_brackets);
    const bool is_step =
        line.step < 0 && IsCount(field.value) && (bare_count || (!field.trailing && IsStepName(field)));
    if (!IsCount(field.value) && !field.trailing && IsStepName(field)) line.irregular = true;
    if (is_step || IsBetterStep(field, line, sure)) {
      line.step_within_epoch = is_step && bare_count && after_epoch;
      line.step_opens_line = is_step && bare_count && is_first;
      sure = IsSureOfStep(field) || line.epoch >= 0;
      TakeStep(field, line);
      place = std::min(place, std::size_t{field.at});
    } else if (line.epoch < 0 && !field.trailing && field.value >= 0 && IsEpochName(field, fields.Rest())) {
      line.epoch = field.value;
      line.epoch_at = field.at;
      place = std::min(place, std::size_t{field.at});
      after_epoch = true;
      is_first = false;
      continue;
    } else if (IsLead(field, fields.Rest(), line)) {
      line.lead = static_cast<std::int64_t>(field.value);
      for (NamedNumber& number : line.numbers) number.weak = true;
    } else if (field.name.empty() && field.after_arrow && !line.numbers.empty()) {
      line.numbers.back().value = field.value;
      line.numbers.back().at = field.at;
      line.irregular = true;
    } else if (!field.name.empty() && line.numbers.size() < kMostNumbers) {
      line.numbers.push_back(NumberOf(field));
    }
    after_epoch = false;
    is_first = false;
  }
  if ((line.step < 0 && line.epoch < 0) || (!sure && !SpeaksOfLoss(text))) return false;
  line.evaluation = SpeaksOfEvaluation(text.substr(0, place));
  return true;
}

void ParseNamedNumbers(std::string_view text, NamedNumbers& numbers) {
  numbers.clear();
  FieldReader fields(text);
  Field field;
  while (fields.Next(field)) {
    if (!field.name.empty() && numbers.size() < kMostNumbers) numbers.push_back(NumberOf(field));
  }
}

}  // namespace vigil::import::log
