// Pickled settings, bare and in torch's archive: any bytes are read within bounds, and nothing is executed.
#include "pieces.h"
#include "structure/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("training-args", data, size);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most_bytes,
                                               unsigned seed) {
  return vigil::fuzz::MutateInPlace(vigil::fuzz::MutatePickle, data, size, most_bytes, seed);
}
