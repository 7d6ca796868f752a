// Journals. No fuzzer guesses a checksum: with an odd first byte the rest is cut into payloads (two length bytes before
// each) and framed soundly, so that what is inside the blocks is reached; with an even one it is taken as it stands.
// With 3, 7, 11, ... each payload is repeated and packed, as in a file that is small and unfolds to much.
#include "journal/journal.h"

#include <zstd.h>

#include "codec/codec.h"
#include "pieces.h"

namespace {

void AppendRaw(std::string& out, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
}

std::string Packed(std::string_view payload) {
  constexpr std::size_t kRepeatedTo = std::size_t{256} << 10U;
  std::string raw(payload);
  while (!payload.empty() && raw.size() + payload.size() <= kRepeatedTo) raw += payload;
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 1));
  return packed;
}

std::string Framed(std::string_view chunks, bool packed) {
  using vigil::codec::Crc32c;
  std::string out = vigil::journal::FileHeader();
  for (std::uint32_t number = 0; chunks.size() >= 2; ++number) {
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(chunks[at])); };
    const std::size_t wanted = byte(0) | byte(1) << 8U;
    const std::string_view chunk = chunks.substr(2, wanted);
    chunks.remove_prefix(2 + chunk.size());
    const std::string payload = packed ? Packed(chunk) : std::string(chunk);
    std::string fields("\1\0\0\0", 4);
    if (packed) fields[1] = '\1';
    AppendRaw(fields, static_cast<std::uint32_t>(payload.size()));
    AppendRaw(fields, Crc32c(payload));
    AppendRaw(fields, number);
    out += "\xf6vj\n";
    AppendRaw(out, Crc32c(fields));
    out += fields;
    out += payload;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = data[0] % 2 == 1 ? Framed(rest, data[0] % 4 == 3) : std::string(rest);
  vigil::fuzz::CheckFormat("journal", reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return 0;
}
