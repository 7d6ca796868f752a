// Metrics and settings in JSON documents: any bytes, whole and in pieces, give the same part.
#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("metric-json", data, size);
  vigil::fuzz::CheckFormat("config-json", data, size);
  return 0;
}
