// The tables of the gym at scale as Markdown.
#pragma once

#include <string>
#include <vector>

#include "scale/hold_out.h"
#include "scale/judged.h"

namespace vigil::accuracy {

// One way to divide the set, with a row for each part that was held out; none where the set has one part only.
struct HeldOutBy {
  std::string what;
  std::vector<scale::HeldOut> rows;
};
// A row for each way, beside the targets; then a table for each of them. `weights` says what was fitted without the
// part, and what was not.
std::string HeldOutTables(const std::vector<HeldOutBy>& ways, const std::string& weights);

// Headline, false errors by finding, by fault, task, family, optimizer and kind of healthy run; recall by strength and
// by what was lost; delay, lead, confidence against truth, and the published rules on the same runs.
std::string ScaleTables(const std::vector<scale::Judged>& judged);

// Stated confidence against the share that was right: ten bins as a table and as a diagram, then by cause.
std::string CalibrationTables(const std::vector<scale::Judged>& judged);
// The ten bins alone, with how far stated and right are apart.
std::string CalibrationTable(const scale::Calibration& calibration);
// Ten columns of the share that was right, with the stated confidence marked; bins with too few cases are blank.
std::string CalibrationDiagram(const scale::Calibration& calibration);

}  // namespace vigil::accuracy
