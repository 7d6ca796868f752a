// Where a run blew up: the place at which the loss was lost, and the course before it.
#pragma once

#include "diagnose/curve.h"
#include "diagnose/incident.h"
#include "model/position.h"

namespace vigil::diagnose {

struct BlowUp {
  Stretch loss;  // the segment of the incident
  Stretch grad;
  model::Position lost_at;  // first non-finite point, else where the loss passed half of its rise
  bool non_finite = false;

  bool known() const { return lost_at.known(); }
};

BlowUp FindBlowUp(const RunView& run, const Incident& incident);

// How far the last points before a place stand above what was usual before them.
struct Rise {
  bool known = false;
  double usual = 0;          // level of the earlier points
  double last = 0;           // the last point before the place
  std::size_t elevated = 0;  // points in a row, up to the place, clearly above the usual level
  std::size_t points = 0;    // finite points before the place
  model::Position since;     // the first of the elevated points
};
Rise RiseBefore(const Stretch& stretch, model::Position at);

}  // namespace vigil::diagnose
