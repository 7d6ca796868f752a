// How the proposed value of each remedy is computed from the run.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {
namespace {

// Two digits are as precise as such advice is.
std::string Rounded(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 2);
  return {digits.data(), end.ptr};
}

std::string Whole(double value) { return std::to_string(std::llround(value)); }

std::string Current(const RunView& run, std::string_view key) {
  const model::Fact* fact = run.FindFact(key);
  return fact == nullptr ? std::string() : fact->value;
}

std::string LrText(double lr) { return std::isnan(lr) ? std::string() : FormatNumber(lr); }

// Where the run was lost within a few steps, a small change would not have saved it.
bool IsViolent(const Incident& incident) {
  return incident.Has("grad/explosion") || incident.Has("loss/non-finite") || incident.Has("grad/non-finite");
}

std::optional<Proposal> LowerLr(const RunView& run, const Incident& incident) {
  const double peak = PeakLr(run);
  if (std::isnan(peak) || peak <= 0) return Proposal{"", IsViolent(incident) ? "a tenth" : "a third"};
  // 3-10 times less where gradients explode, 2-5 times elsewhere; never above what is usual, never below it either.
  double proposed = peak / (IsViolent(incident) ? 10 : 3);
  const LrBand band = UsualLr(run);
  if (band.known && peak > band.high) proposed = std::min(proposed, band.high);
  if (band.exact && peak > band.low) proposed = std::max(proposed, band.low);
  return Proposal{LrText(peak), Rounded(proposed)};
}

std::optional<Proposal> RaiseLr(const RunView& run, const Incident& incident) {
  const double peak = PeakLr(run);
  // A rate that was above 0 and came to be 0 is a matter of the schedule.
  if (incident.Has("lr/zero") && peak > 0) return std::nullopt;
  const LrBand band = UsualLr(run);
  if (band.exact) {
    const double proposed = std::isnan(peak) || peak < band.low ? band.low : std::min(3 * peak, band.high);
    if (!std::isnan(peak) && proposed <= peak) return std::nullopt;
    return Proposal{LrText(peak), Rounded(proposed)};
  }
  if (std::isnan(peak) || peak <= 0)
    return band.low > 0 ? Proposal{LrText(peak), Rounded(10 * band.low)}
                        : Proposal{LrText(peak), "", says::ProposedUsualOfModel{}};
  return Proposal{LrText(peak), Rounded(std::max(10 * peak, band.low))};
}

std::optional<Proposal> WarmupSteps(const RunView& run, const Incident&) {
  const double planned = EndOf(run, model::Axis::kStep).length();
  if (planned < 20) return std::nullopt;
  // 5-10% of the steps; 6% leaves room on both sides.
  const double proposed = std::max(5.0, 0.06 * planned);
  const auto steps = run.FactNumber("warmup_steps");
  const auto ratio = run.FactNumber("warmup_ratio");
  const double now = steps.value_or(0) > 0 ? *steps : ratio.value_or(0) * planned;
  if (now >= 0.05 * planned) return std::nullopt;
  const std::string current = steps || ratio ? FormatNumber(now) : "";
  return Proposal{current, Whole(proposed)};
}

std::optional<Proposal> ClipOne(const RunView& run, const Incident&) {
  const Clipping clipping = ClippingOf(run);
  if (clipping.state == Clip::kOn && clipping.limit <= 1) return std::nullopt;
  return Proposal{clipping.state == Clip::kOff ? "off" : Current(run, "max_grad_norm"), "1.0"};
}

// In the words of the framework: some take a switch, some a name.
std::optional<Proposal> UseBf16(const RunView& run, const Incident&) {
  const Precision precision = PrecisionOf(run);
  if (precision == Precision::kBf16 || precision == Precision::kFp32) return std::nullopt;
  return Proposal{precision == Precision::kFp16 ? "fp16" : "", run->profile.bf16_value};
}

std::optional<Proposal> ShowNonFinite(const RunView& run, const Incident&) {
  const auto filter = FactSwitch(run, "nan_filter");
  if (filter && !*filter) return std::nullopt;
  return Proposal{filter ? "True" : "", "False"};
}

std::optional<Proposal> LogEveryStep(const RunView& run, const Incident&) {
  const model::Series* loss = run.Find("loss");
  // The setting counts steps, and so must what stands for it.
  const bool by_steps = loss != nullptr && loss->axis == model::Axis::kStep;
  const double interval = run.FactNumber("logging_steps").value_or(by_steps ? IntervalOf(*loss) : 1);
  if (!(interval > 1)) return std::nullopt;
  return Proposal{FormatNumber(interval), "1"};
}

// The epoch at which the evaluation was best, by the epochs that were logged beside it.
std::optional<Proposal> EpochsToBest(const RunView& run, const Incident&) {
  const Course evals = LastCourse(run, "eval_loss");
  const Course epochs = LastCourse(run, "epoch");
  if (evals.size() < 2 || epochs.size() < 2) return std::nullopt;
  std::size_t best = 0;
  for (std::size_t i = 0; i < evals.size(); ++i) {
    if (std::isfinite(evals.values[i]) && !(evals.values[i] >= evals.values[best])) best = i;
  }
  const double at = ValueAt(epochs.View(), evals.PositionOf(best));
  const double end = epochs.values.back();
  if (!(at > 0) || !std::isfinite(end) || at >= end) return std::nullopt;
  const std::string stated = Current(run, "epochs");
  const std::string proposed = run->profile.takes_part_epochs ? Rounded(at) : Whole(std::max(1.0, at));
  return Proposal{stated.empty() ? FormatNumber(end) : stated, proposed};
}

