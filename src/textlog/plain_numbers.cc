#include "textlog/plain_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "model/run.h"
#include "textlog/line.h"
#include "textlog/pairs.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kBelievedFrom = 8;
constexpr std::size_t kLongestLine = 200;
constexpr double kLargestCount = 1e9;  // beyond it are seconds since 1970

constexpr std::string_view kSeparators = " \t|,;[]()";

// A table, since each character of each line is asked about.
constexpr std::array<bool, 256> kIsSeparator = [] {
  std::array<bool, 256> is_separator = {};
  for (const char c : kSeparators) is_separator[static_cast<unsigned char>(c)] = true;
  return is_separator;
}();

bool IsSeparator(char c) { return kIsSeparator[static_cast<unsigned char>(c)]; }

// Moves past what may stand between two numbers; false when something else does. "12:30" is a time.
bool PassSeparator(std::string_view& text, bool is_joined) {
  const std::size_t begin = text.size();
  bool joint = false;  // behind a ':' or '-', which want space around them
  while (!text.empty()) {
    const char c = text.front();
    // A dash between blanks sets numbers apart, unless it stands where one is missing.
    const bool is_dash = c == '-' && text.size() > 1 && text[1] == ' ' && text.size() != begin && is_joined;
    if (c == ':' || is_dash) {
      if (joint) return false;
      joint = true;
    } else if (!IsSeparator(c)) {
      return text.size() != begin && !joint;
    } else {
      joint = false;
    }
    text.remove_prefix(1);
  }
  return true;
}

// "/100" behind a count.
void PassTotal(std::string_view& text) {
  std::size_t digits = 0;
  if (text.starts_with('/') && ReadDigits(text.substr(1), digits) > 0) text.remove_prefix(1 + digits);
}

// The length of what a table writes where it has no number: "-", "--", "NA", "n/a", "None", "null".
std::size_t MissingLength(std::string_view text) {
  constexpr std::array<std::string_view, 7> kWords = {"None", "null", "n/a", "N/A", "NA", "--", "-"};
  if (IsDigit(text.front())) return 0;
  for (const std::string_view word : kWords) {
    if (!text.starts_with(word)) continue;
    const std::string_view rest = text.substr(word.size());
    if (rest.empty() || IsSeparator(rest.front())) return word.size();
  }
  return 0;
}

// Hours, minutes and seconds in front of the count: "1m 5s (- 0m 3s) (15 3%) 2.93". How long it took and will take is
// no count of steps.
std::size_t DurationLength(std::string_view text) {
  std::size_t digits = 0;
  if (ReadDigits(text, digits) < 0 || digits >= text.size()) return 0;
  const char unit = text[digits];
  if (unit != 'h' && unit != 'm' && unit != 's') return 0;
  return digits + 1 == text.size() || IsSeparator(text[digits + 1]) ? digits + 1 : 0;
}

void PassDurations(std::string_view& text) {
  while (!text.empty()) {
    const std::size_t used = DurationLength(text);
    const bool is_dash = text.starts_with("- ");
    if (used == 0 && !is_dash && !IsSeparator(text.front())) return;
    text.remove_prefix(std::max<std::size_t>(used, 1));
  }
}

// " 3%" behind a count: the same progress once more.
void PassShare(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == 0 || begin == std::string_view::npos) return;
  std::size_t digits = 0;
  if (ReadDigits(text.substr(begin), digits) >= 0 && text.substr(begin + digits).starts_with('%'))
    text.remove_prefix(begin + digits + 1);
}

bool IsLetterE(char c) { return c == 'e' || c == 'E'; }

bool IsCount(double value) { return value >= 0 && value < kLargestCount && value == std::floor(value); }

}  // namespace

