#include "formats/tfevents/tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "codec/codec.h"

namespace vigil::formats::tfevents {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

// Numbers of tensorflow's DataType.
enum class DataType : std::uint32_t {
  kNotStated = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
  kFloat8E5m2 = 24,
  kFloat8E4m3 = 25,
  kInt4 = 29,
  kUint4 = 30,
};

double HalfToDouble(std::uint32_t bits) {
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const double fraction = bits & 0x3ffU;
  double magnitude = 0;
  if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else if (exponent < 31) {
    magnitude = std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  } else {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  }
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

// The upper byte of a half.
double Float8E5m2ToDouble(std::uint32_t bits) { return HalfToDouble((bits & 0xffU) << 8U); }

// Has no infinity: only all ones are no number.
double Float8E4m3ToDouble(std::uint32_t bits) {
  const std::uint32_t exponent = (bits >> 3U) & 0xfU;
  const double fraction = bits & 7U;
  double magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, static_cast<int>(exponent) - 10);
  if ((bits & 0x7fU) == 0x7fU) magnitude = std::nan("");
  return (bits & 0x80U) != 0 ? -magnitude : magnitude;
}

double Bfloat16ToDouble(std::uint32_t bits) { return std::bit_cast<float>(bits << 16U); }

template <class Number>
std::optional<double> FromRaw(std::string_view raw) {
  if (raw.size() != sizeof(Number)) return std::nullopt;
  std::array<char, sizeof(Number)> bytes = {};
  raw.copy(bytes.data(), bytes.size());
  return static_cast<double>(std::bit_cast<Number>(bytes));
}

template <class Bits>
std::optional<double> FromRawBits(std::string_view raw, double (*convert)(std::uint32_t)) {
  const auto bits = FromRaw<Bits>(raw);
  if (!bits) return std::nullopt;
  return convert(static_cast<std::uint32_t>(*bits));
}

// The one element in `tensor_content`, which holds elements as they stand in memory.
std::optional<double> FromContent(DataType type, std::string_view raw) {
  switch (type) {
    case DataType::kNotStated:
      break;
    case DataType::kFloat:
      return FromRaw<float>(raw);
    case DataType::kDouble:
      return FromRaw<double>(raw);
    case DataType::kInt32:
    case DataType::kQint32:
      return FromRaw<std::int32_t>(raw);
    case DataType::kUint8:
    case DataType::kQuint8:
    case DataType::kBool:
    case DataType::kUint4:
      return FromRaw<std::uint8_t>(raw);
    case DataType::kInt16:
    case DataType::kQint16:
      return FromRaw<std::int16_t>(raw);
    case DataType::kInt8:
    case DataType::kQint8:
    case DataType::kInt4:
      return FromRaw<std::int8_t>(raw);
    case DataType::kInt64:
      return FromRaw<std::int64_t>(raw);
    case DataType::kUint16:
    case DataType::kQuint16:
      return FromRaw<std::uint16_t>(raw);
    case DataType::kUint32:
      return FromRaw<std::uint32_t>(raw);
    case DataType::kUint64:
      return FromRaw<std::uint64_t>(raw);
    case DataType::kHalf:
      return FromRawBits<std::uint16_t>(raw, HalfToDouble);
    case DataType::kBfloat16:
      return FromRawBits<std::uint16_t>(raw, Bfloat16ToDouble);
    case DataType::kFloat8E5m2:
      return FromRawBits<std::uint8_t>(raw, Float8E5m2ToDouble);
    case DataType::kFloat8E4m3:
      return FromRawBits<std::uint8_t>(raw, Float8E4m3ToDouble);
  }
  return std::nullopt;
}

// The one element of a field of varints (int_val, int64_val, bool_val, half_val, uint32_val, uint64_val).
std::optional<double> FromInteger(DataType type, std::uint64_t bits) {
  switch (type) {
    case DataType::kHalf:
      return HalfToDouble(static_cast<std::uint32_t>(bits & 0xffffU));
    case DataType::kBfloat16:
      return Bfloat16ToDouble(static_cast<std::uint32_t>(bits & 0xffffU));
    case DataType::kUint32:
    case DataType::kUint64:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(static_cast<std::int64_t>(bits));
  }
}

// Whether an element is a number. Text, complex numbers and handles are none.
bool IsKnown(DataType type) {
  constexpr std::uint32_t kOthers = 1U << 0U | 1U << 7U | 1U << 8U | 1U << 18U | 1U << 20U | 1U << 21U | 1U << 26U |
                                    1U << 27U | 1U << 28U | 1U << 31U;
  const auto number = static_cast<std::uint32_t>(type);
  return number < 32 && (kOthers >> number & 1U) == 0;
}

// Elements in a TensorShapeProto; anything but one is all the same to the caller.
bool HoldsOneElement(std::string_view shape) {
  ProtoFields dims(shape);
  while (dims.Next()) {
    if (dims.key() != FieldKey(2, WireType::kBytes)) continue;
    std::uint64_t size = 0;
    ProtoFields dim(dims.bytes());
    while (dim.Next()) {
      if (dim.key() == FieldKey(1, WireType::kVarint)) size = dim.number();
    }
    if (size != 1) return false;
  }
  return !dims.damaged();
}

// What a TensorProto says, before its type decides how to read it.
struct Elements {
  DataType type = DataType::kNotStated;
  bool single = true;
  std::string_view content;
  std::optional<double> real;            // from float_val or double_val
  std::optional<std::uint64_t> integer;  // from any of the fields of varints
  std::string_view text;
  bool damaged = false;
};

void TakeReals(std::string_view packed, std::size_t width, Elements& into) {
  into.single = into.single && packed.size() == width;
  into.real = width == 4 ? FromRaw<float>(packed.substr(0, 4)) : FromRaw<double>(packed.substr(0, 8));
}

void TakeIntegers(std::string_view packed, Elements& into) {
  std::uint64_t value = 0;
  if (!codec::FirstVarint(packed, value)) return;
  // One varint is as long as its first byte without the continuation bit says.
  std::size_t length = 1;
  while (length < packed.size() && static_cast<unsigned char>(packed[length - 1]) >= 0x80) ++length;
  into.single = into.single && length == packed.size();
  into.integer = value;
}

template <class Value>
void TakeOne(std::optional<Value>& into, Value value, bool& single) {
  single = single && !into;
  into = value;
}

Elements Take(std::string_view tensor) {
  Elements elements;
  ProtoFields fields(tensor);
  while (fields.Next()) {
    const std::uint32_t number = fields.key() >> 3U;
    switch (fields.key()) {
      case FieldKey(1, WireType::kVarint):
        // A number beyond all types stays one: cut to its low bits it would pass for another type.
        elements.type = static_cast<DataType>(std::min<std::uint64_t>(fields.number(), 0xffU));
        break;
      case FieldKey(2, WireType::kBytes):
        elements.single = elements.single && HoldsOneElement(fields.bytes());
        break;
      case FieldKey(4, WireType::kBytes):
        elements.content = fields.bytes();
        break;
      case FieldKey(5, WireType::kBytes):
        TakeReals(fields.bytes(), 4, elements);
        break;
      case FieldKey(6, WireType::kBytes):
        TakeReals(fields.bytes(), 8, elements);
        break;
      case FieldKey(5, WireType::kFixed32):
        TakeOne(elements.real, static_cast<double>(fields.AsFloat()), elements.single);
        break;
      case FieldKey(6, WireType::kFixed64):
        TakeOne(elements.real, fields.AsDouble(), elements.single);
        break;
      case FieldKey(18, WireType::kBytes):  // float8_val
        elements.content = fields.bytes();
        break;
      case FieldKey(8, WireType::kBytes):
        if (elements.text.empty()) elements.text = fields.bytes();
        break;
      default:
        if (number != 7 && number != 10 && number != 11 && number != 13 && number != 16 && number != 17) break;
        if (fields.key() == FieldKey(number, WireType::kBytes)) TakeIntegers(fields.bytes(), elements);
        if (fields.key() == FieldKey(number, WireType::kVarint))
          TakeOne(elements.integer, fields.number(), elements.single);
    }
  }
  elements.damaged = fields.damaged();
  return elements;
}

}  // namespace

std::optional<double> TensorScalar(std::string_view tensor) {
  const Elements elements = Take(tensor);
  if (elements.damaged || !elements.single || !IsKnown(elements.type)) return std::nullopt;
  if (!elements.content.empty()) return FromContent(elements.type, elements.content);
  if (elements.real) return elements.real;
  if (elements.integer) return FromInteger(elements.type, *elements.integer);
  return 0.0;  // elements that are left out are zeros
}

std::string_view TensorText(std::string_view tensor) { return Take(tensor).text; }

}  // namespace vigil::formats::tfevents
