#include "diagnose/settings_alike.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/base.h"
#include "catalogue/catalogue.h"

namespace vigil::diagnose {
namespace {

bool IsKnown(const model::Fact& fact) {
  const auto rows = catalogue::Facts();
  return std::any_of(rows.begin(), rows.end(), [&](const catalogue::FactRow& row) { return row.id == fact.key; });
}

// "1e-4" is 0.0001, and True is true.
bool SaysTheSame(const model::Fact& a, const model::Fact& b) {
  const auto number = ParseNumber(a.value);
  const auto other = ParseNumber(b.value);
  return number && other ? *number == *other : ToLower(a.value) == ToLower(b.value);
}

}  // namespace

bool IsOfThePlace(const model::Fact& fact) {
  constexpr std::array<std::string_view, 12> kParts = {"dir",  "path", "name",    "file", "host", "time",
                                                       "date", "port", "project", "url",  "_id",  "version"};
  const std::string key = ToLower(fact.raw_key.empty() ? fact.key : fact.raw_key);
  return fact.value.find('/') != std::string::npos ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return key.find(part) != std::string::npos; });
}

std::vector<model::DifferingSetting> DifferingSettings(const model::Run& run, const model::Run& reference) {
  std::vector<model::DifferingSetting> differing;
  std::set<std::string> seen;
  for (const model::Fact& fact : run.facts) {
    if (fact.key == "seed" || IsOfThePlace(fact) || !IsKnown(fact) || !seen.insert(fact.key).second) continue;
    // Of several statements the one that the run itself would give counts.
    const model::Fact* here = run.FindFact(fact.key);
    const model::Fact* there = reference.FindFact(fact.key);
    if (here == nullptr || there == nullptr || SaysTheSame(*here, *there)) continue;
    differing.push_back({here->raw_key.empty() ? here->key : here->raw_key, here->value, there->value});
  }
  return differing;
}

}  // namespace vigil::diagnose
