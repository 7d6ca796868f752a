// Jupyter notebooks: any bytes, whole and in pieces, give the same part.
#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("notebook", data, size);
  return 0;
}
