#include "codec/codec.h"

namespace vigil::codec {
namespace {

// Ten bytes hold 64 bits; what stands above bit 63 in the tenth is dropped, as every decoder does.
const char* DecodeVarint(const char* at, const char* end, std::uint64_t& value) {
  std::uint64_t bits = 0;
  for (unsigned shift = 0; shift < 70 && at != end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    if (shift < 64) bits |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) {
      value = bits;
      return at;
    }
  }
  return nullptr;
}

}  // namespace

bool ProtoFields::TakeLongVarint(std::uint64_t& value) {
  const char* after = DecodeVarint(at_, end_, value);
  if (after == nullptr) return false;
  at_ = after;
  return true;
}

bool FirstVarint(std::string_view packed, std::uint64_t& value) {
  return DecodeVarint(packed.data(), packed.data() + packed.size(), value) != nullptr;
}

}  // namespace vigil::codec
