// Evidence about reinforcement learning: rewards, groups, entropy, lengths.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

std::vector<double> All(const RunView& run, std::string_view signal) {
  return FiniteValues(LastCourse(run, signal).View());
}

double Spread(const std::vector<double>& values) {
  return values.empty() ? model::kNoValue : Quantile(values, 1.0) - Quantile(values, 0.0);
}

// Beyond the rounding of a mean over many equal rewards.
bool IsConstant(const std::vector<double>& values) {
  return values.size() >= 5 && Spread(values) <= 1e-6 * std::max(1.0, std::abs(values.front()));
}

Answer ReinforcementRun(const RunView& run, const Incident&) {
  if (IsReinforcement(run)) return Yes(says::ReinforcementRunYes{});
  if (run->method.confidence >= model::kMethodKnown || !Logged(run, "reward")) return No(says::ReinforcementRunNo{});
  return Unknown();
}

bool WritesText(const RunView& run) {
  constexpr std::array<std::string_view, 3> kOfCompletions = {"completion_length", "truncated_share", "zero_std_share"};
  return run.HasMethod("grpo") || run.HasMethod("ppo") ||
         std::any_of(kOfCompletions.begin(), kOfCompletions.end(),
                     [&](std::string_view signal) { return Logged(run, signal); });
}

// Whether the policy writes text: games and robots have neither completions nor prompts.
Answer LanguagePolicy(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  for (const std::string_view signal : {"completion_length", "truncated_share", "zero_std_share"}) {
    if (Logged(run, signal)) return Yes(says::LanguagePolicyYes{});
  }
  return run.HasMethod("grpo") ? Yes(says::LanguagePolicyYes{}) : No(says::LanguagePolicyNo{});
}

// That all functions are constant speaks for the data they get, one alone for its own code.
std::size_t ConstantRewardFunctions(const RunView& run) {
  return static_cast<std::size_t>(
      std::count_if(run->series.begin(), run->series.end(), [&](const model::Series& series) {
        return series.signal == "reward_of" && run.Has(series) && IsConstant(FiniteValues(Course(run, &series).View()));
      }));
}

Answer RewardConstant(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  if (reward.size() < 5) return Unknown();
  if (!IsConstant(reward))
    return No(says::RewardConstantNo{.lowest = Quantile(reward, 0), .highest = Quantile(reward, 1)}, {}, reward.back());
  const std::size_t functions = ConstantRewardFunctions(run);
  const std::size_t points = run.Find("reward")->size();
  if (functions <= 1)
    return Yes(says::RewardConstantYes{.reward = reward.front(), .points = points}, {}, reward.front());
  return Yes(says::RewardConstantYesFunctions{.reward = reward.front(), .points = points, .functions = functions}, {},
             reward.front());
}

// Share of the logged steps on which no group of completions had two different rewards.
double StepsWithoutVariance(const RunView& run) {
  const std::vector<double> share = All(run, "zero_std_share");
  if (share.size() >= 5) {
    const auto full = std::count_if(share.begin(), share.end(), [](double value) { return value >= 0.999; });
    return static_cast<double>(full) / static_cast<double>(share.size());
  }
  const std::vector<double> deviation = All(run, "reward_std");
  if (deviation.size() < 5) return model::kNoValue;
  const auto none = std::count_if(deviation.begin(), deviation.end(), [](double value) { return value <= 1e-9; });
  return static_cast<double>(none) / static_cast<double>(deviation.size());
}

// The mean moves with the prompts while no group has a spread: the function looks at the prompt only.
Answer RewardIgnoresCompletion(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  const double without = StepsWithoutVariance(run);
  if (reward.size() < 5 || std::isnan(without) || IsConstant(reward)) return Unknown();
  if (without < 0.5) return No(says::RewardIgnoresCompletionNo{.share = 1 - without});
  if (without < 0.9) return Unknown();
  return Yes(says::RewardIgnoresCompletionYes{
      .lowest = Quantile(reward, 0), .highest = Quantile(reward, 1), .share = without});
}

