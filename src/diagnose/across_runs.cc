// What runs show beside each other: the same settings with other seeds, the same settings and seed twice.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/diagnose.h"
#include "diagnose/new_finding.h"
#include "diagnose/settings_alike.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

using model::Finding;
using model::RunReport;
using model::Series;

// What a run states about itself, but for its seed; empty where it states too little to be called the same as another.
std::string SettingsOf(const model::Run& run) {
  constexpr std::size_t kFewest = 5;
  std::set<std::string> settings;
  for (const model::Fact& fact : run.facts) {
    if (fact.key != "seed" && !IsOfThePlace(fact)) settings.insert(fact.key + "=" + fact.value);
  }
  if (settings.size() < kFewest || run.FindFact("seed") == nullptr) return {};
  std::string all = run.framework + "\n" + run.method.name + "\n";
  for (const std::string& setting : settings) all += setting + "\n";
  return all;
}

const Series* ResultOf(const model::Run& run) {
  constexpr std::size_t kFewest = 20;
  const Series* loss = run.Find("loss");
  return loss != nullptr && loss->size() >= kFewest && loss->segment_starts.size() == 1 ? loss : nullptr;
}

struct End {
  double level = 0;
  double error = 0;  // of the level, from the noise of the points
};

// Of the last tenth of the points.
End EndOf(const Series& series) {
  std::vector<double> values;
  const std::size_t count = std::max<std::size_t>(5, series.size() / 10);
  for (std::size_t i = series.size() - count; i < series.size(); ++i) {
    if (std::isfinite(series.values[i])) values.push_back(series.values[i]);
  }
  if (values.size() < 3) return {};
  const double error = stats::NoiseSigma(values) / std::sqrt(static_cast<double>(values.size()));
  return {stats::Mean(values), error};
}

Finding FindingFor(std::string_view id, const Series& series, const catalogue::Thresholds& thresholds,
                   std::size_t first, model::Statement says) {
  Finding finding = NewFinding(id, thresholds);
  finding.signal = series.signal;
  finding.first = series.PositionOf(first);
  finding.last = series.PositionOf(series.size() - 1);
  finding.says = std::move(says);
  return finding;
}

// ---- the same settings, other seeds

void CompareSeeds(const std::vector<RunReport*>& runs, const catalogue::Thresholds& thresholds) {
  constexpr std::string_view kId = "loss/seed-variance";
  if (!thresholds.Enabled(kId)) return;
  std::vector<End> ends;
  std::set<std::string> seeds;
  for (const RunReport* run : runs) {
    ends.push_back(EndOf(*ResultOf(run->run)));
    seeds.insert(run->run.FindFact("seed")->value);
  }
  if (seeds.size() < 2) return;
  const auto by_level = [](const End& a, const End& b) { return a.level < b.level; };
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end(), by_level);
  const double noise = std::hypot(low->error, high->error);
  const double apart = (high->level - low->level) / std::max(1e-12, std::abs(low->level));
  if (apart < thresholds.Threshold(kId, "apart") || high->level - low->level < thresholds.Threshold(kId, "z") * noise)
    return;
  for (RunReport* run : runs) {
    const Series& series = *ResultOf(run->run);
    run->findings.push_back(FindingFor(
        kId, series, thresholds, series.size() - 1,
        says::LossSeedVarianceApart{.runs = static_cast<double>(runs.size()), .low = low->level, .high = high->level}));
  }
}

// ---- the same settings and the same seed

// The first point at which two records of one run differ by more than their digits; size() when they do not.
std::size_t FirstDifference(const Series& a, const Series& b) {
  constexpr double kDigits = 1e-4;
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (a.steps[i] != b.steps[i]) return common;  // logged at other steps: nothing to compare
    const double scale = std::max(std::abs(a.values[i]), std::abs(b.values[i]));
    if (std::isfinite(scale) && std::abs(a.values[i] - b.values[i]) > kDigits * scale) return i;
  }
  return common;
}

void CompareRepeats(RunReport& one, RunReport& other, const catalogue::Thresholds& thresholds) {
  constexpr std::string_view kId = "repro/nondeterminism";
  if (!thresholds.Enabled(kId) || one.run.FindFact("seed")->value != other.run.FindFact("seed")->value) return;
  const Series& a = *ResultOf(one.run);
  const Series& b = *ResultOf(other.run);
  const std::size_t at = FirstDifference(a, b);
  if (at >= std::min(a.size(), b.size())) return;
  other.findings.push_back(FindingFor(
      kId, b, thresholds, at,
      says::ReproNondeterminismDiffers{
          .other = one.run.name, .at = b.PositionOf(at), .value = b.values[at], .other_value = a.values[at]}));
}

}  // namespace

void CompareRuns(std::vector<RunReport>& runs, const catalogue::Thresholds& thresholds) {
  constexpr std::size_t kMostRuns = 1000;
  if (runs.size() < 2 || runs.size() > kMostRuns) return;
  std::map<std::string, std::vector<RunReport*>> alike;
  for (RunReport& run : runs) {
    const std::string settings = ResultOf(run.run) == nullptr ? std::string() : SettingsOf(run.run);
    if (!settings.empty()) alike[settings].push_back(&run);
  }
  for (const auto& [settings, group] : alike) {
    if (group.size() < 2) continue;
    CompareSeeds(group, thresholds);
    for (std::size_t i = 1; i < group.size(); ++i) CompareRepeats(*group[i - 1], *group[i], thresholds);
  }
}

}  // namespace vigil::diagnose
