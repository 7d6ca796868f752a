// What a test of the checklist is asked about, and what it answers.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "diagnose/view.h"
#include "model/checklist.h"
#include "model/report.h"

namespace vigil::diagnose {

struct CheckAnswer {
  model::CheckState state = model::CheckState::kNotPossible;
  model::Statement reason;
  const model::Fact* shown_by = nullptr;     // the setting that shows it, or null
  bool repeat = false;                       // another training would do it: the command starts one
  std::optional<model::Remedy> change = {};  // with this change
};

inline CheckAnswer Done(model::Statement reason, const model::Fact* shown_by = nullptr) {
  return {model::CheckState::kDone, std::move(reason), shown_by};
}
inline CheckAnswer NotDone(model::Statement reason, const model::Fact* shown_by = nullptr) {
  return {model::CheckState::kNotDone, std::move(reason), shown_by};
}
inline CheckAnswer NotPossible(model::Statement reason) { return {model::CheckState::kNotPossible, std::move(reason)}; }
// What would do it: the run once more, with one setting changed or as it was.
inline CheckAnswer WithRun(CheckAnswer answer) {
  answer.repeat = true;
  return answer;
}
CheckAnswer WithChange(CheckAnswer answer, std::string_view setting, std::string_view value);

struct NamedCheck {
  std::string_view name;
  CheckAnswer (*answer)(const model::RunReport& report);
};
// By what they look at: the settings of the run; what it logged and what was found in it.
std::span<const NamedCheck> ChecksOfSettings();
std::span<const NamedCheck> ChecksOfRecords();

}  // namespace vigil::diagnose
