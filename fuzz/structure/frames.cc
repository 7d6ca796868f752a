#include "frames.h"

namespace vigil::fuzz {

// splitmix64: any seed will do, also 0 and 1, which libFuzzer gives often.
std::uint64_t Chance::Next() {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

std::uint64_t Chance::OddNumber() {
  const std::uint64_t near = Below(5);
  switch (Below(4)) {
    case 0:
      return near;
    case 1:
      return (std::uint64_t{1} << Below(64)) + near - 2;
    case 2:
      return ~near;
    default:
      return Next() >> Below(64);
  }
}

void MutateContent(std::string& bytes, Mutation& how) {
  const std::size_t room = how.most_bytes;
  if (!bytes.empty() && bytes.size() < kLargeBytes && room > kLargeBytes && how.chance.OneIn(100)) {
    const std::string unit = bytes;
    while (bytes.size() < kLargeBytes) bytes += unit;
    return;
  }
  how.mutate(bytes, std::min(room, bytes.size() + 64));
}

void PutLittle(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (; bytes > 0; --bytes, value >>= 8U) out += static_cast<char>(value & 0xffU);
}

void PutBig(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) out += static_cast<char>((value >> (8 * i)) & 0xffU);
}

std::uint64_t LittleAt(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint64_t BigAt(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

bool TakeVarint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte >= 0x80) continue;
    bytes.remove_prefix(i + 1);
    return true;
  }
  return false;
}

void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
}

}  // namespace vigil::fuzz
