// W&B transaction logs: any bytes, whole and in pieces, give the same series.
#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("wandb", data, size);
  return 0;
}
