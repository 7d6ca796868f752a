// Proposed values of precision, regularisation, epochs, logging and reinforcement learning.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {
namespace {

// In the words of the framework: some take a switch, some a name.
std::optional<Proposal> UseBf16(const RunView& run, const Incident& /*incident*/) {
  const Precision precision = PrecisionOf(run);
  if (precision == Precision::kBf16 || precision == Precision::kFp32) return std::nullopt;
  return Proposal{precision == Precision::kFp16 ? "fp16" : "", run->profile.bf16_value};
}

std::optional<Proposal> ShowNonFinite(const RunView& run, const Incident& /*incident*/) {
  const auto filter = FactSwitch(run, "nan_filter");
  if (filter && !*filter) return std::nullopt;
  return Proposal{filter ? "True" : "", "False"};
}

std::optional<Proposal> LogEveryStep(const RunView& run, const Incident& /*incident*/) {
  const model::Series* loss = run.Find("loss");
  // The setting counts steps, and so must what stands for it.
  const bool by_steps = loss != nullptr && loss->axis == model::Axis::kStep;
  const double interval = run.FactNumber("logging_steps").value_or(by_steps ? IntervalOf(*loss) : 1);
  if (!(interval > 1)) return std::nullopt;
  return Proposal{FormatNumber(interval), "1"};
}

// ---- the best evaluation

struct BestEvaluation {
  model::Position at;
  double value = model::kNoValue;
};

BestEvaluation BestOf(const Course& evals) {
  BestEvaluation best;
  for (std::size_t i = 0; i < evals.size(); ++i) {
    const double value = evals.values[i];
    if (!std::isfinite(value) || value >= best.value) continue;
    best = {evals.PositionOf(i), value};
  }
  return best;
}

// Trainers that count from 0 log 59 as the last of 60 epochs.
double CountedFrom(const Course& epochs) {
  return epochs.values.front() == 0 && epochs.values.back() == std::floor(epochs.values.back()) ? 1 : 0;
}

// The epoch at which the evaluation was best, by the epochs that were logged beside it.
std::optional<Proposal> EpochsToBest(const RunView& run, const Incident& /*incident*/) {
  const Course evals = LastCourse(run, "eval_loss");
  const Course epochs = LastCourse(run, "epoch");
  if (evals.size() < 2 || epochs.size() < 2) return std::nullopt;
  const BestEvaluation best = BestOf(evals);
  if (!best.at.known()) return std::nullopt;
  const double offset = CountedFrom(epochs);
  const double at = ValueAt(epochs.View(), best.at) + offset;
  const double end = epochs.values.back() + offset;
  if (!(at > 0) || !std::isfinite(end) || at >= end) return std::nullopt;
  const std::string stated = StatedValue(run, "epochs");
  const std::string proposed = run->profile.takes_part_epochs ? Rounded(at) : Whole(std::max(1.0, std::ceil(at)));
  return Proposal{stated.empty() ? FormatNumber(end) : stated,
                  proposed,
                  {},
                  says::ReasonBestEvaluation{.best = best.value, .at = best.at}};
}

// The same for a run that counts steps alone.
std::optional<Proposal> StepsToBest(const RunView& run, const Incident& /*incident*/) {
  const Course evals = LastCourse(run, "eval_loss");
  if (evals.size() < 2 || Logged(run, "epoch") || evals.axis != model::Axis::kStep) return std::nullopt;
  const BestEvaluation best = BestOf(evals);
  if (!best.at.known() || best.at.value() <= 0 || best.at.value() >= evals.steps.back()) return std::nullopt;
  const auto planned = run.FactNumber("max_steps");
  return Proposal{planned ? FormatNumber(*planned) : std::to_string(evals.steps.back()),
                  std::to_string(best.at.value()),
                  {},
                  says::ReasonBestEvaluation{.best = best.value, .at = best.at}};
}

// ---- switches

std::optional<Proposal> SwitchOn(const RunView& /*run*/, const Incident& /*incident*/) { return Proposal{"", "True"}; }

std::optional<Proposal> SwitchOff(const RunView& /*run*/, const Incident& /*incident*/) {
  return Proposal{"", "False"};
}

// ---- regularisation and optimizer

std::optional<Proposal> ModerateDecay(const RunView& run, const Incident& /*incident*/) {
  const auto decay = run.FactNumber("weight_decay");
  if (decay && *decay >= 0.01 && *decay <= 0.1) return std::nullopt;
  return Proposal{StatedValue(run, "weight_decay"), "0.01"};
}

// A stated number that is outside of what is usual, as the usual one.
std::optional<Proposal> Usual(const RunView& run, std::string_view key, double least, double most,
                              std::string_view usual) {
  const auto now = run.FactNumber(key);
  if (!now || (*now >= least && *now <= most)) return std::nullopt;
  return Proposal{StatedValue(run, key), std::string(usual)};
}

std::optional<Proposal> DefaultEpsilon(const RunView& run, const Incident& /*incident*/) {
  return UsesAdam(run) ? Usual(run, "adam_epsilon", 0, 1e-5, "1e-08") : std::nullopt;
}

std::optional<Proposal> DefaultBetas(const RunView& run, const Incident& /*incident*/) {
  return UsesAdam(run) ? Usual(run, "adam_beta1", 0.3, 0.95, "0.9") : std::nullopt;
}

std::optional<Proposal> DefaultMomentum(const RunView& run, const Incident& /*incident*/) {
  return Usual(run, "momentum", 0, 0.95, "0.9");
}

std::optional<Proposal> LessDropout(const RunView& run, const Incident& /*incident*/) {
  return Usual(run, "dropout", 0, 0.5, "0.1");
}

std::optional<Proposal> LessSmoothing(const RunView& run, const Incident& /*incident*/) {
  return Usual(run, "label_smoothing", 0, 0.2, "0.1");
}

std::optional<Proposal> PlainTemperature(const RunView& run, const Incident& /*incident*/) {
  return Usual(run, "temperature", 0.9, 1.1, "1.0");
}

std::optional<Proposal> SmallerRank(const RunView& run, const Incident& /*incident*/) {
  const auto rank = run.FactNumber("lora_rank");
  if (!rank) return Proposal{"", "16"};
  if (!(*rank > 8)) return std::nullopt;
  return Proposal{FormatNumber(*rank), *rank > 32 ? "16" : "8"};
}

// ---- reinforcement learning

// From 16 on a group of a task that is solved one time in ten has a success in most cases.
std::optional<Proposal> MoreGenerations(const RunView& run, const Incident& /*incident*/) {
  const auto now = run.FactNumber("num_generations");
  if (now && *now >= 16) return std::nullopt;
  if (!now && !run.HasMethod("grpo")) return std::nullopt;
  return Proposal{StatedValue(run, "num_generations"), "16"};
}

std::optional<Proposal> FullTemperature(const RunView& run, const Incident& /*incident*/) {
  const auto now = run.FactNumber("temperature");
  if (now && *now >= 0.95 && *now <= 1.05) return std::nullopt;
  if (!now && !IsLanguageModel(run)) return std::nullopt;
  return Proposal{StatedValue(run, "temperature"), "1.0"};
}

std::optional<Proposal> AddKlPenalty(const RunView& run, const Incident& /*incident*/) {
  const auto now = run.FactNumber("kl_coefficient");
  if (now && *now > 0.1) return std::nullopt;
  // 0.04 was the trainer's own default while it still had a penalty by default.
  return Proposal{StatedValue(run, "kl_coefficient"), now && *now >= 0.04 ? Rounded(2.5 * *now) : "0.04"};
}

std::optional<Proposal> UsualEntropy(const RunView& run, const Incident& /*incident*/) {
  const auto now = run.FactNumber("entropy_coefficient");
  if (now && *now >= 0.005) return std::nullopt;
  return Proposal{StatedValue(run, "entropy_coefficient"), "0.01"};
}

std::optional<Proposal> LowerEntropy(const RunView& run, const Incident& /*incident*/) {
  return Usual(run, "entropy_coefficient", 0, 0.05, "0.01");
}

std::optional<Proposal> UsualDiscount(const RunView& run, const Incident& /*incident*/) {
  return Usual(run, "discount", 0.9, 0.999, "0.99");
}

std::optional<Proposal> LongerCompletions(const RunView& run, const Incident& /*incident*/) {
  auto limit = run.FactNumber("max_completion_length");
  if (!limit) {
    const double longest = Largest(LastCourse(run, "completion_length_max").View());
    if (longest > 0) limit = longest;
  }
  if (!limit || !(*limit >= 1) || *limit > 1e7) return Proposal{"", "", says::ProposedTwiceTheLimit{}};
  // Nearly all are cut: the length they need is unknown, so go well beyond; otherwise double.
  const double cut = Median(FiniteValues(LastCourse(run, "truncated_share").View()));
  Proposal proposal{FormatNumber(*limit), Whole(*limit * (cut > 0.95 ? 4 : 2))};
  if (cut > 0) proposal.reason = says::ReasonCutShare{.share = cut};
  return proposal;
}

constexpr std::array kProposals = {
    NamedProposal{"use-bf16", UseBf16},
    NamedProposal{"show-non-finite", ShowNonFinite},
    NamedProposal{"log-every-step", LogEveryStep},
    NamedProposal{"epochs-to-best", EpochsToBest},
    NamedProposal{"steps-to-best", StepsToBest},
    NamedProposal{"switch-on", SwitchOn},
    NamedProposal{"switch-off", SwitchOff},
    NamedProposal{"moderate-decay", ModerateDecay},
    NamedProposal{"default-epsilon", DefaultEpsilon},
    NamedProposal{"default-betas", DefaultBetas},
    NamedProposal{"default-momentum", DefaultMomentum},
    NamedProposal{"less-dropout", LessDropout},
    NamedProposal{"less-smoothing", LessSmoothing},
    NamedProposal{"plain-temperature", PlainTemperature},
    NamedProposal{"smaller-rank", SmallerRank},
    NamedProposal{"more-generations", MoreGenerations},
    NamedProposal{"full-temperature", FullTemperature},
    NamedProposal{"add-kl-penalty", AddKlPenalty},
    NamedProposal{"usual-entropy", UsualEntropy},
    NamedProposal{"lower-entropy", LowerEntropy},
    NamedProposal{"usual-discount", UsualDiscount},
    NamedProposal{"longer-completions", LongerCompletions},
};

}  // namespace

std::span<const NamedProposal> OtherProposals() { return kProposals; }

}  // namespace vigil::diagnose
