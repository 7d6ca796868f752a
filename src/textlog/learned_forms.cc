#include "textlog/learned_forms.h"

#include <algorithm>
#include <cmath>

#include "base/base.h"
#include "textlog/line.h"
#include "textlog/pairs.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kDecidedFrom = 8;
constexpr std::size_t kHeaderFrom = 4;
constexpr std::size_t kBesideFrom = 3;
constexpr std::size_t kMostForms = 128;
constexpr std::size_t kMostNumbersOfForm = 24;
constexpr std::size_t kLongestLine = 400;
constexpr double kLargestCount = 1e9;  // beyond it are seconds since 1970

bool IsNamePart(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_' || c == '/' || c == '-' || c == '@' || c == '.';
}

// The last words before a number, as far as they name it: "Value function loss:" is one name, "it" and "w=" are two.
std::string NameBefore(std::string_view words) {
  while (!words.empty() && !IsNamePart(words.back())) words.remove_suffix(1);
  std::size_t begin = words.size();
  while (begin > 0 && (IsNamePart(words[begin - 1]) || words[begin - 1] == ' ')) --begin;
  words = Trim(words.substr(begin));
  while (!words.empty() && (words.front() == '-' || words.front() == '.')) words.remove_prefix(1);
  return std::string(words);
}

// Where the next number begins; npos when there is none. A digit in the middle of a name ("conv2d") is none.
std::size_t NextNumber(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool opens = at == 0 || !IsNamePart(text[at - 1]) || (IsLetter(text[at - 1]) && IsDigit(c));
    const bool sign = (c == '-' || c == '+' || c == '.') && at + 1 < text.size() && IsDigit(text[at + 1]);
    const bool word = (c == 'n' || c == 'N' || c == 'i' || c == 'I') &&
                      (EqualsIgnoringCase(text.substr(at, 3), "nan") || EqualsIgnoringCase(text.substr(at, 3), "inf"));
    if (opens && (IsDigit(c) || sign || (word && (at == 0 || !IsLetter(text[at - 1]))))) return at;
  }
  return std::string_view::npos;
}

// "28s", "2m 5s": how long something took counts nothing, whole as it is.
bool OpensWithTimeUnit(std::string_view text) {
  const std::size_t letters = std::min(text.find_first_not_of("smh"), text.size());
  const bool ends = letters == text.size() || (!IsLetter(text[letters]) && !IsDigit(text[letters]));
  return ends && (letters == 1 || text.substr(0, letters) == "ms");
}

bool IsCount(double value) { return value >= 0 && value < kLargestCount && value == std::floor(value); }

// The first words behind a number, as far as they name it: " avg, " and " images".
std::string NameBehind(std::string_view words) {
  std::size_t begin = 0;
  while (begin < words.size() && words[begin] == ' ') ++begin;
  std::size_t end = begin;
  while (end < words.size() && (IsNamePart(words[end]) || words[end] == ' ')) ++end;
  return std::string(Trim(words.substr(begin, end - begin)));
}

}  // namespace

bool LearnedForms::NamesStandBehind(std::string_view text) {
  constexpr std::size_t kShortestName = 3;
  text = Trim(text);
  if (text.empty() || !IsDigit(text.front())) return false;
  const std::size_t first = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::size_t second = std::min(text.find_first_of("0123456789", first), text.size());
  const std::string_view between = text.substr(first, second - first);
  if (second == text.size() || std::any_of(between.begin(), between.end(), IsLetter)) return false;
  const std::string_view last = Trim(text.substr(text.find_last_of("0123456789") + 1));
  return last.size() >= kShortestName &&
         std::all_of(last.begin(), last.end(), [](char c) { return IsLetter(c) || c == ' '; });
}

void LearnedForms::NameFromBehind(std::string_view text, std::vector<Number>& numbers) {
  if (numbers.size() < 3 || !NamesStandBehind(text)) return;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const std::size_t next = i + 1 < numbers.size() ? numbers[i + 1].begin : text.size();
    const std::string name = NameBehind(text.substr(numbers[i].end, next - numbers[i].end));
    numbers[i].name = name.empty() ? "column " + std::to_string(i + 1) : name;
  }
}

bool LearnedForms::ReadNumbers(std::string_view text, std::string& form, std::vector<Number>& numbers) {
  form.clear();
  numbers.clear();
  std::size_t end = 0;
  for (std::size_t at = NextNumber(text, 0); at != std::string_view::npos; at = NextNumber(text, end)) {
    std::size_t used = 0;
    const auto value = ReadNumber(text.substr(at), used);
    if (!value || used == 0) {
      form += text.substr(end, at + 1 - end);
      end = at + 1;
      continue;
    }
    // A clock, a version or an address is no number: "09:15:39", "2.6.0".
    const std::string_view behind = text.substr(at + used);
    const bool is_part =
        behind.size() > 1 && (behind[0] == ':' || behind[0] == '.' || behind[0] == '-') && IsDigit(behind[1]);
    if (is_part) return false;
    Number number;
    const std::string_view before = text.substr(end, at - end);
    number.name = NameBefore(before);
    number.value = *value;
    number.begin = at;
    number.end = at + used;
    number.is_joined = !before.empty() && IsLetter(before.back());
    const std::string_view digits = text.substr(at, used);
    number.is_whole = std::all_of(digits.begin(), digits.end(), IsDigit) && !OpensWithTimeUnit(behind);
    if (behind.starts_with('%')) number.name += number.name.empty() ? "%" : " %";
    if (number.name == "%" || number.name.empty())
      number.name =
          (numbers.empty() ? std::string("column") : numbers.back().name) + (number.name.empty() ? " 2" : " %");
    numbers.push_back(std::move(number));
    if (numbers.size() > kMostNumbersOfForm) return false;
    for (const char c : before) {
      if (c != ' ' || !form.ends_with(' ')) form += c;
    }
    form += '#';
    end = at + used;
  }
  form += text.substr(end);
  NameFromBehind(text, numbers);
  // Numbers alone are for PlainNumbers, which wants more of them.
  return !numbers.empty() && std::any_of(form.begin(), form.end(), IsLetter);
}

