// One metric of two runs: its levels over the positions that both have, and whether they are apart by more than noise.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "model/baseline.h"
#include "model/run.h"

namespace vigil::diagnose {

// What of a metric is compared, and by which limits.
enum class Measured : std::uint8_t {
  kCourse,   // a curve that is to go one way: its end and its best
  kPace,     // the same all the time: its median
  kCeiling,  // its highest
};

struct CompareLimits {
  double z = 0;
  double margin = 0;       // as a share of the reference
  double of_progress = 0;  // as a share of what the reference gained
  double stretch = 0;      // share of the common positions that the end is
  bool is_evaluation = false;
};

// The metric of two runs; either series may be null.
struct MetricPair {
  const model::Run& run;
  const model::Run& reference;
  const model::Series* series = nullptr;
  const model::Series* other = nullptr;
  catalogue::Better better = catalogue::Better::kNeither;
  bool is_lost = false;            // the run's ends without a finite value, also where a logger hides that
  bool is_reference_lost = false;  // the same of the reference
};

// One or two numbers (the end and the best of a course); a reason in place of them where it cannot be compared.
std::vector<model::ComparedMetric> CompareMetric(const MetricPair& pair, Measured measured,
                                                 const CompareLimits& limits);

}  // namespace vigil::diagnose
