// What a run's numbers are counted in. Findings and causes speak of steps; where a source names none, its values stand
// at epochs or are merely numbered, and to call that a step would be untrue.
#pragma once

#include <string>
#include <string_view>

#include "model/model.h"

namespace vigil::report {

// "step"; "epoch" or "logged point" when every series of the run is counted so.
std::string_view CountWord(const model::Run& run);
// The text with "step 5", "steps 5-9" and "5 steps" said in that word.
std::string CountedAs(std::string_view text, std::string_view word);

}  // namespace vigil::report
