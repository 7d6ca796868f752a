#include "diagnose/evidence.h"

#include <algorithm>
#include <array>
#include <vector>

#include "diagnose/diagnose.h"

namespace vigil::diagnose {
namespace {

std::array<std::span<const NamedTest>, 12> Tables() {
  return {BlowUpTests(), LearningRateTests(), NumericsTests(), LearningTests(), RlTests(),        ResumeTests(),
          CostTests(),   SettingTests(),      CrashTests(),    SamplingTests(), PrecisionTests(), RankTests()};
}

}  // namespace

// The tables are short and asked once per question and incident: no index is worth its upkeep.
EvidenceTest FindTest(std::string_view name) {
  for (const auto& table : Tables()) {
    const auto at =
        std::find_if(table.begin(), table.end(), [&](const NamedTest& named) { return named.name == name; });
    if (at != table.end()) return at->test;
  }
  return nullptr;
}

std::vector<std::string_view> EvidenceTestNames() {
  std::vector<std::string_view> names;
  for (const auto& table : Tables()) {
    for (const NamedTest& named : table) names.push_back(named.name);
  }
  return names;
}

}  // namespace vigil::diagnose
