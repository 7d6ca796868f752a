// Event files: any bytes, whole and in pieces, give the same series.
#include "formats/tfevents/tfevents.h"

#include "pieces.h"
#include "structure/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vigil::formats;
  constexpr vigil::ingest::Format kFormat = {"tfevents", "TensorBoard event file", RecogniseTfevents, OpenTfevents};
  vigil::fuzz::CheckReader(kFormat, "events.out.tfevents.1", {reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most_bytes,
                                               unsigned seed) {
  return vigil::fuzz::MutateInPlace(vigil::fuzz::MutateTfevents, data, size, most_bytes, seed);
}
