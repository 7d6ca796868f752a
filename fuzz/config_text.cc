// Configurations in YAML and TOML: any bytes are read within bounds.
#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("config-yaml", data, size);
  vigil::fuzz::CheckFormat("config-toml", data, size);
  return 0;
}
