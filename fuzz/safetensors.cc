// Checkpoints of the gym: any bytes are read or refused, and no tensor lies outside the file.
#include "gym/safetensors.h"

#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = vigil::gym::ReadSafetensors(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!file) return 0;
  for (const auto& [name, bytes] : file->tensors) {
    const char* const from = file->content.data();
    if (bytes.data() < from || bytes.data() + bytes.size() > from + file->content.size()) std::abort();
  }
  return 0;
}
