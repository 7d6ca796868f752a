// Places in a run and how far apart they are. Settings count steps or epochs, series are counted on any axis: nothing
// here compares two axes without the run's own map between them.
#pragma once

#include <optional>

#include "diagnose/view.h"
#include "model/position.h"

namespace vigil::diagnose {

// The later and the earlier of two places. An unknown place gives way to a known one; of two that nothing relates the
// first is kept.
model::Position Later(const model::AxisMap& axes, model::Position a, model::Position b);
model::Position Earlier(const model::AxisMap& axes, model::Position a, model::Position b);

// The last place that any series of that axis reached; unknown when none is counted on it.
model::Position LastSeen(const RunView& run, model::Axis axis);

// Where a run is to end.
struct RunEnd {
  model::Position at;    // unknown when neither a plan nor a series says it
  bool planned = false;  // stated by the run, not only the end of what was logged

  double length() const { return at.known() ? static_cast<double>(at.value()) : 0; }
};
// On that axis: the planned steps (or epochs) where the run states them and they can be expressed there, else the end
// of what was logged on that axis.
RunEnd EndOf(const RunView& run, model::Axis axis);

// So many optimizer steps on another axis. Rows are taken for steps, because nothing better is known of them; nullopt
// where no map leads to the axis.
std::optional<double> StepsOn(const model::AxisMap& axes, model::Axis axis, double steps);
// How many optimizer steps were made by a place, in the same way.
std::optional<double> StepsUntil(const model::AxisMap& axes, model::Position at);

// By how much two things may miss each other and still belong together: a few logged points, or a hundredth of the run.
model::Extent SlackOn(const RunView& run, model::Axis axis);

}  // namespace vigil::diagnose
