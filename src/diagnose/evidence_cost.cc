// Evidence about what a run costs: where the time of a step goes, how memory grows, who waits for whom.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/evidence.h"

namespace vigil::diagnose {
namespace {

// Between the two the parts of the step share the growth, and neither is to blame alone.
constexpr double kMostOfIt = 0.6;
constexpr double kLittleOfIt = 0.25;

// The share of the growth of the step that a part of it has; NaN when it was not logged.
double ShareOfGrowth(const Incident& incident, std::string_view measure) {
  const model::Finding* slower = incident.Find("throughput/regression");
  return slower == nullptr ? std::nan("") : slower->MeasureOr(measure, std::nan(""));
}

Answer WaitsForData(const RunView&, const Incident& incident) {
  const model::Finding* starved = incident.Find("throughput/data-starved");
  const double share = ShareOfGrowth(incident, "data_share_of_growth");
  if (share > kMostOfIt) return Yes(says::WaitsForDataYes{.share = std::min(1.0, share)}, incident.onset);
  if (share < kLittleOfIt) return No(says::WaitsForDataNo{}, incident.onset);
  if (starved != nullptr && starved->MeasureOr("share", 0) > 0 && std::isnan(share)) return AsFound(*starved);
  return Unknown();
}

// Where compute was not timed, what is not the wait for data is taken for it.
Answer ComputeGrew(const RunView&, const Incident& incident) {
  const double compute = ShareOfGrowth(incident, "compute_share_of_growth");
  const double data = ShareOfGrowth(incident, "data_share_of_growth");
  const model::Finding* straggler = incident.Find("throughput/straggler");
  if (straggler != nullptr && straggler->MeasureOr("ratio", 0) > 1) return AsFound(*straggler);
  if (compute > kMostOfIt || (std::isnan(compute) && data < kLittleOfIt))
    return Yes(says::ComputeGrewYes{}, incident.onset);
  if (compute < kLittleOfIt || data > kMostOfIt) return No(says::ComputeGrewNo{}, incident.onset);
  return Unknown();
}

// What was switched on takes the same time at every step; a neighbour comes and goes.
Answer LevelIsSteady(const RunView&, const Incident& incident) {
  constexpr double kAsEven = 1.8;
  constexpr double kEven = 0.12;  // of the level: what a quiet machine shows
  constexpr double kUneven = 0.3;
  const model::Finding* slower = incident.Find("throughput/regression");
  if (slower == nullptr) return Unknown();
  const double before = slower->MeasureOr("spread_before", std::nan(""));
  const double after = slower->MeasureOr("spread_after", std::nan(""));
  if (std::isnan(before) || std::isnan(after)) return Unknown();
  if (after <= kEven || after <= kAsEven * before)
    return Yes(says::LevelIsSteadyYes{.after = after, .before = before}, slower->first);
  return after > kUneven ? No(says::LevelIsSteadyNo{.after = after, .before = before}, slower->first) : Unknown();
}

Answer OneRankSlow(const RunView& run, const Incident& incident) {
  if (run->ranks < 2) return Moot();
  const model::Finding* straggler = incident.Find("throughput/straggler");
  return straggler == nullptr ? Unknown() : AsFound(*straggler);
}

Answer ClimbsWithSteps(const RunView&, const Incident& incident) {
  constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;
  for (const std::string_view id : {"memory/leak", "memory/growth"}) {
    const model::Finding* climb = incident.Find(id);
    if (climb == nullptr || !(climb->MeasureOr("gib_per_step", 0) > 0)) continue;
    return Yes(says::ClimbsWithStepsYes{.growth = kBytesPerGib * climb->MeasureOr("gib_per_step", 0),
                                        .span = model::PositionRange{climb->first, climb->last}},
               climb->first);
  }
  return Unknown();
}

// Signatures by which readers know a launcher's or a collective library's message that a process ended.
constexpr std::array<std::string_view, 3> kEndSignatures = {"log/rank-killed", "log/killed-signal",
                                                            "log/collective-given-up"};
constexpr std::array<std::string_view, 4> kTimeoutSignatures = {"log/collective-timeout", "log/nccl-timeout",
                                                                "log/monitored-barrier", "log/gloo-timeout"};

template <std::size_t kCount>
bool IsOneOf(std::string_view name, const std::array<std::string_view, kCount>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool ReportsTheEndOfARank(const model::Event& event) {
  const bool failed = event.kind == model::EventKind::kExit && event.name != "finished";
  return failed || IsOneOf(event.name, kEndSignatures);
}

// Who waited in vain is ended by the launcher later: what was logged first counts.
Answer WaitedToTheLimit(const RunView& run, const Incident& incident) {
  if (incident.Has("hang/collective-mismatch")) return Moot();  // they met, with different data
  const auto first = std::find_if(run->events.begin(), run->events.end(), [](const model::Event& event) {
    return ReportsTheEndOfARank(event) || IsOneOf(event.name, kTimeoutSignatures);
  });
  if (first == run->events.end()) return Unknown();
  if (ReportsTheEndOfARank(*first))
    return No(says::WaitedToTheLimitNo{.what = model::QuoteOf(*run, *first)}, first->at);
  for (const model::Finding* finding : incident.findings) {
    if (finding->id == "hang/missing-rank" || IsOneOf(finding->id, kTimeoutSignatures) ||
        IsOneOf(finding->signature, kTimeoutSignatures))
      return Yes(says::WaitedToTheLimitYes{}, finding->first);
  }
  return Unknown();
}

// A rank that fails writes its end; one that was killed cannot.
Answer RankLeftNoEnd(const RunView& run, const Incident& incident) {
  const model::Finding* dead = incident.Find("hang/dead-rank");
  const bool recorded = std::any_of(run->events.begin(), run->events.end(),
                                    [](const model::Event& event) { return event.name == model::kNoEndEvent; });
  if (dead == nullptr || !recorded || !dead->signature.empty()) return Unknown();
  if (dead->says.empty()) return Yes(says::RankLeftNoEndYes{}, dead->first);
  return Yes(says::RankLeftNoEndYesWhat{.what = dead->says}, dead->first);
}

constexpr std::array kTests = {
    NamedTest{"waits-for-data", WaitsForData},       NamedTest{"compute-grew", ComputeGrew},
    NamedTest{"one-rank-slow", OneRankSlow},         NamedTest{"level-is-steady", LevelIsSteady},
    NamedTest{"climbs-with-steps", ClimbsWithSteps}, NamedTest{"waited-to-the-limit", WaitedToTheLimit},
    NamedTest{"rank-left-no-end", RankLeftNoEnd},
};

}  // namespace

std::span<const NamedTest> CostTests() { return kTests; }

}  // namespace vigil::diagnose
