// Tables of metrics: any text. The first byte chooses among file names that have a meaning.
#include "formats/csv/csv.h"

#include <array>

#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vigil::formats;
  constexpr vigil::ingest::Format kFormat = {"csv", "table of metrics", RecogniseCsv, OpenCsv};
  constexpr std::array<const char*, 4> kPaths = {"metrics.csv", "train_loss.csv", "run-a-tag-loss.csv",
                                                 "Train_Samples_lr.csv"};
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  vigil::fuzz::CheckReader(kFormat, kPaths[data[0] % kPaths.size()], text);
  return 0;
}
