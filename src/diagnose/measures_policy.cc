// Measures of reinforcement, preference and adversarial training, where the loss says little.
#include <algorithm>
#include <array>
#include <cmath>

#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "diagnose/measures.h"

namespace vigil::diagnose {
namespace {

constexpr double kTiny = 1e-9;

const Digest* Some(const RunDigest& run, std::string_view signal, std::size_t least = 1) {
  const Digest* digest = run.Of(signal);
  return digest == nullptr || digest->size() < least ? nullptr : digest;
}

std::optional<double> Late(const RunDigest& run, std::string_view signal) {
  const Digest* digest = Some(run, signal);
  return digest == nullptr ? std::nullopt : std::optional(digest->late);
}
std::optional<double> Peak(const RunDigest& run, std::string_view signal) {
  const Digest* digest = Some(run, signal);
  if (digest == nullptr) return std::nullopt;
  return *std::max_element(digest->values.begin(), digest->values.end());
}
std::optional<double> Growth(const RunDigest& run, std::string_view signal) {
  const Digest* digest = Some(run, signal, 5);
  if (digest == nullptr) return std::nullopt;
  return std::max(std::abs(digest->late), kTiny) / std::max(std::abs(digest->start), kTiny);
}
std::optional<double> Moved(const RunDigest& run, std::string_view signal) {
  const Digest* digest = Some(run, signal, 5);
  return digest == nullptr ? std::nullopt : std::optional(digest->late - digest->start);
}

// ---- rewards

std::optional<double> GainInNoise(const RunDigest& run, std::string_view signal) {
  const Digest* reward = Some(run, signal, 5);
  if (reward == nullptr) return std::nullopt;
  return (reward->late - reward->start) / std::max(reward->noise, kTiny);
}
// Of a reward that begins at next to nothing the gain itself counts.
std::optional<double> RelativeGain(const RunDigest& run, std::string_view signal) {
  const Digest* reward = Some(run, signal, 2);
  if (reward == nullptr) return std::nullopt;
  return (reward->late - reward->start) / std::max(std::abs(reward->start), 0.05);
}
std::optional<double> LostShare(const RunDigest& run, std::string_view signal) {
  const Digest* reward = Some(run, signal, 5);
  if (reward == nullptr) return std::nullopt;
  const double floor = std::min(reward->start, reward->best);
  return (reward->top - reward->late) / std::max(reward->top - floor, kTiny);
}

std::optional<double> RewardGainInNoise(const RunDigest& run) { return GainInNoise(run, "reward"); }
std::optional<double> RewardGain(const RunDigest& run) { return RelativeGain(run, "reward"); }
std::optional<double> RewardLost(const RunDigest& run) { return LostShare(run, "reward"); }
std::optional<double> EvalRewardGain(const RunDigest& run) { return RelativeGain(run, "eval_reward"); }
std::optional<double> EvalRewardLost(const RunDigest& run) { return LostShare(run, "eval_reward"); }

std::optional<double> RewardSpread(const RunDigest& run) {
  const Digest* reward = Some(run, "reward", 3);
  if (reward == nullptr) return std::nullopt;
  const auto [low, high] = std::minmax_element(reward->values.begin(), reward->values.end());
  return *high - *low;
}
std::optional<double> RewardZeroShare(const RunDigest& run) {
  const Digest* reward = Some(run, "reward", 3);
  return reward == nullptr ? std::nullopt : std::optional(reward->ShareAtEnd(0));
}

std::optional<double> RewardDeviation(const RunDigest& run) { return Late(run, "reward_std"); }
std::optional<double> ZeroVariance(const RunDigest& run) { return Late(run, "zero_std_share"); }
std::optional<double> Truncated(const RunDigest& run) { return Late(run, "truncated_share"); }
std::optional<double> LengthGrowth(const RunDigest& run) { return Growth(run, "completion_length"); }
std::optional<double> Entropy(const RunDigest& run) { return Late(run, "entropy"); }
std::optional<double> EntropyLeft(const RunDigest& run) { return Growth(run, "entropy"); }
std::optional<double> Kl(const RunDigest& run) { return Late(run, "kl"); }
std::optional<double> KlPeak(const RunDigest& run) { return Peak(run, "kl"); }
std::optional<double> PolicyKl(const RunDigest& run) { return Late(run, "policy_kl"); }
std::optional<double> ValueLossGrowth(const RunDigest& run) { return Growth(run, "value_loss"); }

// ---- preferences

std::optional<double> Margin(const RunDigest& run) { return Late(run, "preference_margin"); }
std::optional<double> MarginSpread(const RunDigest& run) {
  const Digest* margin = Some(run, "preference_margin", 3);
  if (margin == nullptr) return std::nullopt;
  const auto [low, high] = std::minmax_element(margin->values.begin(), margin->values.end());
  return *high - *low;
}
std::optional<double> ChosenMoved(const RunDigest& run) { return Moved(run, "preference_chosen"); }
// Equal log-probabilities mean equal texts.
std::optional<double> LogpApart(const RunDigest& run) {
  const Digest* chosen = Some(run, "preference_logp_chosen");
  const Digest* rejected = Some(run, "preference_logp_rejected");
  if (chosen == nullptr || rejected == nullptr) return std::nullopt;
  return std::abs(chosen->Level(0, 1) - rejected->Level(0, 1));
}

// ---- adversarial

std::optional<double> DiscriminatorLoss(const RunDigest& run) { return Late(run, "discriminator_loss"); }
std::optional<double> GeneratorLoss(const RunDigest& run) { return Late(run, "generator_loss"); }
std::optional<double> GeneratorGrowth(const RunDigest& run) { return Growth(run, "generator_loss"); }

// ---- what kind of training it is

std::optional<double> IsReinforcement(const RunDigest& run) { return run.IsReinforcement() ? 1 : 0; }
std::optional<double> IsPreference(const RunDigest& run) { return Logged(run.run(), "preference_margin") ? 1 : 0; }
std::optional<double> IsAdversarial(const RunDigest& run) { return diagnose::IsAdversarial(run.run()) ? 1 : 0; }

constexpr std::array kMeasures = {
    NamedMeasure{"reward-gain-in-noise", RewardGainInNoise},
    NamedMeasure{"reward-gain", RewardGain},
    NamedMeasure{"reward-lost", RewardLost},
    NamedMeasure{"reward-spread", RewardSpread},
    NamedMeasure{"reward-zero-share", RewardZeroShare},
    NamedMeasure{"eval-reward-gain", EvalRewardGain},
    NamedMeasure{"eval-reward-lost", EvalRewardLost},
    NamedMeasure{"reward-deviation", RewardDeviation},
    NamedMeasure{"zero-variance-share", ZeroVariance},
    NamedMeasure{"truncated-level", Truncated},
    NamedMeasure{"length-growth", LengthGrowth},
    NamedMeasure{"entropy-level", Entropy},
    NamedMeasure{"entropy-left", EntropyLeft},
    NamedMeasure{"kl-level", Kl},
    NamedMeasure{"kl-peak", KlPeak},
    NamedMeasure{"policy-kl-level", PolicyKl},
    NamedMeasure{"value-loss-growth", ValueLossGrowth},
    NamedMeasure{"margin-level", Margin},
    NamedMeasure{"margin-spread", MarginSpread},
    NamedMeasure{"chosen-moved", ChosenMoved},
    NamedMeasure{"logps-apart", LogpApart},
    NamedMeasure{"discriminator-loss-level", DiscriminatorLoss},
    NamedMeasure{"generator-loss-level", GeneratorLoss},
    NamedMeasure{"generator-loss-growth", GeneratorGrowth},
    NamedMeasure{"is-reinforcement", IsReinforcement},
    NamedMeasure{"is-preference", IsPreference},
    NamedMeasure{"is-adversarial", IsAdversarial},
};

}  // namespace

std::span<const NamedMeasure> PolicyMeasures() { return kMeasures; }

}  // namespace vigil::diagnose
