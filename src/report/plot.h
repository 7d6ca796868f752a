// Small plots in characters: one series over its axis, findings marked on the axis, no extreme lost by thinning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/run.h"
#include "report/screen.h"
#include "report/span.h"

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

// Where a count stands between the ends of the axis, 0..1; one half when the axis is a single position.
double ShareOf(const Span& axis, std::int64_t count);

struct PlotMark {
  std::int64_t count = 0;  // on the axis of the plot
  std::string label;
  Ink ink = Ink::kRed;
};

struct PlotRequest {
  const model::Series* series = nullptr;
  std::string title;
  Span axis;
  std::size_t rows = 5;
  std::vector<PlotMark> marks;
};

// Each column keeps the smallest and largest value of its positions, so that a spike of one point is seen among
// millions; a column with NaN or infinities carries a cross. One pass over the points.
void DrawPlot(Screen& screen, const PlotRequest& request);

}  // namespace vigil::report
