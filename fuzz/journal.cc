// Journals: any bytes, whole and in pieces, give the same.
#include "pieces.h"
#include "structure/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vigil::fuzz::CheckFormat("journal", data, size);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most_bytes,
                                               unsigned seed) {
  return vigil::fuzz::MutateInPlace(vigil::fuzz::MutateJournal, data, size, most_bytes, seed);
}
