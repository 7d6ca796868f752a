// Archives: every member within bounds, the same whatever the pieces; UTF-16 to UTF-8 the same way.
#include <algorithm>
#include <string>

#include "ingest/tar/tar.h"
#include "ingest/utf16.h"
#include "pieces.h"

namespace {

std::string Members(std::string_view bytes, std::size_t head, std::size_t piece) {
  std::string out;
  const std::string_view begin = bytes.substr(0, head);
  bytes.remove_prefix(begin.size());
  const auto source = [&](char* into, std::size_t capacity) {
    const std::size_t size = std::min({piece, capacity, bytes.size()});
    bytes.copy(into, size);
    bytes.remove_prefix(size);
    return size;
  };
  vigil::ingest::tar::Walk(source, begin, [&](const vigil::ingest::tar::Member& member) {
    out += member.name;
    out += '\n';
    out += member.bytes;
  });
  return out;
}

std::string Decoded(std::string_view bytes, std::size_t piece) {
  std::string out;
  auto stream = vigil::ingest::Utf16Stream::ForContent(bytes, false);
  if (!stream) return out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    stream->Decode(bytes.substr(0, piece), false, out);
  stream->Decode({}, true, out);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  vigil::fuzz::Require(Members(bytes, size, 1) == Members(bytes, 7, 100), "the same members whatever the pieces");
  vigil::fuzz::Require(Decoded(bytes, size + 1) == Decoded(bytes, 3), "the same text whatever the pieces");
  return 0;
}
