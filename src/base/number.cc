#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/base.h"
#include "base/decimal.h"

namespace vigil {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordChar(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// "nan", "inf", "infinity" in any case, not as the beginning of a longer word.
std::optional<double> ParseNonFinite(std::string_view text, std::size_t& used) {
  struct Word {
    std::string_view text;
    double value;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // The C library of Windows writes which NaN it is.
  constexpr std::array<Word, 5> kWords = {
      {{"infinity", kInfinity}, {"inf", kInfinity}, {"nan(ind)", kNan}, {"nan(snan)", kNan}, {"nan", kNan}}};
  for (const Word& word : kWords) {
    const bool whole =
        text.size() == word.text.size() || (text.size() > word.text.size() && !IsWordChar(text[word.text.size()]));
    if (StartsWithIgnoringCase(text, word.text) && whole) {
      used = word.text.size();
      return word.value;
    }
  }
  return std::nullopt;
}

// "1.#QNAN", "1.#IND", "1.#INF": older C libraries of Windows.
std::optional<double> ParseMarked(std::string_view text, std::size_t& used) {
  constexpr std::string_view kMark = "1.#";
  if (!text.starts_with(kMark)) return std::nullopt;
  const std::string_view kind = text.substr(kMark.size());
  const bool is_infinite = StartsWithIgnoringCase(kind, "inf");
  for (const std::string_view known : {"qnan", "snan", "ind", "inf"}) {
    if (!StartsWithIgnoringCase(kind, known)) continue;
    used = kMark.size() + known.size();
    while (used < text.size() && IsDigit(text[used])) ++used;  // "1.#QNAN00"
    return is_infinite ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  }
  return std::nullopt;
}

// 1,234,567.5 -> 1234567.5; empty when the commas do not stand where thousands go.
std::string WithoutThousands(std::string_view text) {
  const std::size_t whole_end = text.find_first_of(".eE");
  const std::string_view whole = text.substr(0, whole_end);
  const std::size_t first = whole.find(',');
  const std::size_t sign = !whole.empty() && (whole[0] == '-' || whole[0] == '+') ? 1 : 0;
  if (first == std::string_view::npos || first - sign > 3 || first == sign) return {};
  for (std::size_t i = first; i < whole.size(); i += 4) {
    if (whole[i] != ',' || whole.size() - i < 4) return {};
  }
  std::string plain;
  for (const char c : text) {
    if (c != ',') plain += c;
  }
  return plain;
}

// Whether the number, which has a digit other than 0, is below 1.
bool IsBelowOne(std::string_view digits) {
  const std::size_t mark = std::min(digits.find_first_of("eE"), digits.size());
  const std::size_t point = std::min(digits.substr(0, mark).find('.'), mark);
  const std::size_t first = digits.find_first_not_of("0.");
  // Digits from the first that counts to the point; less than 0 where it stands behind.
  const std::ptrdiff_t whole = static_cast<std::ptrdiff_t>(point) - static_cast<std::ptrdiff_t>(first);
  std::string_view exponent = digits.substr(std::min(mark + 1, digits.size()));
  const bool small = exponent.starts_with('-');
  if (small || exponent.starts_with('+')) exponent.remove_prefix(1);
  // Further from 0 than any text has digits, and far enough from where integers end to be added to.
  constexpr std::int64_t kFar = std::int64_t{1} << 60U;
  const std::int64_t power = exponent.empty() ? 0 : std::min(ParseInteger(exponent).value_or(kFar), kFar);
  return whole + (small ? -power : power) <= 0;
}

// What TakeDecimal leaves: many digits, exponents far from 0, more or less than a double holds.
std::optional<double> ParseWithCare(std::string_view digits, std::size_t& used) {
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem == std::errc::invalid_argument) return std::nullopt;
  used = static_cast<std::size_t>(end - digits.data());
  if (problem == std::errc::result_out_of_range) return IsBelowOne(digits.substr(0, used)) ? 0.0 : kInfinity;
  return value;
}

}  // namespace

std::optional<double> ParseNumberPrefix(std::string_view text, std::size_t& used) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::string_view digits = text.substr(sign);
  if (digits.empty()) return std::nullopt;
  std::optional<double> value = 0;
  std::size_t length = 0;
  if (digits.size() > 3 && digits[2] == '#') {
    value = ParseMarked(digits, length);
    if (value) {
      used = sign + length;
      return negative ? -*value : *value;
    }
    value = 0;
  }
  if (!IsDigit(digits[0]) && digits[0] != '.') {
    value = ParseNonFinite(digits, length);
  } else if (const char* const after =
                 TakeDecimal<TextEnd::kAnywhere>(digits.data(), digits.data() + digits.size(), *value)) {
    length = static_cast<std::size_t>(after - digits.data());
  } else {
    value = ParseWithCare(digits, length);
  }
  if (!value) return std::nullopt;
  used = sign + length;
  return negative ? -*value : *value;
}

std::optional<double> ParseNumber(std::string_view text) {
  text = Trim(text);
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(text, used);
  if (value && used == text.size()) return value;
  const std::string plain = WithoutThousands(text);
  if (plain.empty()) return std::nullopt;
  const auto grouped = ParseNumberPrefix(plain, used);
  return grouped && used == plain.size() ? grouped : std::nullopt;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  text = Trim(text);
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseHex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{:.4g}", value);
}

std::string FormatExact(double value) {
  if (!std::isfinite(value)) return FormatNumber(value);
  return fmt::format("{}", value);
}

std::string FormatCount(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto scaled = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", scaled, kUnits[unit]);
}

std::optional<std::uint64_t> CheckedAdd(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::optional<std::uint64_t> CheckedMultiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace vigil
