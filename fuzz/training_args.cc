// Pickled settings, bare and in torch's archive: any bytes are read within bounds, and nothing is executed.
#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("training-args", data, size);
  return 0;
}
