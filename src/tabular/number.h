// tabular/number: decimal numbers at the speed of a table of them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace vigil::tabular {

__extension__ using Wide = unsigned __int128;

// Powers of ten that a double holds exactly. A whole number up to 2^53 times or divided by one of them is rounded once,
// and so is the nearest double to the text.
inline constexpr std::array<double, 23> kExactPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The leading 64 bits of 1/5^n for n below 28, the first bit set, and the power of two that goes with them:
// 1/5^n = bits * 2^exponent, too small by less than one unit of the last bit.
struct ScaledPower {
  std::uint64_t bits = 0;
  int exponent = 0;
};

constexpr std::array<ScaledPower, 28> MakeInversePowersOfFive() {
  std::array<ScaledPower, 28> powers = {};
  std::uint64_t five = 1;
  for (ScaledPower& power : powers) {
    const int length = 64 - std::countl_zero(five);
    const Wide numerator = Wide{1} << static_cast<unsigned>(63 + length - (five == 1 ? 1 : 0));
    power = {static_cast<std::uint64_t>(numerator / five), -(63 + length - (five == 1 ? 1 : 0))};
    five *= 5;
  }
  return powers;
}
inline constexpr auto kInversePowersOfFive = MakeInversePowersOfFive();

// digits / 10^places, rounded to the nearest double, for a whole number above 2^53. False in the rare case that 64 bits
// of the quotient do not decide the rounding.
inline bool DivideByPowerOfTen(std::uint64_t digits, unsigned places, double& value) {
  const ScaledPower& power = kInversePowersOfFive[places];
  const int shift = std::countl_zero(digits);
  const Wide product = static_cast<Wide>(digits << static_cast<unsigned>(shift)) * power.bits;
  const auto upper = static_cast<std::uint64_t>(product >> 64U);
  // The quotient lies between this product and one unit of `upper` above it; its first bit is bit 63 or 62 of `upper`.
  const unsigned spare = (upper >> 63U) != 0 ? 11 : 10;
  const std::uint64_t below = upper & ((std::uint64_t{1} << spare) - 1);
  const std::uint64_t half = std::uint64_t{1} << (spare - 1);
  const bool undecided = below == half || below == half - 1 || below + 1 == half * 2;
  if (undecided) return false;
  const std::uint64_t mantissa = (upper >> spare) + (below > half ? 1 : 0);
  const int exponent = power.exponent - shift - static_cast<int>(places) + 64 + static_cast<int>(spare);
  // 2^exponent as a double; the range of exponents is far from its ends.
  value = static_cast<double>(mantissa) * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52U);
  return true;
}

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline constexpr std::array<std::uint64_t, 9> kTens = {1,       10,        100,        1'000,      10'000,
                                                       100'000, 1'000'000, 10'000'000, 100'000'000};

// The number that eight bytes spell, each a digit's value, the first byte first: by pairs, pairs of pairs, halves.
inline std::uint64_t EightDigits(std::uint64_t values) {
  values = values * 10 + (values >> 8U);
  return (((values & 0x000000ff000000ffU) * 0x000f424000000064U) +
          (((values >> 16U) & 0x000000ff000000ffU) * 0x0000271000000001U)) >>
         32U;
}

// Appends the digits at `at` to `digits` and returns what follows them. Eight at a time; of the last eight the digits
// are shifted to the end, so that no branch depends on how many there are: that is what cannot be predicted in a table.
inline const char* TakeDigits(const char* at, const char* end, std::uint64_t& digits) {
  while (end - at >= 8) {
    std::uint64_t values = 0;
    std::memcpy(&values, at, 8);
    values ^= 0x3030303030303030U;
    // The high bit of each byte above 9; a carry reaches only bytes behind the first of those.
    const std::uint64_t others = ((values + 0x7676767676767676U) | values) & 0x8080808080808080U;
    if (others != 0) {
      const auto bits = static_cast<unsigned>(std::countr_zero(others)) & 0x38U;
      if (bits == 0) return at;
      digits = digits * kTens[bits / 8] + EightDigits(values << (64 - bits));
      return at + bits / 8;
    }
    digits = digits * 100'000'000 + EightDigits(values);
    at += 8;
  }
  while (IsDigit(*at)) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
  return at;
}

// Takes the exponent at `at` ("e-05"), if there is one; null when it is broken.
inline const char* TakeExponent(const char* at, int& exponent) {
  if (*at != 'e' && *at != 'E') return at;
  ++at;
  const bool small = *at == '-';
  at += *at == '-' || *at == '+' ? 1 : 0;
  if (!IsDigit(*at)) return nullptr;
  int power = 0;
  for (; IsDigit(*at); ++at) power = power < 10'000 ? power * 10 + (*at - '0') : power;
  exponent += small ? -power : power;
  return at;
}

// Reads the number [-]digits[.digits][e[+-]digits] at `at` and returns what follows it; null when there is none, or one
// that needs more care than is taken here. `end[-1]` must be a line feed, and `at` before it.
[[gnu::always_inline]] inline const char* ParseDecimal(const char* at, const char* end, double& value) {
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  const char* const first = at;
  std::uint64_t digits = 0;
  // Few digits before the point, many behind it: a branch for each is guessed right, and no later one waits for it.
  while (IsDigit(*at)) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
  auto written = at - first;
  auto significant = digits == 0 ? 0 : written;
  int exponent = 0;
  if (*at == '.') {
    const char* const point = ++at;
    if (digits == 0) {
      while (*at == '0') ++at;
    }
    const char* const from = at;
    at = TakeDigits(at, end, digits);
    written += at - point;
    significant += at - from;
    if (written > 40) return nullptr;
    exponent = static_cast<int>(point - at);
  }
  if (written == 0 || significant > 19) return nullptr;  // nineteen digits always fit
  at = TakeExponent(at, exponent);
  if (at == nullptr) return nullptr;
  double magnitude = 0;
  if (digits <= std::uint64_t{1} << 53U && exponent >= -22 && exponent <= 22) {
    const auto whole = static_cast<double>(digits);
    magnitude = exponent < 0 ? whole / kExactPowersOfTen[static_cast<std::size_t>(-exponent)]
                             : whole * kExactPowersOfTen[static_cast<std::size_t>(exponent)];
  } else if (exponent > 0 || exponent < -27 || digits == 0 ||
             !DivideByPowerOfTen(digits, static_cast<unsigned>(-exponent), magnitude)) {
    return nullptr;
  }
  value = negative ? -magnitude : magnitude;
  return at;
}

}  // namespace vigil::tabular
