// Evidence about what a run is trained on: samples of a policy, single reward functions, lengths, padding.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

std::vector<double> All(const RunView& run, std::string_view signal) {
  return FiniteValues(LastCourse(run, signal).View());
}

// Before the first updates sampler and trainer are the same model, unless another one is served.
Answer SamplerOffFromStart(const RunView& run, const Incident& incident) {
  constexpr double kOff = 1;
  constexpr double kSame = 0.3;
  if (!incident.Has("rl/off-policy")) return Moot();
  const std::vector<double> gap = All(run, "sampling_gap");
  if (gap.size() < 5) return Unknown();
  const double first = Median({gap.begin(), gap.begin() + 3});
  const double last = Median({gap.end() - 3, gap.end()});
  if (first > kOff) return Yes(says::SamplerOffFromStartYes{.gap = first}, {}, first);
  return first < kSame ? No(says::SamplerOffFromStartNo{.first = first, .gap = last}, {}, first) : Unknown();
}

Answer SyncIsRare(const RunView& run, const Incident& incident) {
  if (!incident.Has("rl/off-policy") && !incident.Has("rl/over-clipped")) return Moot();
  const auto every = run.FactNumber("sync_interval");
  if (!every) return Unknown();
  return *every > 1 ? Yes(says::SyncIsRareYes{.every = *every}, {}, *every) : No(says::SyncIsRareNo{}, {}, *every);
}

Answer OneFunctionConstant(const RunView& run, const Incident& incident) {
  const model::Finding* dead = incident.Find("rl/reward-dead");
  if (dead == nullptr) return Moot();
  const std::string function(model::FindLabel(dead->labels, "reward"));
  const double value = dead->MeasureOr("value", 0);
  if (!Logged(run, "reward_of")) return Unknown();
  return Yes(says::OneFunctionConstantYes{.function = function, .value = value}, dead->first, value);
}

Answer PaidForLength(const RunView& run, const Incident& incident) {
  if (!Logged(run, "completion_length")) return Moot();
  const model::Finding* grown = incident.Find("rl/length-hacking");
  if (grown == nullptr) return Unknown();
  const double growth = grown->MeasureOr("growth", 1);
  if (grown->MeasureOr("paid", 0) > 0) return Yes(says::PaidForLengthYes{.growth = growth}, grown->first, growth);
  return No(says::PaidForLengthNo{}, grown->first, growth);
}

Answer SamplesAlike(const RunView& run, const Incident& incident) {
  if (!incident.Has("ebft/diversity-collapse")) return Moot();
  const std::vector<double> diversity = All(run, "ebft_diversity");
  if (diversity.size() < 5) return Unknown();
  const double level = Median({diversity.end() - 5, diversity.end()});
  return level > 1 ? Yes(says::SamplesAlikeYes{.level = level}, {}, level)
                   : No(says::SamplesAlikeNo{.level = level}, {}, level);
}

Answer ExtremeLengthAtOnset(const RunView& run, const Incident& incident) {
  const model::Finding* outlier = incident.Find("data/length-outlier");
  if (outlier == nullptr || !Logged(run, "sequence_length_max")) return Moot();
  const double ratio = outlier->MeasureOr("ratio", 1);
  return outlier->MeasureOr("harmful", 0) > 0
             ? Yes(says::ExtremeLengthAtOnsetYes{.ratio = ratio}, outlier->first, ratio)
             : Unknown();
}

Answer MuchPadding(const RunView& run, const Incident& incident) {
  constexpr double kMuch = 0.3;
  constexpr double kLittle = 0.1;
  if (!incident.Has("data/padding") && !incident.Has("throughput/low-mfu")) return Moot();
  const std::vector<double> share = All(run, "padding_share");
  if (share.size() < 5) return Unknown();
  const double level = Median(share);
  if (level >= kMuch) return Yes(says::MuchPaddingYes{.share = level}, {}, level);
  return level < kLittle ? No(says::MuchPaddingNo{.share = level}, {}, level) : Unknown();
}

constexpr std::array kTests = {
    NamedTest{"sampler-off-from-start", SamplerOffFromStart},
    NamedTest{"sync-is-rare", SyncIsRare},
    NamedTest{"one-function-constant", OneFunctionConstant},
    NamedTest{"paid-for-length", PaidForLength},
    NamedTest{"samples-alike", SamplesAlike},
    NamedTest{"extreme-length-at-onset", ExtremeLengthAtOnset},
    NamedTest{"much-padding", MuchPadding},
};

}  // namespace

std::span<const NamedTest> SamplingTests() { return kTests; }

}  // namespace vigil::diagnose
