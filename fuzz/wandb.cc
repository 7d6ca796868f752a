// W&B transaction logs: any bytes, whole and in pieces, give the same series.
#include "import/wandb/wandb.h"

#include <cstdlib>

namespace {

std::size_t Points(const vigil::Result<vigil::model::Run>& part) {
  std::size_t points = 0;
  if (part) {
    for (const auto& series : part->series) points += series.size();
  }
  return points;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vigil::import;
  const Format format = {"wandb", "W&B transaction log", RecogniseWandb, OpenWandb};
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t whole = Points(ReadBytes("fuzz.wandb", bytes, format));
  if (Points(ReadBytes("fuzz.wandb", bytes, format, 13)) != whole) std::abort();
  return 0;
}
