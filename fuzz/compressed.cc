// Compressed bytes: expanded within bounds, the same whatever the pieces.
#include <string>

#include "codec/codec.h"
#include "pieces.h"

namespace {

std::string Expand(std::string_view packed, std::size_t piece) {
  constexpr std::size_t kMost = std::size_t{1} << 22U;
  std::string out;
  std::string room(4096, '\0');
  const auto expander = vigil::codec::Decompressor::ForContent(packed);
  if (expander == nullptr) return out;
  while (out.size() < kMost) {
    const auto step = expander->Continue(packed.substr(0, piece), room.data(), room.size());
    packed.remove_prefix(step.taken);
    out.append(room, 0, step.made);
    if (step.state == vigil::codec::Decompressor::State::kDamaged || (step.made == 0 && packed.empty())) break;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = Expand(bytes, bytes.size() + 1);
  const std::string pieces = Expand(bytes, 3);
  // At damage one call may have given more than the other before it was seen.
  const std::size_t common = std::min(whole.size(), pieces.size());
  vigil::fuzz::Require(whole.compare(0, common, pieces, 0, common) == 0, "the same text whatever the pieces");
  return 0;
}
