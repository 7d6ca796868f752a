#include "textlog/guard_line.h"

#include <array>

#include "base/base.h"

namespace vigil::textlog {
namespace {

struct Ending {
  std::string_view text;
  std::string_view decision;
};
// As Guard writes them. A step that ended a row of skipped ones says both, and what was done last counts.
constexpr std::array<Ending, 4> kEndings = {{{"; left out", model::kGuardSkipped},
                                             {"; back to", model::kGuardRolledBack},
                                             {"; stopped", model::kGuardStopped},
                                             {"; observed", model::kGuardObserved}}};

std::int64_t StepIn(std::string_view text) {
  constexpr std::string_view kLead = "step ";
  constexpr double kMostSteps = 1e15;  // what is larger, or no number, is no step
  const std::size_t at = text.find(kLead);
  if (at == std::string_view::npos) return model::kNoStep;
  std::size_t used = 0;
  const auto step = ParseNumberPrefix(text.substr(at + kLead.size()), used);
  return step && *step >= 0 && *step < kMostSteps ? static_cast<std::int64_t>(*step) : model::kNoStep;
}

}  // namespace

GuardLine ReadGuardLine(std::string_view text) {
  for (const Ending& ending : kEndings) {
    if (text.find(ending.text) != std::string_view::npos) return {ending.decision, StepIn(text)};
  }
  return {};
}

}  // namespace vigil::textlog
