// The border to libFuzzer: a target with a structure-aware mutator defines LLVMFuzzerCustomMutator as one call of
// MutateInPlace.
#pragma once

#include <cstring>

#include "structure.h"

// libFuzzer's own mutation of bytes; where there is no libFuzzer, that of replay/replay.cc.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most_bytes);

namespace vigil::fuzz {

inline void MutateByLibFuzzer(std::string& bytes, std::size_t most_bytes) {
  if (most_bytes == 0) return bytes.clear();
  const std::size_t size = std::min(bytes.size(), most_bytes);
  bytes.resize(most_bytes);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, most_bytes));
}

// One input in eight is changed as plain bytes, so that wrong checksums and lengths stay covered.
inline std::size_t MutateInPlace(Mutator mutator, std::uint8_t* data, std::size_t size, std::size_t most_bytes,
                                 unsigned seed) {
  Mutation how{Chance(seed), most_bytes, MutateByLibFuzzer};
  if (how.chance.OneIn(8)) return LLVMFuzzerMutate(data, size, most_bytes);
  const std::string mutated = mutator({reinterpret_cast<const char*>(data), size}, how);
  if (mutated.empty()) return LLVMFuzzerMutate(data, size, most_bytes);  // libFuzzer wants a byte at the least
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}

}  // namespace vigil::fuzz
