#include "ingest/format.h"

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

}  // namespace vigil::ingest
