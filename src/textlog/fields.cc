#include "textlog/fields.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "model/run.h"
#include "textlog/field_names.h"
#include "textlog/line.h"
#include "textlog/pairs.h"

namespace vigil::textlog {
namespace {

constexpr double kLargestCount = 9e15;
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::int64_t kLatestDay = 31;    // a larger number between slashes is no day, nor a month
constexpr std::size_t kLongestAside = 32;  // "(+0.12z)", "(64.99%)", "(2.35 avg)"

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

// A unit of memory in gibibytes, 0 for every other unit. A lone letter has scaled the number already.
double GibibytesOf(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double gibibytes;
  };
  constexpr double kMebi = 1.0 / 1024;
  constexpr double kKibi = kMebi / 1024;
  constexpr std::array<Unit, 14> kUnits = {{{"GiB", 1},
                                            {"GB", 1},
                                            {"MiB", kMebi},
                                            {"MB", kMebi},
                                            {"KiB", kKibi},
                                            {"KB", kKibi},
                                            {"kB", kKibi},
                                            {"TiB", 1024},
                                            {"TB", 1024},
                                            {"G", 1e-9},
                                            {"M", kMebi * 1e-6},
                                            {"K", kKibi * 1e-3},
                                            {"k", kKibi * 1e-3},
                                            {"T", 1024 * 1e-12}}};
  const auto at = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& known) { return known.name == unit; });
  return at == kUnits.end() ? 0 : at->gibibytes;
}

// "INFO:tensorflow:" before a message: level and name as Python's logging writes them by default.
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

// "loss: nan" and "loss nan" are a name and its value.
bool HoldsValue(std::string_view words) {
  if (words.find('=') != std::string_view::npos || words.find(": ") != std::string_view::npos) return true;
  std::size_t used = 0;
  const std::size_t space = words.rfind(' ');
  return space != std::string_view::npos && ParseNumberPrefix(words.substr(space + 1), used).has_value() &&
         space + 1 + used == words.size();
}

// "samples/sec", "ms/step": a unit that says by itself what is measured. "train/acc" is a name.
bool IsRate(std::string_view unit) {
  constexpr std::array<std::string_view, 4> kSeconds = {"s", "sec", "secs", "second"};
  const std::size_t slash = unit.find('/');
  if (slash == std::string_view::npos || slash == 0) return false;
  const std::string_view by = unit.substr(slash + 1);
  return SecondsOf(unit.substr(0, slash)) != 0 || std::find(kSeconds.begin(), kSeconds.end(), by) != kSeconds.end();
}

}  // namespace

FieldReader::FieldReader(std::string_view text) : text_(text), at_(LoggerLength(text)), name_start_(at_) {}

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
    // Signs that stand right before a value in formats of nobody: "#000120", ">2.31", "**loss** *2.3*", "~0.5".
    case '#':
    case '>':
    case '*':
    case '~':
      return true;
    default:
      return false;
  }
}

// "loss nan" and "loss: nan" are values; "number of nan iterations" is a name.
bool FieldReader::StartsNonFinite(std::size_t at) const {
  if (!StartsValue(at)) return false;
  std::string_view before = Trim(text_.substr(name_start_, at - name_start_));
  while (before.size() > 1 && (before.front() == ':' || before.front() == ' ')) before.remove_prefix(1);
  if (before.ends_with(':') || before.ends_with('=') || before.find(' ') == std::string_view::npos) return true;
  std::size_t end = at;
  while (end < text_.size() && (IsLetter(text_[end]) || text_[end] == '.')) ++end;
  return EndsPart(end) || EndsWithLoss(before);
}