// A reward of text is a mark, and one that varies was given for something. A game pays for any way to play it.
Answer AnySuccess(const RunView& run, const Incident&) {
  if (!IsReinforcement(run) || !WritesText(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  if (reward.size() < 5) return Unknown();
  const double best = Quantile(reward, 1.0);
  const double worst = Quantile(reward, 0.0);
  if (best > worst + 1e-6) return Yes(says::AnySuccessYes{.best = best}, {}, best);
  if (best <= 0) return No(says::AnySuccessNo{}, {}, best);
  return Unknown();
}

Answer CompletionsVary(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> entropy = All(run, "entropy");
  if (entropy.size() >= 5) {
    const double late = Median({entropy.end() - std::min<std::ptrdiff_t>(10, std::ssize(entropy)), entropy.end()});
    if (late > 0.1) return Yes(says::CompletionsVaryYes{.entropy = late}, {}, late);
    if (late < 0.02) return No(says::CompletionsVaryNo{.entropy = late}, {}, late);
  }
  const std::vector<double> shortest = All(run, "completion_length_min");
  const std::vector<double> longest = All(run, "completion_length_max");
  if (shortest.size() < 5 || longest.size() < 5) return Unknown();
  if (Median(longest) > 1.2 * Median(shortest))
    return Yes(says::CompletionsVaryYesLength{.shortest = Median(shortest), .longest = Median(longest)});
  return Unknown();
}

// Both in absolute terms and against its own start: some policies begin with little entropy and learn well.
Answer EntropyCollapsed(const RunView& run, const Incident& incident) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> entropy = All(run, "entropy");
  if (entropy.size() < 5) return Unknown();
  const auto few = std::min<std::ptrdiff_t>(10, std::max<std::ptrdiff_t>(3, std::ssize(entropy) / 10));
  const double start = Median({entropy.begin(), entropy.begin() + few});
  const double end = Median({entropy.end() - few, entropy.end()});
  const says::EntropyCollapsedSeen seen{.start = start, .end = end};
  // The finding compares a policy of games with its own start, and with a choice between two.
  if (incident.Has("rl/entropy-collapse") && end < 0.15) return Yes(seen, {}, end);
  if (end < 0.05 && end < 0.3 * start) return Yes(seen, {}, end);
  if (end > 0.1 && end > 0.3 * start) return No(seen, {}, end);
  return Unknown();
}

Answer ZeroStdRising(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> share = All(run, "zero_std_share");
  if (share.size() < 12) return Unknown();
  // A policy can break within a few steps: the first ones are what it was.
  const double start = stats::Mean(std::span(share).first(5));
  const double end = stats::Mean(std::span(share).last(share.size() / 3));
  const says::ZeroStdRisingSeen seen{.start = start, .end = end};
  if (end > start + 0.3) return Yes(seen, {}, end);
  return end <= start + 0.1 ? No(seen, {}, end) : Unknown();
}

// A point counts for the steps that it is the mean of: three of several steps each are as good as five of one.
bool IsEnough(const RunView& run, std::string_view signal, std::size_t points) {
  constexpr double kOfSeveral = 2;
  const model::Series* series = run.Find(signal);
  return points >= 5 || (points >= 3 && series != nullptr && IntervalOf(*series) >= kOfSeveral);
}

Answer TruncatedFromStart(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> share = All(run, "truncated_share");
  if (!IsEnough(run, "truncated_share", share.size())) return Unknown();
  // Before the policy has changed: what it does later may be its own doing.
  const double start = 0.5 * (share[0] + share[1]);
  if (start > 0.6) return Yes(says::TruncatedFromStartYes{.share = start}, {}, start);
  if (start < 0.3) return No(says::TruncatedFromStartNo{.share = start}, {}, start);
  return Unknown();
}

// A limit that was not stated shows as a longest completion that never changes.
Answer LengthAtLimit(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> length = All(run, "completion_length");
  if (!IsEnough(run, "completion_length", length.size())) return Unknown();
  auto limit = run.FactNumber("max_completion_length");
  if (!limit) {
    const std::vector<double> longest = All(run, "completion_length_max");
    if (longest.size() >= 5 && Spread(longest) == 0) limit = longest.front();
  }
  if (!limit || !(*limit > 0)) return Unknown();
  const double middle = Median(length);
  const says::LengthAtLimitSeen seen{.mean = middle, .limit = *limit};
  if (middle > 0.9 * *limit) return Yes(seen, {}, middle);
  return middle < 0.6 * *limit ? No(seen, {}, middle) : Unknown();
}

// Against the noise of the reward itself: means over few prompts jump.
Answer RewardRose(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  if (reward.size() < 12) return Unknown();
  const auto quarter = std::ssize(reward) / 4;
  const double start = Median({reward.begin(), reward.begin() + quarter});
  const double end = Median({reward.end() - quarter, reward.end()});
  const double error = 1.25 * stats::NoiseSigma(reward) * std::sqrt(2.0 / static_cast<double>(quarter));
  const says::RewardRoseSeen seen{.start = start, .end = end};
  if (end > start + std::max(4 * error, 0.05 * std::abs(start) + 1e-6)) return Yes(seen, {}, end);
  return No(seen, {}, end);
}

// From its first points on, and never clearly above them: what a wrong sign looks like.
Answer RewardFellFromStart(const RunView& run, const Incident& incident) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  if (reward.size() < 12) return Unknown();
  const model::Finding* fell = incident.Find("rl/reward-collapse");
  const double start = Median({reward.begin(), reward.begin() + 3});
  const double end = Median({reward.end() - std::ssize(reward) / 4, reward.end()});
  const says::RewardFellFromStartSeen seen{.start = start, .end = end};
  const bool from_start = fell != nullptr && fell->MeasureOr("from_start", 0) > 0;
  return from_start ? Yes(seen, {}, end) : No(seen, {}, end);
}

