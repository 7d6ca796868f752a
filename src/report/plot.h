// Small plots in characters: one series over steps, findings marked on the axis, nothing lost by thinning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"
#include "report/screen.h"
#include "report/words.h"

namespace vigil::report {

// How values become heights. Logarithmic where every finite value is positive or zero and they span decades,
// except for learning rates.
struct Scale {
  double low = 0;   // smallest finite value (smallest positive one on a logarithmic scale)
  double high = 0;  // largest finite value
  bool logarithmic = false;
  bool any = false;  // whether there is a finite value at all

  // 0 at `low`, 1 at `high`; one half when both are equal. `value` is finite.
  double Height(double value) const;
};
Scale ScaleOf(const model::Series& series);
// The scale over both, for curves that share a plot.
Scale ScaleOf(const std::vector<const model::Series*>& curves);

// Where a step stands between the ends of the axis, 0..1; one half when the axis is a single step.
double StepShare(const StepSpan& axis, std::int64_t step);

struct PlotMark {
  std::int64_t step = 0;
  std::string label;
  Ink ink = Ink::kRed;
};

struct PlotRequest {
  const model::Series* series = nullptr;
  std::string title;
  StepSpan axis;
  std::size_t rows = 5;
  std::vector<PlotMark> marks;
};

// Each column keeps the smallest and largest value of its steps, so that a spike of one point is seen among millions;
// a column with NaN or infinities carries a cross. One pass over the points.
void DrawPlot(Screen& screen, const PlotRequest& request);

}  // namespace vigil::report
