#include "textlog/plain_numbers.h"

#include <algorithm>
#include <cmath>

#include "base/base.h"
#include "textlog/line.h"
#include "textlog/pairs.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kBelievedFrom = 8;
constexpr std::size_t kLongestLine = 200;
constexpr double kLargestCount = 1e9;  // beyond it are seconds since 1970

constexpr std::string_view kSeparators = " \t|,;[]()";

// Moves past what may stand between two numbers; false when something else does. "12:30" is a time.
bool PassSeparator(std::string_view& text) {
  const std::size_t begin = text.size();
  bool joint = false;  // behind a ':' or '-', which want space around them
  while (!text.empty()) {
    const char c = text.front();
    const bool is_dash = c == '-' && text.size() > 1 && text[1] == ' ' && text.size() != begin;
    if (c == ':' || is_dash) {
      if (joint) return false;
      joint = true;
    } else if (kSeparators.find(c) == std::string_view::npos) {
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

bool IsCount(double value) { return value >= 0 && value < kLargestCount && value == std::floor(value); }

}  // namespace

bool PlainNumbers::Read(std::string_view text, Row& row) {
  text = Trim(text);
  if (text.size() > kLongestLine) return false;
  while (!text.empty() && kSeparators.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  bool measures = false;
  std::size_t numbers = 0;
  while (!text.empty()) {
    std::size_t used = 0;
    const auto number = ReadNumber(text, used);
    if (!number || numbers > kMostValues) return false;
    const std::string_view spelled = text.substr(0, used);
    const bool whole = std::all_of(spelled.begin(), spelled.end(), IsDigit);
    if (numbers == 0 && (!whole || !IsCount(*number))) return false;
    if (numbers == 0) {
      row.step = static_cast<std::int64_t>(*number);
    } else {
      row.values[numbers - 1] = *number;
    }
    measures = measures || (numbers != 0 && !whole);
    text.remove_prefix(used);
    if (numbers++ == 0) PassTotal(text);
    if (!text.empty() && !PassSeparator(text)) return false;
  }
  row.count = numbers == 0 ? 0 : numbers - 1;
  return row.count != 0 && measures;
}

const std::vector<PlainNumbers::Row>& PlainNumbers::Take(std::string_view text, std::uint32_t line) {
  rows_.clear();
  Row row;
  row.line = line;
  if (!Read(text, row)) return rows_;
  if (believed_) {
    if (row.count == width_) rows_.push_back(row);
    return rows_;
  }
  const std::int64_t stride = row.step - last_step_;
  const bool goes_on = row.count == width_ && stride > 0 && (held_back_.size() < 2 || stride == stride_);
  if (!goes_on) held_back_.clear();
  stride_ = stride;
  width_ = row.count;
  last_step_ = row.step;
  held_back_.push_back(row);
  if (held_back_.size() < kBelievedFrom) return rows_;
  believed_ = true;
  rows_ = std::move(held_back_);
  held_back_.clear();
  return rows_;
}

bool GoesLikeALoss(const model::Series& series) {
  constexpr double kFall = 0.95;  // of the first quarter's mean
  std::vector<double> finite;
  for (const double value : series.values) {
    if (value < 0) return false;
    if (std::isfinite(value)) finite.push_back(value);
  }
  const std::size_t quarter = finite.size() / 4;
  if (quarter == 0) return false;
  double first = 0;
  double last = 0;
  for (std::size_t i = 0; i < quarter; ++i) {
    first += finite[i];
    last += finite[finite.size() - 1 - i];
  }
  return last < kFall * first || !std::isfinite(series.values.back());
}

}  // namespace vigil::textlog