// Which number counts on from line to line, and which of the others are measured.
void LearnedForms::Decide(Form& form) {
  const std::size_t width = form.held.front().numbers.size();
  const auto column = [&](std::size_t i, auto holds) {
    for (std::size_t row = 1; row < form.held.size(); ++row) {
      if (!holds(form.held[row - 1].numbers[i], form.held[row].numbers[i])) return false;
    }
    return true;
  };
  const auto counts = [](const Number& a, const Number& b) {
    return a.is_whole && b.is_whole && IsCount(a.value) && IsCount(b.value) && b.value > a.value;
  };
  form.count_at = width;
  for (std::size_t i = width; i-- > 0;) {
    if (column(i, counts)) form.count_at = i;
  }
  bool measures = false;
  form.kept.assign(width, false);
  for (std::size_t i = 0; i < width; ++i) {
    const bool same = column(i, [](const Number& a, const Number& b) { return a.value == b.value; });
    const bool whole = column(i, [](const Number& a, const Number& b) { return a.is_whole && b.is_whole; });
    form.kept[i] = i != form.count_at && !(same && whole);
    measures = measures || (form.kept[i] && !whole);
  }
  const bool below = std::is_sorted(form.held.begin(), form.held.end(),
                                    [](const Held& a, const Held& b) { return a.header < b.header; }) &&
                     form.held.front().header >= 0 && form.held.front().header < form.held.back().header;
  if (form.count_at < width && measures) {
    form.state = State::kCounted;
  } else if (form.count_at < width) {
    form.state = State::kHeader;
  } else {
    form.state = below && measures ? State::kBelow : State::kRefused;
  }
}

bool LearnedForms::Place(Form& form, const Held& held, Row& row) const {
  row.line = held.line;
  row.step = form.state == State::kBelow ? held.header : static_cast<std::int64_t>(held.numbers[form.count_at].value);
  for (std::size_t i = 0; i < held.numbers.size(); ++i) {
    if (!form.kept[i]) continue;
    // "loss at 404 1.906": the count stands between a name and its value.
    const bool behind_count = form.state == State::kCounted && i == form.count_at + 1 &&
                              held.numbers[i].name == held.numbers[form.count_at].name + " 2";
    row.names.push_back(behind_count ? held.numbers[form.count_at].name : held.numbers[i].name);
    row.values.push_back(held.numbers[i].value);
  }
  return row.step >= 0;
}

void LearnedForms::Believe(Form& form) {
  for (const Held& held : form.held) {
    Row row;
    if (Place(form, held, row)) rows_.push_back(std::move(row));
  }
  form.held.clear();
  believed_ = believed_ || !rows_.empty();
}

const std::vector<LearnedForms::Row>& LearnedForms::Take(std::string_view text, std::uint32_t line) {
  rows_.clear();
  text = Trim(text);
  if (text.size() > kLongestLine || !ReadNumbers(text, form_, numbers_)) return rows_;
  // A line with whole numbers alone may be the header of those below it.
  const bool whole = std::all_of(numbers_.begin(), numbers_.end(), [](const Number& n) { return n.is_whole; });
  const auto known = forms_.find(form_);
  if (known == forms_.end() && forms_.size() >= kMostForms) return rows_;
  Form& form = known == forms_.end() ? forms_[form_] : known->second;
  if (form.state == State::kRefused) return rows_;
  if (!form.held.empty() && form.held.back().numbers.size() != numbers_.size()) return rows_;
  if (form.state == State::kOpen && whole && IsCount(numbers_.front().value)) {
    const auto count = static_cast<std::int64_t>(numbers_.front().value);
    if (count > form.last) header_ = count;
    form.last = count;
  }
  form.held.push_back({line, header_, numbers_});
  // Beside a form that is believed, evaluations come less often.
  const std::size_t enough = believed_ ? kBesideFrom : whole ? kHeaderFrom : kDecidedFrom;
  if (form.state == State::kOpen && form.held.size() >= enough) Decide(form);
  if (form.state == State::kHeader) {
    header_ = static_cast<std::int64_t>(numbers_[form.count_at].value);
    form.held.clear();
  } else if (form.state == State::kCounted || form.state == State::kBelow) {
    Believe(form);
  } else if (form.state == State::kRefused) {
    form.held.clear();
  }
  return rows_;
}

}  // namespace vigil::textlog
