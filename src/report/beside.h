// What a report has on request, as text: the run beside its reference, and the checklist.
#pragma once

#include <string>
#include <vector>

#include "model/baseline.h"
#include "model/checklist.h"
#include "report/screen.h"

namespace vigil::report {

// "worse than NAME: loss +12%", "no worse than NAME in loss, eval_loss"; for the lines of a verdict.
std::string BaselineLine(const model::Baseline& baseline);
// A table of all metrics, the settings that differ, and what limits the comparison.
void DrawBaseline(Screen& screen, const model::Baseline& baseline);

// The same as a card of the page.
std::string BaselineHtml(const model::Baseline& baseline);

// How many items are done, and each with its reason.
void DrawChecklist(Screen& screen, const std::vector<model::CheckedItem>& items);
// The same as a card of the page.
std::string ChecklistHtml(const std::vector<model::CheckedItem>& items);

}  // namespace vigil::report
