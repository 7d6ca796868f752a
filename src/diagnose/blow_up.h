// Where a run blew up: the step at which the loss was lost, and the course before it.
#pragma once

#include "diagnose/curve.h"
#include "diagnose/incident.h"
#include "model/model.h"

namespace vigil::diagnose {

struct BlowUp {
  Stretch loss;  // the segment of the incident
  Stretch grad;
  std::int64_t lost_at = model::kNoStep;  // first non-finite step, else where the loss passed half of its rise
  bool non_finite = false;

  bool known() const { return lost_at != model::kNoStep; }
};

BlowUp FindBlowUp(const model::Run& run, const Incident& incident);

// How far the last points before `step` stand above what was usual before them.
struct Rise {
  bool known = false;
  double usual = 0;          // level of the earlier points
  double last = 0;           // the last point before the step
  std::size_t elevated = 0;  // points in a row, up to the step, clearly above the usual level
  std::size_t points = 0;    // finite points before the step
  std::int64_t since = model::kNoStep;
};
Rise RiseBefore(const Stretch& stretch, std::int64_t step);

}  // namespace vigil::diagnose