// KL divergences of single updates. What a policy of games logs as "KL" is that of its update: it has no reference.
std::vector<double> UpdateKl(const RunView& run) {
  std::vector<double> kl = All(run, "policy_kl");
  if (kl.empty() && !WritesText(run)) kl = All(run, "kl");
  for (double& value : kl) value = std::abs(value);  // estimates of next to nothing scatter around it
  return kl;
}

Answer PolicyHardlyMoves(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> kl = UpdateKl(run);
  if (kl.size() < 5) return Unknown();
  const double middle = Median(kl);
  // Clipped updates are a hundredth or so; a policy that became certain does not move either, and is another matter.
  constexpr double kNothing = 1e-5;
  constexpr double kSomething = 1e-4;
  const says::PolicyHardlyMovesSeen seen{.kl = middle};
  const std::vector<double> entropy = All(run, "entropy");
  const bool certain = !entropy.empty() && entropy.back() < 0.5 * Quantile(entropy, 1.0);
  if (middle < kNothing && !certain) return Yes(seen, {}, middle);
  return middle > kSomething || certain ? No(seen, {}, middle) : Unknown();
}

// Updates of the usual size that bring nothing: the policy follows noise, because what it sees does not show the way.
Answer LearnsInVain(const RunView& run, const Incident& incident) {
  constexpr double kUsual = 2e-3;
  if (!IsReinforcement(run) || !incident.Has("rl/reward-flat")) return Moot();
  const std::vector<double> kl = UpdateKl(run);
  if (kl.size() < 5) return Unknown();
  const says::LearnsInVainSeen seen{.kl = Median(kl)};
  return Median(kl) > kUsual ? Yes(seen, {}, Median(kl)) : No(seen, {}, Median(kl));
}

// The detector asks for orders of magnitude where a reward is logged, and that the reward did not rise.
Answer ValueLossRanAway(const RunView& run, const Incident& incident) {
  if (!IsReinforcement(run) || WritesText(run)) return Moot();
  const model::Finding* grew = incident.Find("loss/divergence");
  if (grew == nullptr) return Unknown();
  return Yes(says::ValueLossRanAwayYes{.best = grew->MeasureOr("best", 0), .end = grew->MeasureOr("end", 0)},
             grew->first);
}

