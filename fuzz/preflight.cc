// Configuration files of any bytes: each is checked as a training's file, and beside another, within bounds.
#include "preflight/preflight.h"

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using vigil::configfile::Notation;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const vigil::configfile::File training = vigil::configfile::Parse(
      "train.yaml", "base_model: m\nmicro_batch_size: 2\nlearning_rate: 1.0e-4\ndeepspeed: ds.json\n", Notation::kYaml);
  for (const Notation notation :
       {Notation::kYaml, Notation::kJson, Notation::kToml, Notation::kCommand, Notation::kPickle}) {
    const vigil::configfile::File file = vigil::configfile::Parse("input", text, notation);
    const vigil::preflight::Options options{.ranks = 8, .device_bytes = 80e9};
    static_cast<void>(vigil::preflight::Check(
        {.training = &file, .beside = {}, .ran = nullptr, .missing = vigil::preflight::ReferencesOf(file)}, {},
        options));
    static_cast<void>(
        vigil::preflight::Check({.training = &training, .beside = {&file}, .ran = &file, .missing = {}}, {}, options));
  }
  return 0;
}
