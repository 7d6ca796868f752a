// Databases of trackers: any bytes are read within bounds, also with a write-ahead log laid over them: that begins
// where its magic number stands at a multiple of 512.
#include "formats/sqlite/database.h"
#include "pieces.h"
#include "structure/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t log_at = vigil::fuzz::FindLog(bytes);
  vigil::fuzz::CheckFormat("sqlite", data, log_at);
  if (log_at == size) return 0;
  std::string image(bytes.substr(0, log_at));
  if (vigil::formats::sqlite::ApplyLog(image, bytes.substr(log_at)) == 0) return 0;
  vigil::fuzz::CheckFormat("sqlite", reinterpret_cast<const std::uint8_t*>(image.data()), image.size());
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most_bytes,
                                               unsigned seed) {
  return vigil::fuzz::MutateInPlace(vigil::fuzz::MutateSqlite, data, size, most_bytes, seed);
}