Answer PolicyWasThrown(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> kl = UpdateKl(run);
  if (kl.size() < 5) return Unknown();
  const double largest = Quantile(kl, 1.0);
  const says::PolicyWasThrownSeen seen{.kl = largest};
  if (largest > 1) return Yes(seen, {}, largest);
  return largest < 0.3 ? No(seen, {}, largest) : Unknown();
}

// A bonus for entropy that outweighs the reward pulls the policy back to where it was: updates do something, but less
// than the hundredth or so of an update that follows the reward.
Answer PolicyHeldRandom(const RunView& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> kl = UpdateKl(run);
  const std::vector<double> entropy = All(run, "entropy");
  if (kl.size() < 5 || entropy.size() < 12) return Unknown();
  const double end = Median({entropy.end() - std::ssize(entropy) / 4, entropy.end()});
  const says::PolicyHeldRandomSeen seen{.entropy = end, .kl = Median(kl)};
  const bool random = end > 0.98 * Median({entropy.begin(), entropy.begin() + 3});
  return random && Median(kl) > 1e-4 && Median(kl) < 2e-3 ? Yes(seen, {}, end) : No(seen, {}, end);
}

// The detectors compare the two losses; without a discriminator there are no sides.
Answer OneSideWon(const RunView& run, const Incident& incident) {
  if (!Logged(run, "discriminator_loss")) return No(says::OneSideWonNo{});
  const auto won = std::find_if(incident.findings.begin(), incident.findings.end(),
                                [](const model::Finding* finding) { return finding->MeasureOr("adversarial", 0) > 0; });
  return won == incident.findings.end() ? Unknown() : Yes(says::OneSideWonYes{.what = (*won)->says}, (*won)->first);
}

// A value function that learns from its own estimates: its loss is that of numbers that grow.
Answer ValueLossGrows(const RunView& run, const Incident&) {
  constexpr std::size_t kFewest = 10;
  constexpr double kTimes = 100;
  const std::vector<double> losses = All(run, "value_loss");
  if (losses.size() < kFewest) return Unknown();
  // Before the first update it is 0.
  const auto begin = std::find_if(losses.begin(), losses.end(), [](double loss) { return loss > 0; });
  if (losses.end() - begin < static_cast<std::ptrdiff_t>(kFewest)) return Unknown();
  const double first = stats::Median({begin, begin + 3});
  const double last = stats::Median({losses.end() - 3, losses.end()});
  if (last < kTimes * first) return No(says::ValueLossGrowsNo{.first = first, .last = last}, {}, last);
  return Yes(says::ValueLossGrowsYes{.first = first, .last = last, .times = last / first}, {}, last);
}

constexpr std::array kTests = {
    NamedTest{"value-loss-grows", ValueLossGrows},
    NamedTest{"reinforcement-run", ReinforcementRun},
    NamedTest{"language-policy", LanguagePolicy},
    NamedTest{"reward-constant", RewardConstant},
    NamedTest{"reward-ignores-completion", RewardIgnoresCompletion},
    NamedTest{"any-success", AnySuccess},
    NamedTest{"completions-vary", CompletionsVary},
    NamedTest{"entropy-collapsed", EntropyCollapsed},
    NamedTest{"zero-std-rising", ZeroStdRising},
    NamedTest{"truncated-from-start", TruncatedFromStart},
    NamedTest{"length-at-limit", LengthAtLimit},
    NamedTest{"reward-rose", RewardRose},
    NamedTest{"reward-fell-from-start", RewardFellFromStart},
    NamedTest{"policy-hardly-moves", PolicyHardlyMoves},
    NamedTest{"learns-in-vain", LearnsInVain},
    NamedTest{"value-loss-ran-away", ValueLossRanAway},
    NamedTest{"policy-was-thrown", PolicyWasThrown},
    NamedTest{"policy-held-random", PolicyHeldRandom},
    NamedTest{"one-side-won", OneSideWon},
};

}  // namespace

std::span<const NamedTest> RlTests() { return kTests; }

}  // namespace vigil::diagnose
