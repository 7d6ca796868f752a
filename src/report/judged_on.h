// How much a verdict without problems rests on: the points of the metric of progress, and which checks need more of
// them. Private to report.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/run.h"

namespace vigil::report {

// Metrics that show whether a run made progress, best first.
inline constexpr std::array<std::string_view, 4> kProgressMetrics = {"loss", "eval_loss", "reward", "policy_loss"};

struct JudgedOn {
  struct Need {
    std::string_view finding;
    std::size_t points = 0;
  };
  std::string metric;       // empty where none was logged
  std::size_t points = 0;   // finite ones
  bool few = false;         // so few that most that goes wrong would not show
  std::vector<Need> needs;  // checks of that metric that could not be made with these, the least first
};
JudgedOn JudgedOnOf(const model::Run& run);
// "10 points of loss are few: loss/spike needs 24, ...", empty where they are not.
std::string FewPointsText(const model::Run& run);

}  // namespace vigil::report
