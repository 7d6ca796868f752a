// Configuration files in every notation: any bytes are parsed within bounds, every place lies in the text, and an edit
// changes the one setting or is refused.
#include "configfile/configfile.h"

#include <cstdlib>
#include <string>

namespace {

using vigil::configfile::Entry;
using vigil::configfile::File;
using vigil::configfile::Notation;

void Demand(bool holds) {
  if (!holds) std::abort();
}

void CheckEdits(const File& file) {
  const auto added = SetValue(file, "vigil_added", vigil::configfile::NewValue::Number(1e-05));
  if (added) Demand(Parse(file.path, *added, file.notation).Find("vigil_added") != nullptr);
  std::size_t tried = 0;
  for (const Entry& entry : file.entries) {
    if (++tried > 4) return;
    const auto changed = SetValue(file, entry.path, vigil::configfile::NewValue::Text("vigil"));
    if (!changed) continue;
    const File after = Parse(file.path, *changed, file.notation);
    Demand(after.Find(entry.path) != nullptr && after.Find(entry.path)->text == "vigil");
    if (const auto removed = RemoveValue(file, entry.path))
      Demand(Parse(file.path, *removed, file.notation).Find(entry.path) == nullptr);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const Notation notation :
       {Notation::kYaml, Notation::kJson, Notation::kToml, Notation::kCommand, Notation::kPickle}) {
    const File file = vigil::configfile::Parse("input", text, notation);
    Demand(file.entries.size() <= vigil::configfile::kMostEntries);
    for (const Entry& entry : file.entries) Demand(entry.begin <= entry.end && entry.end <= text.size());
    if (size < 4096) CheckEdits(file);
  }
  return 0;
}
