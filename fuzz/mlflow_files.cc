// Files of MLflow's file store: any bytes, whole and in pieces, under each of the names they may have.
#include "pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string run = "mlruns/1/0123456789abcdef0123456789abcdef/";
  for (const vigil::ingest::Format& format : vigil::formats::Formats()) {
    if (format.id != "mlflow-files") continue;
    for (const char* file : {"metrics/train/loss", "params/learning_rate", "meta.yaml", "tags/x"})
      vigil::fuzz::CheckReader(format, run + file, bytes);
  }
  return 0;
}
