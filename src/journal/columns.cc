#include "journal/columns.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace vigil::journal {
namespace {

enum class Shape : std::uint8_t { kListed = 0, kRegular = 1, kSame = 2 };
enum class Values : std::uint8_t {
  kConstant = 0,
  kWhole = 1,
  kFloatsXor = 2,
  kDoublesXor = 3,
  kFloats = 4,
  kDoubles = 5
};

// Differences of hostile numbers wrap around; they are only ever added up again.
std::int64_t Difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// ---- steps and times

Shape ShapeOf(std::span<const std::int64_t> numbers, const std::vector<std::int64_t>* before) {
  if (before != nullptr && std::equal(numbers.begin(), numbers.end(), before->begin(), before->end()))
    return Shape::kSame;
  for (std::size_t i = 2; i < numbers.size(); ++i) {
    if (Difference(numbers[i], numbers[i - 1]) != Difference(numbers[1], numbers[0])) return Shape::kListed;
  }
  return Shape::kRegular;
}

void PutNumbers(std::span<const std::int64_t> numbers, Shape shape, std::string& out) {
  if (shape == Shape::kSame) return;
  PutZigzag(out, numbers[0]);
  if (numbers.size() == 1) return;
  std::int64_t difference = Difference(numbers[1], numbers[0]);
  PutZigzag(out, difference);
  if (shape == Shape::kRegular) return;
  for (std::size_t i = 2; i < numbers.size(); ++i) {
    const std::int64_t next = Difference(numbers[i], numbers[i - 1]);
    PutZigzag(out, Difference(next, difference));
    difference = next;
  }
}

bool GetNumbers(Input& input, Shape shape, std::size_t count, std::vector<std::int64_t>& numbers) {
  if (shape == Shape::kSame) return numbers.size() == count;
  if (shape != Shape::kListed && shape != Shape::kRegular) return false;
  // A listed number has a byte at least: nothing is made that the bytes do not hold.
  if (shape == Shape::kListed && count > input.left()) return false;
  numbers.resize(count);
  numbers[0] = input.Zigzag();
  std::int64_t difference = count > 1 ? input.Zigzag() : 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (i > 1 && shape == Shape::kListed) difference = Sum(difference, input.Zigzag());
    numbers[i] = Sum(numbers[i - 1], difference);
  }
  return input.ok();
}

// ---- values

std::uint64_t BitsOf(double value) { return std::bit_cast<std::uint64_t>(value); }

bool IsWhole(double value) {
  constexpr double kMost = 9007199254740992.0;  // 2^53
  return std::abs(value) <= kMost && value == std::trunc(value) && BitsOf(value) != BitsOf(-0.0);
}

// Comparisons of bits, since NaNs are to come back as they were.
bool IsFloat(double value) {
  if (std::isnan(value)) return false;
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::isfinite(value) && std::abs(value) > kMost) return false;
  return BitsOf(static_cast<double>(static_cast<float>(value))) == BitsOf(value);
}

template <class Bits>
Bits PatternOf(double value) {
  if constexpr (sizeof(Bits) == sizeof(double)) return BitsOf(value);
  if constexpr (sizeof(Bits) == sizeof(float)) return std::bit_cast<Bits>(static_cast<float>(value));
}

template <class Bits>
double ValueOf(Bits pattern) {
  if constexpr (sizeof(Bits) == sizeof(double)) return std::bit_cast<double>(pattern);
  if constexpr (sizeof(Bits) == sizeof(float)) return static_cast<double>(std::bit_cast<float>(pattern));
}

// Exclusive-or pays when neighbours share sign, exponent and the first bits of the fraction, as smooth curves do; on
// noise it only stirs the fraction.
template <class Bits>
bool NeighboursAgree(std::span<const double> values) {
  constexpr int kBitsOfTwoBytes = 16;
  std::size_t agreeing = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const Bits both = PatternOf<Bits>(values[i]) ^ PatternOf<Bits>(values[i - 1]);
    agreeing += std::countl_zero(both) >= kBitsOfTwoBytes ? 1 : 0;
  }
  return agreeing * 2 > values.size();
}

template <class Bits>
void PutPlanes(std::span<const double> values, bool exclusive, std::string& out) {
  const std::size_t start = out.size();
  out.resize(start + values.size() * sizeof(Bits));
  Bits before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Bits pattern = PatternOf<Bits>(values[i]);
    const Bits stored = exclusive ? static_cast<Bits>(pattern ^ before) : pattern;
    before = pattern;
    for (std::size_t plane = 0; plane < sizeof(Bits); ++plane)
      out[start + plane * values.size() + i] = static_cast<char>(stored >> (8 * (sizeof(Bits) - 1 - plane)));
  }
}

