#include "ingest/format.h"

#include <algorithm>

namespace vigil::ingest {

const Format* Recognise(FormatTable formats, const Probe& probe) {
  const Format* best = nullptr;
  int best_sureness = 0;
  for (const Format& format : formats) {
    const int sureness = format.recognise(probe);
    if (sureness <= best_sureness) continue;
    best_sureness = sureness;
    best = &format;
  }
  return best;
}

FormatTraits TraitsOf(FormatTable formats, std::string_view id) {
  for (const Format& format : formats) {
    const auto& variants = format.traits.variants;
    if (format.id == id || std::find(variants.begin(), variants.end(), id) != variants.end()) return format.traits;
  }
  return {};
}

}  // namespace vigil::ingest
