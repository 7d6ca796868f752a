// Plots of the HTML page, drawn as SVG here so that they need no script and can be printed.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"

namespace vigil::report {

// Where the curves stand inside every plot, in units of its view box. The script reads the same numbers.
struct ChartFrame {
  double width = 1000;
  double height = 200;
  double left = 66;
  double right = 988;
  double top = 12;
  double bottom = 176;
};
inline constexpr ChartFrame kFrame;

struct Curve {
  const model::Series* series = nullptr;
  std::vector<std::size_t> kept;  // indices into the series: what is drawn, and what the script can show
};

// Curves of one chart are counted on one axis.
struct Chart {
  std::string title;
  model::Axis axis = model::Axis::kStep;
  std::vector<Curve> curves;  // one or two
};

// What is worth drawing of a run: the metrics that people look at first, then those that findings name. Each curve
// has about `most_points` points at most.
std::vector<Chart> ChartsOf(const model::RunReport& run, std::size_t most_points);

// The plot as an <svg> element: curves, non-finite stretches, findings as numbered flags and bands.
std::string DrawSvg(const Chart& chart, const model::RunReport& run);

// `text` from anywhere, for the inside of an element or a quoted attribute.
std::string EscapeHtml(std::string_view text);

}  // namespace vigil::report
