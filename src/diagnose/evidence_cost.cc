// Evidence about what a run costs: where the time of a step goes, how memory grows, who waits for whom.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "diagnose/evidence.h"

namespace vigil::diagnose {
namespace {

constexpr double kMostOfIt = 0.6;
constexpr double kLittleOfIt = 0.25;

std::string Percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

// The share of the growth of the step that a part of it has; NaN when it was not logged.
double ShareOfGrowth(const Incident& incident, std::string_view measure) {
  const model::Finding* slower = incident.Find("throughput/regression");
  return slower == nullptr ? std::nan("") : slower->MeasureOr(measure, std::nan(""));
}

Answer WaitsForData(const model::Run&, const Incident& incident) {
  const model::Finding* starved = incident.Find("throughput/data-starved");
  const double share = ShareOfGrowth(incident, "data_share_of_growth");
  if (share > kMostOfIt)
    return Yes(fmt::format("the wait for data makes up {} of what steps take longer", Percent(std::min(1.0, share))),
               incident.onset);
  if (share < kLittleOfIt) return No("steps wait for data no longer than before", incident.onset);
  if (starved != nullptr && starved->MeasureOr("share", 0) > 0 && std::isnan(share))
    return Yes(starved->message, starved->first_step);
  return Unknown();
}

Answer ComputeGrew(const model::Run&, const Incident& incident) {
  const double compute = ShareOfGrowth(incident, "compute_share_of_growth");
  const double data = ShareOfGrowth(incident, "data_share_of_growth");
  const model::Finding* straggler = incident.Find("throughput/straggler");
  if (straggler != nullptr && straggler->MeasureOr("ratio", 0) > 1)
    return Yes(straggler->message, straggler->first_step);
  if (compute > kMostOfIt || (std::isnan(compute) && data < kLittleOfIt))
    return Yes("what steps take longer is not the wait for data", incident.onset);
  if (compute < kLittleOfIt || data > kMostOfIt) return No("the compute takes as long as before", incident.onset);
  return Unknown();
}

Answer OneRankSlow(const model::Run& run, const Incident& incident) {
  if (run.ranks < 2) return Moot();
  const model::Finding* straggler = incident.Find("throughput/straggler");
  return straggler == nullptr ? Unknown() : Yes(straggler->message, straggler->first_step);
}

Answer ClimbsWithSteps(const model::Run&, const Incident& incident) {
  for (const std::string_view id : {"memory/leak", "memory/growth"}) {
    const model::Finding* climb = incident.Find(id);
    if (climb == nullptr || !(climb->MeasureOr("gib_per_step", 0) > 0)) continue;
    return Yes(
        fmt::format("{} MiB more with every step, from step {} to {}",
                    FormatNumber(1024 * climb->MeasureOr("gib_per_step", 0)), climb->first_step, climb->last_step),
        climb->first_step);
  }
  return Unknown();
}

bool SaysThatARankEnded(const model::Event& event) {
  constexpr std::array<std::string_view, 3> kSigns = {"killed by signal", "exit code", "was given up"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return event.text.find(sign) != std::string::npos; });
}

// Who waited in vain is ended by the launcher later: what was told first counts.
Answer WaitedToTheLimit(const model::Run& run, const Incident& incident) {
  const auto told = std::find_if(run.events.begin(), run.events.end(), [](const model::Event& event) {
    return SaysThatARankEnded(event) || event.text.find("timed out") != std::string::npos;
  });
  if (told == run.events.end()) return Unknown();
  if (SaysThatARankEnded(*told)) return No("a rank's end was seen: " + told->text, told->step);
  for (const std::string_view id : {"log/collective-timeout", "hang/missing-rank"}) {
    const model::Finding* waited = incident.Find(id);
    if (waited != nullptr) return Yes("the others waited until their time was over", waited->first_step);
  }
  return Unknown();
}

Answer RankLeftNoEnd(const model::Run& run, const Incident& incident) {
  const model::Finding* dead = incident.Find("hang/dead-rank");
  const bool recorded = std::any_of(run.events.begin(), run.events.end(),
                                    [](const model::Event& event) { return event.name == model::kNoEndEvent; });
  if (dead == nullptr || !recorded) return Unknown();
  return Yes("the journal of that rank has no end: " + dead->message, dead->first_step);
}

constexpr std::array kTests = {
    NamedTest{"waits-for-data", WaitsForData},
    NamedTest{"compute-grew", ComputeGrew},
    NamedTest{"one-rank-slow", OneRankSlow},
    NamedTest{"climbs-with-steps", ClimbsWithSteps},
    NamedTest{"waited-to-the-limit", WaitedToTheLimit},
    NamedTest{"rank-left-no-end", RankLeftNoEnd},
};

}  // namespace

std::span<const NamedTest> CostTests() { return kTests; }

}  // namespace vigil::diagnose
