// Event files. No fuzzer guesses a checksum: with an odd first byte the rest is cut into payloads (a length byte before
// each) and framed soundly, so that what is inside the frames is reached; with an even one it is taken as it stands.
#include "formats/tfevents/tfevents.h"

#include "codec/codec.h"
#include "pieces.h"

namespace {

void AppendRaw(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
}

std::string Framed(std::string_view chunks) {
  using vigil::codec::Crc32c;
  using vigil::codec::MaskCrc;
  std::string out;
  while (!chunks.empty()) {
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(chunks[0]), chunks.size() - 1);
    const std::string_view payload = chunks.substr(1, length);
    chunks.remove_prefix(1 + length);
    std::string header;
    AppendRaw(header, payload.size(), 8);
    out += header;
    AppendRaw(out, MaskCrc(Crc32c(header)), 4);
    out += payload;
    AppendRaw(out, MaskCrc(Crc32c(payload)), 4);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vigil::formats;
  constexpr vigil::ingest::Format kFormat = {"tfevents", "TensorBoard event file", RecogniseTfevents, OpenTfevents};
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  vigil::fuzz::CheckReader(kFormat, "events.out.tfevents.1", data[0] % 2 == 1 ? Framed(rest) : std::string(rest));
  return 0;
}