// A value that begins with a letter: "nan", "inf", "tensor(2.5)", "Array(2.5, dtype=float32)".
bool FieldReader::StartsWord(std::size_t at) const {
  const char c = text_[at];
  if (((c | 0x20) == 'n' || (c | 0x20) == 'i') && StartsNonFinite(at)) return true;
  return StartsValue(at) && WrapperLength(text_.substr(at)) != 0;
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
  // The milliseconds of "09:27:00,123".
  const bool has_thousandth = At(at_) == ',' && at_ > 0 && IsDigit(text_[at_ - 1]) && IsDigitAt(at_ + 1) &&
                              IsDigitAt(at_ + 2) && IsDigitAt(at_ + 3) && !IsDigitAt(at_ + 4);
  if (has_thousandth) at_ += 4;
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
        may_be_value = StartsWord(at_);
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

// "718/10600/10600": counts of the same thing by stricter and wider measures, of which the last rises with every line.
std::size_t FieldReader::ReadThirdCount(std::size_t end, Field& field) const {
  if (field.total <= kLatestDay || At(end) != '/' || !IsDigitAt(end + 1)) return end;
  std::size_t digits = 0;
  field.value = static_cast<double>(ReadDigits(text_.substr(end + 1), digits));
  field.at = static_cast<std::uint32_t>(end + 1);
  field.total = 0;
  return end + 1 + digits;
}

// "Minibatch[1031-1040]", "Minibatch[  31-  40]": a range of what its name counts stands for its end.
std::size_t FieldReader::ReadRange(std::size_t begin, std::size_t end, Field& field) const {
  const std::size_t open = begin == 0 ? std::string_view::npos : text_.find_last_not_of(' ', begin - 1);
  if (open == std::string_view::npos || open == 0 || text_[open] != '[' || !IsLetter(text_[open - 1])) return end;
  if (At(end) != '-') return end;
  const std::size_t second = std::min(text_.find_first_not_of(' ', end + 1), text_.size());
  std::size_t digits = 0;
  const std::int64_t last = ReadDigits(text_.substr(second), digits);
  if (last < 0 || static_cast<double>(last) < field.value || At(second + digits) != ']') return end;
  field.value = static_cast<double>(last);
  field.at = static_cast<std::uint32_t>(second);
  return second + digits;
}

// "ms", "GiB", "%", "TFLOP/s", "/s"; a lone k, M, B, G or T scales.
std::size_t FieldReader::ReadUnit(std::size_t end, double& scale) const {
  if (At(end) == '/') {
    const std::size_t behind = std::min(text_.find_first_not_of(kLetters, end + 1), text_.size());
    const std::string_view by = text_.substr(end + 1, behind - end - 1);
    return by == "s" || by == "sec" ? behind : end;
  }
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

// A unit after one space: "250 ms", "512 MiB". Words that may begin the next name are none.
std::size_t FieldReader::ReadUnitApart(std::size_t end, Field& field) const {
  constexpr std::array<std::string_view, 8> kUnits = {"ms", "us", "GiB", "MiB", "KiB", "GB", "MB", "TiB"};
  if (At(end) != ' ' || !IsLetter(At(end + 1))) return end;
  std::size_t at = end + 1;
  while (at < text_.size() && IsLetter(text_[at])) ++at;
  const bool by = At(at) == '/' && IsLetter(At(at + 1));  // "samples/sec"
  if (by) at = std::min(text_.find_first_not_of(kLetters, at + 1), text_.size());
  const std::string_view unit = text_.substr(end + 1, at - end - 1);
  const bool closed = at == text_.size() || ClassOf(text_[at]) == kDelimiter || text_[at] == ' ' || text_[at] == ')';
  if (closed && by && IsRate(unit)) {
    field.rate = unit;
    return at;
  }
  if (!closed || std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) return end;
  field.seconds = SecondsOf(unit);
  field.gibibytes = GibibytesOf(unit);
  return at;
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
bool FieldReader::IsDate(std::size_t end, std::int64_t total) const {
  if (At(end) == '/' && IsDigitAt(end + 1)) return total <= kLatestDay;
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
  while (end < text_.size() && ClassOf(text_[end]) != kDelimiter && ClassOf(text_[end]) != kNumeric &&
         !text_.substr(end).starts_with(" : "))
    ++end;
  if (At(at_) != ' ' || !IsLetter(At(at_ + 1)) || (end < text_.size() && ClassOf(text_[end]) == kNumeric)) return;
  const std::string_view name = Trim(text_.substr(at_, end - at_));
  // "(* 1 = 1.36 loss)": the aside says how the value came about.
  if (HoldsValue(name) || (field.sign == '=' && name.ends_with(')'))) return;
  field.name = name;
  field.trailing = true;
  at_ = end;
}

// A list stands for its first value; a pair of counts that opens the line is epoch and step.
std::size_t FieldReader::ReadList(std::size_t end, Field& field) const {
  const std::size_t close = text_.find(']', end);
  std::size_t at = end + 1;
  while (At(at) == ' ' && at < text_.size()) ++at;
  std::size_t used = 0;
  const auto second = ParseNumberPrefix(text_.substr(std::min(at, text_.size())), used);
  const bool is_count = second && *second >= 0 && *second < kLargestCount && *second == std::floor(*second);
  if (field.at == 1 && is_count && at + used == close && field.unit_scale == 1) {
    field.second = static_cast<std::int64_t>(*second);
    field.second_at = static_cast<std::uint32_t>(at);
  }
  return close == std::string_view::npos ? text_.size() : close + 1;
}

// "12epoch", and "51-100batch" of a range, which stands for its end: the word that counts is written onto the digits.
bool FieldReader::ReadCountedWord(std::size_t end, Field& field) {
  std::size_t at = end;
  double value = field.value;
  if (At(at) == '-' && IsDigitAt(at + 1)) {
    std::size_t digits = 0;
    value = static_cast<double>(ReadDigits(text_.substr(at + 1), digits));
    at += 1 + digits;
  }
  const std::size_t letters = at;
  while (at < text_.size() && IsLetter(text_[at])) ++at;
  const std::string_view word = text_.substr(letters, at - letters);
  constexpr std::array<std::string_view, 6> kCounted = {"epoch", "batch", "iter", "step", "it", "update"};
  if (std::find(kCounted.begin(), kCounted.end(), word) == kCounted.end() ||
      (At(at) != ':' && At(at) != ' ' && At(at) != ','))
    return false;
  if (word.size() == 2 && letters != end) return false;
  field.value = value;
  field.name = word;
  field.sign = ':';
  at_ = at;
  name_start_ = at;
  return true;
}

// "loss=None", "loss: N/A": a name and no number.
bool FieldReader::ReadMissing(Field& field) {
  constexpr std::array<std::string_view, 5> kWords = {"None", "null", "N/A", "n/a", "NA"};
  const std::string_view rest = text_.substr(at_);
  const auto* const word = std::find_if(kWords.begin(), kWords.end(), [&](std::string_view known) {
    return rest.starts_with(known) && (rest.size() == known.size() || !IsLetter(rest[known.size()]));
  });
  const std::size_t mark = at_ == 0 ? std::string_view::npos : text_.find_last_not_of(' ', at_ - 1);
  if (word == kWords.end() || mark == std::string_view::npos || (text_[mark] != '=' && text_[mark] != ':'))
    return false;
  field = Field{};
  field.name = NameIn(text_.substr(name_start_, at_ - name_start_));
  field.value = model::kNoValue;
  field.missing = true;
  field.sign = text_[mark];
  field.at = static_cast<std::uint32_t>(at_);
  at_ += word->size();
  name_start_ = at_;
  return !field.name.empty();
}

bool FieldReader::ReadField(Field& field) {
  std::size_t used = 0;
  const auto value = ReadNumber(text_.substr(at_), used);
  if (!value) return ReadMissing(field);
  // "loss 2.3 (mean 2.5)": a parenthesis opens a value only as a count, "Epoch:[1/1](200/39695)".
  const std::size_t begin = at_;
  field = Field{};
  field.before = begin == 0 ? ' ' : text_[begin - 1];
  const std::size_t mark = begin == 0 ? std::string_view::npos : text_.find_last_not_of(' ', begin - 1);
  field.sign = mark == std::string_view::npos ? ' ' : text_[mark];
  field.value = *value;
  field.at = static_cast<std::uint32_t>(begin);
  std::size_t end = ReadThousands(begin, begin + used, field.value);
  field.thousands = end != begin + used;
  field.at_end = end == text_.size();
  if (ReadCountedWord(end, field)) return true;
  end = ReadRange(begin, end, field);
  if (IsPartOfWord(end)) {
    SkipToken();
    return false;
  }
  end = ReadTotal(end, field.total);
  if (field.total > 0 && IsDate(end, field.total)) {
    SkipToken();
    return false;
  }
  end = ReadThirdCount(end, field);
  if (field.before == '(' && (field.total == 0 || At(end) != ')')) return false;
  const std::size_t unit_end = ReadUnit(end, field.unit_scale);
  if (unit_end != end) {
    field.percent = text_[unit_end - 1] == '%';
    field.seconds = SecondsOf(text_.substr(end, unit_end - end));
    field.gibibytes = GibibytesOf(text_.substr(end, unit_end - end));
    if (IsRate(text_.substr(end, unit_end - end))) field.rate = text_.substr(end, unit_end - end);
  }
  field.value *= field.unit_scale;
  if (unit_end != end && IsPartOfWord(unit_end)) return false;
  // "14904/11549 tok/s": two rates, of what goes in and what comes out.
  const bool is_named = field.total > 0 || !NameIn(text_.substr(name_start_, begin - name_start_)).empty();
  end = SkipAside(unit_end == end && is_named ? ReadUnitApart(end, field) : unit_end);
  if (field.before == '[' && At(end) == ',') end = ReadList(end, field);
  const std::string_view between = text_.substr(name_start_, begin - name_start_);
  field.name = NameIn(between);
  if (std::isfinite(field.value)) field.name = WithoutVerb(field.name);
  field.in_brackets = Trim(between).ends_with('[');
  field.after_arrow = field.name.empty() && Trim(between).ends_with("->");
  at_ = end;
  if (field.name.empty() && field.total == 0 && !field.after_arrow) TakeTrailingName(field);
  name_start_ = at_;
  return true;
}

}  // namespace vigil::textlog
