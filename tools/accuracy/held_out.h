// Leave one out: the model is fitted without a part of the runs and judges that part.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accuracy/judge.h"
#include "fit/lessons.h"
#include "scale/hold_out.h"

namespace vigil::accuracy {

// Fits on the records at the given places and on all labelled runs. `lessons` must hold the records in their order.
scale::Fitter FitWithout(std::shared_ptr<const fit::Lessons> lessons);

// The runs of a list, below the folder of its file.
struct ListedRuns {
  std::string folder;
  std::vector<Case> cases;
};
// Judges the runs of each framework with a model that was fitted to no run of it, nor of a few others.
std::vector<Outcome> JudgeEachFrameworkHeldOut(const fit::Lessons& lessons, const std::vector<ListedRuns>& lists);

}  // namespace vigil::accuracy
