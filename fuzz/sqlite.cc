// Databases of trackers: any bytes are read within bounds. The last byte says where a write-ahead log begins.
#include "formats/sqlite/database.h"
#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("sqlite", data, size);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size < 2) return 0;
  const std::size_t at = std::min<std::size_t>(size, 512U * (data[size - 1] & 15U));
  std::string image(bytes.substr(0, at));
  vigil::formats::sqlite::ApplyLog(image, bytes.substr(at));
  return 0;
}
