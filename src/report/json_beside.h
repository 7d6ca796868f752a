// JSON of what a report has on request: the run beside its reference, and the checklist.
#pragma once

#include "model/baseline.h"
#include "model/checklist.h"
#include "report/json.h"

namespace vigil::report {

// The key "baseline"; `baseline` may be null, and its value is then.
void WriteBaseline(JsonWriter& json, const model::Baseline* baseline);
// The members of one item.
void WriteCheckedItem(JsonWriter& json, const model::CheckedItem& item);

}  // namespace vigil::report