template <class Bits>
bool GetPlanes(Input& input, bool exclusive, std::vector<double>& values) {
  const std::size_t count = values.size();
  const std::string_view planes = input.Bytes(count * sizeof(Bits));
  if (!input.ok()) return false;
  Bits before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits pattern = 0;
    for (std::size_t plane = 0; plane < sizeof(Bits); ++plane)
      pattern = static_cast<Bits>(pattern << 8U | static_cast<unsigned char>(planes[plane * count + i]));
    if (exclusive) pattern ^= before;
    before = pattern;
    values[i] = ValueOf<Bits>(pattern);
  }
  return true;
}

Values KindOf(std::span<const double> values) {
  bool constant = true;
  bool whole = true;
  bool floats = true;
  for (const double value : values) {
    constant = constant && BitsOf(value) == BitsOf(values[0]);
    whole = whole && IsWhole(value);
    floats = floats && IsFloat(value);
  }
  if (constant && (values.size() > 1 || (!whole && !floats))) return Values::kConstant;
  if (whole) return Values::kWhole;
  if (floats) return NeighboursAgree<std::uint32_t>(values) ? Values::kFloatsXor : Values::kFloats;
  return NeighboursAgree<std::uint64_t>(values) ? Values::kDoublesXor : Values::kDoubles;
}

void PutWhole(std::span<const double> values, std::string& out) {
  std::int64_t before = 0;
  for (const double value : values) {
    const auto number = static_cast<std::int64_t>(value);
    PutZigzag(out, Difference(number, before));
    before = number;
  }
}

void PutValues(std::span<const double> values, Values kind, std::string& out) {
  switch (kind) {
    case Values::kConstant:
      return PutRaw(out, BitsOf(values[0]));
    case Values::kWhole:
      return PutWhole(values, out);
    case Values::kFloatsXor:
    case Values::kFloats:
      return PutPlanes<std::uint32_t>(values, kind == Values::kFloatsXor, out);
    case Values::kDoublesXor:
    case Values::kDoubles:
      return PutPlanes<std::uint64_t>(values, kind == Values::kDoublesXor, out);
  }
}

bool GetWhole(Input& input, std::vector<double>& values) {
  std::int64_t number = 0;
  for (double& value : values) {
    number = Sum(number, input.Zigzag());
    value = static_cast<double>(number);
  }
  return input.ok();
}

bool GetValues(Input& input, Values kind, std::vector<double>& values) {
  switch (kind) {
    case Values::kConstant: {
      const double value = std::bit_cast<double>(input.Raw<std::uint64_t>());
      std::fill(values.begin(), values.end(), value);
      return input.ok();
    }
    case Values::kWhole:
      return GetWhole(input, values);
    case Values::kFloatsXor:
    case Values::kFloats:
      return GetPlanes<std::uint32_t>(input, kind == Values::kFloatsXor, values);
    case Values::kDoublesXor:
    case Values::kDoubles:
      return GetPlanes<std::uint64_t>(input, kind == Values::kDoublesXor, values);
  }
  return false;
}

}  // namespace

void EncodeColumn(const Column& column, const Column* before, std::string& out) {
  const Shape steps = ShapeOf(column.steps, before == nullptr ? nullptr : &before->steps);
  const Shape times = ShapeOf(column.times_ms, before == nullptr ? nullptr : &before->times_ms);
  const Values values = KindOf(column.values);
  PutVarint(out, column.series);
  PutVarint(out, column.values.size());
  out += static_cast<char>(static_cast<unsigned>(steps) | static_cast<unsigned>(times) << 2U |
                           static_cast<unsigned>(values) << 4U);
  PutNumbers(column.steps, steps, out);
  PutNumbers(column.times_ms, times, out);
  PutValues(column.values, values, out);
}

bool DecodeColumn(Input& input, std::uint64_t most, Column& column) {
  const std::uint64_t series = input.Varint();
  const std::uint64_t count = input.Varint();
  const auto shape = input.Raw<std::uint8_t>();
  if (!input.ok() || series > std::numeric_limits<std::uint32_t>::max() || count == 0 || count > most) return false;
  column.series = static_cast<std::uint32_t>(series);
  const auto size = static_cast<std::size_t>(count);
  if (!GetNumbers(input, static_cast<Shape>(shape & 3U), size, column.steps)) return false;
  if (!GetNumbers(input, static_cast<Shape>(shape >> 2U & 3U), size, column.times_ms)) return false;
  column.values.resize(size);
  return GetValues(input, static_cast<Values>(shape >> 4U & 7U), column.values);
}

}  // namespace vigil::journal
