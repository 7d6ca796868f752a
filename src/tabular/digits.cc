#include "tabular/digits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/base.h"

namespace vigil::tabular {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

constexpr std::size_t kRecent = 16;
constexpr int kMostDecimals = 17;

int CountDigits(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return IsDigit(c); }));
}

// As few as it can have been written with.
int DecimalsOf(double value) {
  double scaled = std::abs(value);
  for (int decimals = 0; decimals < kMostDecimals; ++decimals, scaled *= 10) {
    if (std::abs(scaled - std::round(scaled)) <= 1e-9 * std::max(1.0, scaled)) return decimals;
  }
  return kMostDecimals;
}

int WholeDigitsOf(double value) {
  return std::abs(value) < 10 ? 1 : 1 + static_cast<int>(std::floor(std::log10(std::abs(value))));
}

// C and Python write at least two digits of an exponent.
bool HasWholeExponent(std::string_view text, std::size_t e) { return CountDigits(text.substr(e)) >= 2; }

}  // namespace

bool HasAllDigits(std::string_view text, std::span<const double> before) {
  if (CountDigits(text) == 0) return true;  // nan, inf
  std::vector<int> decimals;
  int whole = 0;
  for (std::size_t i = before.size() > kRecent ? before.size() - kRecent : 0; i < before.size(); ++i) {
    if (!std::isfinite(before[i])) continue;
    decimals.push_back(DecimalsOf(before[i]));
    whole = std::max(whole, WholeDigitsOf(before[i]));
  }
  if (decimals.empty()) return false;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) return HasWholeExponent(text, e);
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos)
    return CountDigits(text) >= whole && *std::max_element(decimals.begin(), decimals.end()) == 0;
  const auto middle = decimals.begin() + std::ssize(decimals) / 2;
  std::nth_element(decimals.begin(), middle, decimals.end());
  // Of many digits the last ones say nothing.
  constexpr int kEnough = 6;
  const bool small = std::any_of(before.end() - std::min(std::ssize(before), std::ptrdiff_t{kRecent}), before.end(),
                                 [](double value) { return value != 0 && std::abs(value) < 1e-3; });
  return CountDigits(text.substr(point)) >= (small ? *middle : std::min(*middle, kEnough));
}

}  // namespace vigil::tabular
