// What `vigil diagnose` does beyond the runs themselves: the comparison with a reference run, and the checklist.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "command.h"
#include "model/report.h"

namespace vigil::app {

struct Gate {
  std::string baseline;    // path of the reference run; empty: none
  bool checklist = false;  // filled in for each run
};
void AddGateOptions(CLI::App& command, Gate& gate);

// The reference run, where one is asked for.
Result<std::optional<model::RunReport>> LoadReference(const Gate& gate, const catalogue::Thresholds& thresholds);
// Compares each run with the reference and fills in the checklists. False where a run has nothing that could be
// compared; each such run is named on stderr.
bool PassGate(const Gate& gate, const std::optional<model::RunReport>& reference,
              const catalogue::Thresholds& thresholds, model::Report& report);

}  // namespace vigil::app