std::optional<Proposal> SwitchOn(const RunView&, const Incident&) { return Proposal{"", "True"}; }

std::optional<Proposal> SwitchOff(const RunView&, const Incident&) { return Proposal{"", "False"}; }

std::optional<Proposal> ModerateDecay(const RunView& run, const Incident&) {
  const auto decay = run.FactNumber("weight_decay");
  if (decay && *decay >= 0.01 && *decay <= 0.1) return std::nullopt;
  return Proposal{Current(run, "weight_decay"), "0.01"};
}

// From 16 on a group of a task that is solved one time in ten has a success in most cases.
std::optional<Proposal> MoreGenerations(const RunView& run, const Incident&) {
  const auto now = run.FactNumber("num_generations");
  if (now && *now >= 16) return std::nullopt;
  return Proposal{Current(run, "num_generations"), "16"};
}

std::optional<Proposal> FullTemperature(const RunView& run, const Incident&) {
  const auto now = run.FactNumber("temperature");
  if (now && *now >= 1) return std::nullopt;
  return Proposal{Current(run, "temperature"), "1.0"};
}

std::optional<Proposal> AddKlPenalty(const RunView& run, const Incident&) {
  const auto now = run.FactNumber("kl_coefficient");
  if (now && *now > 0.1) return std::nullopt;
  // 0.04 was the trainer's own default while it still had a penalty by default.
  return Proposal{Current(run, "kl_coefficient"), now && *now >= 0.04 ? Rounded(2.5 * *now) : "0.04"};
}

std::optional<Proposal> LongerCompletions(const RunView& run, const Incident&) {
  auto limit = run.FactNumber("max_completion_length");
  if (!limit) {
    const double longest = Largest(LastCourse(run, "completion_length_max").View());
    if (longest > 0) limit = longest;
  }
  if (!limit || !(*limit >= 1) || *limit > 1e7) return Proposal{"", "", says::ProposedTwiceTheLimit{}};
  // Nearly all are cut: the length they need is unknown, so go well beyond; otherwise double.
  const double cut = Median(FiniteValues(LastCourse(run, "truncated_share").View()));
  return Proposal{FormatNumber(*limit), Whole(*limit * (cut > 0.95 ? 4 : 2))};
}

std::optional<Proposal> CosineSchedule(const RunView& run, const Incident&) {
  return Proposal{Current(run, "lr_schedule"), "cosine"};
}

// Half at a time: a size that fits is found in a few tries, and the accumulation below keeps the effective batch.
std::optional<Proposal> HalfBatch(const RunView& run, const Incident&) {
  const auto batch = run.FactNumber("batch_size");
  if (!batch) return Proposal{"", "1"};
  if (!(*batch >= 2) || *batch > 1e9) return std::nullopt;
  return Proposal{FormatNumber(*batch), Whole(std::floor(*batch / 2))};
}

std::optional<Proposal> DoubleAccumulation(const RunView& run, const Incident&) {
  const auto now = run.FactNumber("accumulation");
  const auto batch = run.FactNumber("batch_size");
  const bool can_halve = !batch || *batch >= 2;
  const bool can_double = !now || (*now >= 1 && *now < 1e9);
  if (!can_halve || !can_double) return std::nullopt;
  return Proposal{now ? FormatNumber(*now) : "", Whole(2 * now.value_or(1))};
}

std::optional<Proposal> NoWorkers(const RunView&, const Incident&) { return Proposal{"", "0"}; }

constexpr std::array kProposals = {
    NamedProposal{"lower-lr", LowerLr},
    NamedProposal{"raise-lr", RaiseLr},
    NamedProposal{"warmup-steps", WarmupSteps},
    NamedProposal{"clip-one", ClipOne},
    NamedProposal{"use-bf16", UseBf16},
    NamedProposal{"show-non-finite", ShowNonFinite},
    NamedProposal{"log-every-step", LogEveryStep},
    NamedProposal{"epochs-to-best", EpochsToBest},
    NamedProposal{"switch-on", SwitchOn},
    NamedProposal{"switch-off", SwitchOff},
    NamedProposal{"moderate-decay", ModerateDecay},
    NamedProposal{"more-generations", MoreGenerations},
    NamedProposal{"full-temperature", FullTemperature},
    NamedProposal{"add-kl-penalty", AddKlPenalty},
    NamedProposal{"longer-completions", LongerCompletions},
    NamedProposal{"cosine-schedule", CosineSchedule},
    NamedProposal{"half-batch", HalfBatch},
    NamedProposal{"double-accumulation", DoubleAccumulation},
    NamedProposal{"no-workers", NoWorkers},
};

}  // namespace

std::span<const NamedProposal> Proposals() { return kProposals; }

Propose FindProposal(std::string_view name) {
  const auto at = std::find_if(kProposals.begin(), kProposals.end(),
                               [&](const NamedProposal& named) { return named.name == name; });
  return at == kProposals.end() ? nullptr : at->propose;
}

std::vector<std::string_view> ProposalNames() {
  std::vector<std::string_view> names;
  names.reserve(kProposals.size());
  for (const NamedProposal& named : kProposals) names.push_back(named.name);
  return names;
}

}  // namespace vigil::diagnose
