// Lines that a guard of the training prints into the log, where there is no journal to hold its decisions.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/run.h"

namespace vigil::textlog {

// The signature by which such lines are known.
inline constexpr std::string_view kGuardSignature = "log/guard";

struct GuardLine {
  std::string_view decision;  // name of the event that a journal would hold; empty when the line says none
  std::int64_t step = model::kNoStep;
};
// "guard: step 5: the loss is nan; left out".
GuardLine ReadGuardLine(std::string_view text);

}  // namespace vigil::textlog