bool PlainNumbers::Read(std::string_view text, Row& row) {
  text = Trim(text);
  if (text.size() > kLongestLine) return false;
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
  PassDurations(text);
  // "12 - 2.31" joins the count and its value; in "12 2.31 - 0.5" and "12 - - 0.5" a number is missing.
  const bool is_joined =
      std::count(text.begin(), text.end(), '-') == 1 && std::none_of(text.begin(), text.end(), IsLetterE);
  bool measures = false;
  std::size_t numbers = 0;
  while (!text.empty()) {
    std::size_t used = numbers == 0 ? 0 : MissingLength(text);
    const bool is_missing = used != 0;
    const auto number = is_missing ? std::optional(model::kNoValue) : ReadNumber(text, used);
    if (!number || numbers > kMostValues) return false;
    const std::string_view spelled = text.substr(0, used);
    const bool whole = std::all_of(spelled.begin(), spelled.end(), IsDigit);
    if (numbers == 0 && (!whole || !IsCount(*number))) return false;
    if (numbers == 0) {
      row.step = static_cast<std::int64_t>(*number);
    } else {
      row.values[numbers - 1] = *number;
    }
    measures = measures || (numbers != 0 && !whole && !is_missing);
    text.remove_prefix(used);
    if (numbers++ == 0) {
      PassTotal(text);
      PassShare(text);
    }
    if (!text.empty() && !PassSeparator(text, is_joined)) return false;
  }
  row.count = numbers == 0 ? 0 : numbers - 1;
  return row.count != 0 && measures;
}

// A loop logs every so many steps; where it evaluates, and at its first step, it may do so in between. The first
// numbers of other tables rise anyhow.
bool PlainNumbers::CountsOn() const {
  constexpr std::size_t kMostStrides = 3;
  std::vector<std::int64_t> strides;
  for (std::size_t i = 1; i < held_back_.size(); ++i) {
    const std::int64_t stride = held_back_[i].step - held_back_[i - 1].step;
    if (std::find(strides.begin(), strides.end(), stride) == strides.end()) strides.push_back(stride);
  }
  return strides.size() <= kMostStrides;
}

// Rows like "(3, 42, 0.23)", whose epochs stay and whose batches begin again: they count by their order.
void PlainNumbers::TakePair(const Row& row) {
  const double batch = row.values[0];
  const bool goes_on = pairs_.empty() || (row.count == pairs_.back().count && row.step >= pairs_.back().step &&
                                          (row.step > pairs_.back().step || batch > pairs_.back().values[0]));
  if (!pairs_believed_ && (!goes_on || row.count < 2 || !IsCount(batch))) pairs_.clear();
  if (row.count < 2 || !IsCount(batch)) return;
  pairs_.push_back(row);
  const bool comes_again =
      pairs_.front().step < row.step && static_cast<std::size_t>(row.step - pairs_.front().step) + 1 < pairs_.size();
  if (!pairs_believed_ && (pairs_.size() < kBelievedFrom || !comes_again)) return;
  pairs_believed_ = true;
  believed_ = true;
  for (const Row& held : pairs_) {
    Row placed = held;
    placed.step = pairs_taken_++;
    placed.count = held.count - 1;
    std::copy(held.values.begin() + 1, held.values.end(), placed.values.begin());
    rows_.push_back(placed);
  }
  pairs_.clear();
}

const std::vector<PlainNumbers::Row>& PlainNumbers::Take(std::string_view text, std::uint32_t line) {
  rows_.clear();
  Row row;
  row.line = line;
  if (!Read(text, row)) return rows_;
  if (pairs_believed_ || !believed_) TakePair(row);
  if (pairs_believed_) return rows_;
  if (believed_) {
    if (row.count == width_) rows_.push_back(row);
    return rows_;
  }
  const bool goes_on = row.count == width_ && row.step > last_step_;
  if (!goes_on) held_back_.clear();
  width_ = row.count;
  last_step_ = row.step;
  held_back_.push_back(row);
  if (held_back_.size() < kBelievedFrom) return rows_;
  if (!CountsOn()) {
    held_back_.erase(held_back_.begin());
    return rows_;
  }
  believed_ = true;
  rows_ = std::move(held_back_);
  held_back_.clear();
  return rows_;
}

}  // namespace vigil::textlog
