// diagnose/checklist: the checklist of the catalogue filled in for one run. An item is done only where the files of the
// run show it; each answer says what of the run shows it, or why nothing can. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "model/checklist.h"
#include "model/report.h"

namespace vigil::diagnose {

// Every item of the catalogue in its order.
std::vector<model::CheckedItem> FillChecklist(const model::RunReport& report);

// The names of the code that rows may refer to (checklist.toml `test`).
std::vector<std::string_view> ChecklistTestNames();

}  // namespace vigil::diagnose
