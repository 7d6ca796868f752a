// base/decimal: the one fast way from decimal digits to a double, for readers whose time is spent on numbers. It takes
// what is written nearly always and gives the nearest double, to the last bit; the rest is for ParseNumberPrefix.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vigil {
namespace decimal {

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

inline constexpr std::array<std::uint64_t, 9> kTens = {1,       10,        100,        1'000,      10'000,
                                                       100'000, 1'000'000, 10'000'000, 100'000'000};

// The number that eight bytes spell, each a digit's value, the first byte first: by pairs, pairs of pairs, halves.
inline std::uint64_t EightDigits(std::uint64_t values) {
  values = values * 10 + (values >> 8U);
  return (((values & 0x000000ff000000ffU) * 0x000f424000000064U) +
          (((values >> 16U) & 0x000000ff000000ffU) * 0x0000271000000001U)) >>
         32U;
}

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

}  // namespace decimal

// What is known of the end of the text that a number is read from.
enum class TextEnd : std::uint8_t {
  kAnywhere,  // the text may end within the number
  kGuarded,   // its last byte is none that a number can have, and the number begins before it: nothing is compared with
              // the end for each digit
};

namespace decimal {

template <TextEnd kEnd>
char Peek(const char* at, const char* end) {
  return kEnd == TextEnd::kGuarded || at != end ? *at : '\0';
}

// Appends the digits at `at` to `digits` and returns what follows them. Eight at a time; of the last eight the digits
// are shifted to the end, so that no branch depends on how many there are: that is what cannot be predicted in a table.
template <TextEnd kEnd>
const char* TakeDigits(const char* at, const char* end, std::uint64_t& digits) {
  static_assert(std::endian::native == std::endian::little, "the first digit is taken to be the lowest byte");
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
  while (IsDigit(Peek<kEnd>(at, end))) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
  return at;
}

// Takes the exponent at `at` ("e-05"), if there is one; null when it is broken.
template <TextEnd kEnd>
const char* TakeExponent(const char* at, const char* end, int& exponent) {
  if ((Peek<kEnd>(at, end) | 0x20) != 'e') return at;
  ++at;
  const char sign = Peek<kEnd>(at, end);
  at += sign == '-' || sign == '+' ? 1 : 0;
  if (!IsDigit(Peek<kEnd>(at, end))) return nullptr;
  int power = 0;
  for (; IsDigit(Peek<kEnd>(at, end)); ++at) power = power < 10'000 ? power * 10 + (*at - '0') : power;
  exponent += sign == '-' ? -power : power;
  return at;
}

// digits * 10^exponent, rounded to the nearest double; false where that takes more care.
inline bool Scale(std::uint64_t digits, int exponent, double& value) {
  if (digits <= std::uint64_t{1} << 53U && exponent >= -22 && exponent <= 22) {
    const auto whole = static_cast<double>(digits);
    value = exponent < 0 ? whole / kExactPowersOfTen[static_cast<std::size_t>(-exponent)]
                         : whole * kExactPowersOfTen[static_cast<std::size_t>(exponent)];
    return true;
  }
  return digits != 0 && exponent <= 0 && exponent >= -27 &&
         DivideByPowerOfTen(digits, static_cast<unsigned>(-exponent), value);
}

}  // namespace decimal

// Reads the number [-]digits[.digits][e[+-]digits] at `at`, before `end`, and returns what follows it. Zeros in front
// are allowed, and so is a point without digits on one side of it: who does not allow them looks at the text. Null when
// there is no such number, or one that takes more care than is taken here (more than 19 digits, exponents far from 0).
template <TextEnd kEnd>
[[gnu::always_inline]] inline const char* TakeDecimal(const char* at, const char* end, double& value) {
  using decimal::IsDigit;
  using decimal::Peek;
  constexpr std::ptrdiff_t kMostDigits = 19;  // always fit 64 bits
  constexpr std::ptrdiff_t kMostZeros = 40;
  const bool negative = Peek<kEnd>(at, end) == '-';
  at += negative ? 1 : 0;
  const char* const first = at;
  std::uint64_t digits = 0;
  // Few digits before the point, many behind it: a branch for each is guessed right, and no later one waits for it.
  while (IsDigit(Peek<kEnd>(at, end))) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
  auto written = at - first;
  if (written > kMostDigits) return nullptr;
  auto significant = digits == 0 ? 0 : written;
  int exponent = 0;
  if (Peek<kEnd>(at, end) == '.') {
    const char* const point = ++at;
    if (digits == 0) {
      while (Peek<kEnd>(at, end) == '0') ++at;
    }
    const char* const from = at;
    at = decimal::TakeDigits<kEnd>(at, end, digits);
    written += at - point;
    significant += at - from;
    if (written > kMostZeros) return nullptr;
    exponent = static_cast<int>(point - at);
  }
  if (written == 0 || significant > kMostDigits) return nullptr;
  at = decimal::TakeExponent<kEnd>(at, end, exponent);
  double magnitude = 0;
  if (at == nullptr || !decimal::Scale(digits, exponent, magnitude)) return nullptr;
  value = negative ? -magnitude : magnitude;
  return at;
}

}  // namespace vigil
