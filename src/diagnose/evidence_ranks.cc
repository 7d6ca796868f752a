// Evidence from ranks beside each other: what they wait for, and whether they still train the same model.
#include <algorithm>
#include <array>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

// The share of a step that is spent waiting for other ranks, before the incident and at the end.
Answer CommShareClimbed(const RunView& run, const Incident& incident) {
  constexpr std::size_t kFew = 10;
  constexpr double kClimb = 1.5;
  constexpr double kMuch = 0.2;
  if (!incident.Has("throughput/comm-bound") && !incident.Has("throughput/regression")) return Moot();
  const Course waits = LastCourse(run, "comm_time_s");
  const Course steps = LastCourse(run, "step_time_s");
  std::vector<double> shares;
  for (std::size_t i = 0; i < std::min(waits.size(), steps.size()); ++i) {
    if (waits.steps[i] == steps.steps[i] && steps.values[i] > 0) shares.push_back(waits.values[i] / steps.values[i]);
  }
  if (shares.size() < 2 * kFew) return Unknown();
  const double first = Median({shares.begin(), shares.begin() + kFew});
  const double last = Median({shares.end() - kFew, shares.end()});
  if (last > kMuch && last > kClimb * first)
    return Yes(says::CommShareClimbedYes{.last = last, .first = first}, {}, last);
  return No(says::CommShareClimbedNo{.last = last, .first = first}, {}, last);
}

// Ranks that log the value at all: the finding alone is not taken for it.
Answer RanksWentApart(const RunView& run, const Incident& incident) {
  const model::Finding* apart = incident.Find("numerics/rank-desync");
  if (apart == nullptr) return Moot();
  const auto ranks = std::count_if(run->series.begin(), run->series.end(),
                                   [&](const model::Series& series) { return series.signal == apart->signal; });
  return ranks > 1 ? AsFound(*apart) : Unknown();
}

constexpr std::array kTests = {
    NamedTest{"comm-share-climbed", CommShareClimbed},
    NamedTest{"ranks-went-apart", RanksWentApart},
};

}  // namespace

std::span<const NamedTest> RankTests() { return kTests; }

}  // namespace vigil::diagnose
