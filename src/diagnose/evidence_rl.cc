// Evidence about reinforcement learning: rewards, groups, entropy, lengths.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

std::vector<double> All(const model::Run& run, std::string_view signal) {
  return FiniteValues(LastCourse(run.Find(signal)).View());
}

double Spread(const std::vector<double>& values) {
  return values.empty() ? model::kNoValue : Quantile(values, 1.0) - Quantile(values, 0.0);
}

bool IsConstant(const std::vector<double>& values) {
  return values.size() >= 5 && Spread(values) <= 1e-6 * std::max(1.0, std::abs(values.front()));
}

Answer ReinforcementRun(const model::Run& run, const Incident&) {
  if (IsReinforcement(run)) return Yes("this is reinforcement learning: its loss is no measure of learning");
  if (run.regime.confidence >= model::kRegimeKnown || !Logged(run, "reward"))
    return No("this is no reinforcement learning");
  return Unknown();
}

// Whether the policy writes text: games and robots have neither completions nor prompts.
Answer LanguagePolicy(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  for (const std::string_view signal : {"completion_length", "truncated_share", "zero_std_share"}) {
    if (Logged(run, signal)) return Yes("the policy writes completions");
  }
  return run.InRegime("grpo") ? Yes("the policy writes completions") : No("no sign of completions in the log");
}

Answer RewardConstant(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  if (reward.size() < 5) return Unknown();
  if (!IsConstant(reward))
    return No(fmt::format("the mean reward varies between {} and {}", FormatNumber(Quantile(reward, 0)),
                          FormatNumber(Quantile(reward, 1))),
              model::kNoStep, reward.back());
  std::size_t functions = 0;
  for (const model::Series& series : run.series) {
    if (series.signal == "reward_of" && IsConstant(FiniteValues(LastCourse(&series).View()))) ++functions;
  }
  const std::string of = functions > 1 ? fmt::format(" (all {} reward functions)", functions) : "";
  return Yes(fmt::format("the reward is {} on every one of {} logged steps{}", FormatNumber(reward.front()),
                         run.Find("reward")->size(), of),
             model::kNoStep, reward.front());
}

// Share of the logged steps on which no group of completions had two different rewards.
double StepsWithoutVariance(const model::Run& run) {
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

Answer RewardIgnoresCompletion(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  const double without = StepsWithoutVariance(run);
  if (reward.size() < 5 || std::isnan(without) || IsConstant(reward)) return Unknown();
  if (without < 0.5)
    return No(fmt::format("completions of one prompt get different rewards on {}% of the steps",
                          FormatNumber(100 * (1 - without))));
  if (without < 0.9) return Unknown();
  return Yes(
      fmt::format("the reward differs between prompts (from {} to {}) but on {}% of the steps never between "
                  "completions of one prompt",
                  FormatNumber(Quantile(reward, 0)), FormatNumber(Quantile(reward, 1)), FormatNumber(100 * without)));
}

Answer AnySuccess(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  if (reward.size() < 5) return Unknown();
  const double best = Quantile(reward, 1.0);
  const double worst = Quantile(reward, 0.0);
  if (best > worst + 1e-6)
    return Yes(fmt::format("some completions are rewarded (mean up to {})", FormatNumber(best)), model::kNoStep, best);
  if (best <= 0) return No("nothing was ever rewarded", model::kNoStep, best);
  return Unknown();
}

Answer CompletionsVary(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> entropy = All(run, "entropy");
  if (entropy.size() >= 5) {
    const double late = Median({entropy.end() - std::min<std::ptrdiff_t>(10, std::ssize(entropy)), entropy.end()});
    if (late > 0.1)
      return Yes(fmt::format("completions differ: entropy is {}", FormatNumber(late)), model::kNoStep, late);
    if (late < 0.02)
      return No(fmt::format("completions are all alike: entropy is {}", FormatNumber(late)), model::kNoStep, late);
  }
  const std::vector<double> shortest = All(run, "completion_length_min");
  const std::vector<double> longest = All(run, "completion_length_max");
  if (shortest.size() < 5 || longest.size() < 5) return Unknown();
  if (Median(longest) > 1.2 * Median(shortest))
    return Yes(fmt::format("completions differ: {} to {} tokens long", FormatNumber(Median(shortest)),
                           FormatNumber(Median(longest))));
  return Unknown();
}

Answer EntropyCollapsed(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> entropy = All(run, "entropy");
  if (entropy.size() < 5) return Unknown();
  const auto few = std::min<std::ptrdiff_t>(10, std::max<std::ptrdiff_t>(3, std::ssize(entropy) / 10));
  const double start = Median({entropy.begin(), entropy.begin() + few});
  const double end = Median({entropy.end() - few, entropy.end()});
  const std::string text = fmt::format("entropy went from {} to {}", FormatNumber(start), FormatNumber(end));
  if (end < 0.05 && end < 0.3 * start) return Yes(text, model::kNoStep, end);
  if (end > 0.1 && end > 0.3 * start) return No(text, model::kNoStep, end);
  return Unknown();
}

Answer ZeroStdRising(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> share = All(run, "zero_std_share");
  if (share.size() < 12) return Unknown();
  // A policy can break within a few steps: the first ones are what it was.
  const double start = stats::Mean(std::span(share).first(5));
  const double end = stats::Mean(std::span(share).last(share.size() / 3));
  const std::string text =
      fmt::format("the share of groups without variance went from {} to {}", FormatNumber(start), FormatNumber(end));
  if (end > start + 0.3) return Yes(text, model::kNoStep, end);
  return end <= start + 0.1 ? No(text, model::kNoStep, end) : Unknown();
}

Answer TruncatedFromStart(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> share = All(run, "truncated_share");
  if (share.size() < 5) return Unknown();
  // Before the policy has changed: what it does later may be its own doing.
  const double start = 0.5 * (share[0] + share[1]);
  const std::string text =
      fmt::format("{}% of the completions were cut off in the first steps", FormatNumber(100 * start));
  if (start > 0.6) return Yes(text, model::kNoStep, start);
  if (start < 0.3)
    return No(fmt::format("only {}% of the completions were cut off at first", FormatNumber(100 * start)),
              model::kNoStep, start);
  return Unknown();
}

Answer LengthAtLimit(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> length = All(run, "completion_length");
  if (length.size() < 5) return Unknown();
  auto limit = run.FactNumber("max_completion_length");
  if (!limit) {
    const std::vector<double> longest = All(run, "completion_length_max");
    if (longest.size() >= 5 && Spread(longest) == 0) limit = longest.front();
  }
  if (!limit || !(*limit > 0)) return Unknown();
  const double middle = Median(length);
  const std::string text =
      fmt::format("the mean length is {} of at most {} tokens", FormatNumber(middle), FormatNumber(*limit));
  if (middle > 0.9 * *limit) return Yes(text, model::kNoStep, middle);
  return middle < 0.6 * *limit ? No(text, model::kNoStep, middle) : Unknown();
}

Answer RewardRose(const model::Run& run, const Incident&) {
  if (!IsReinforcement(run)) return Moot();
  const std::vector<double> reward = All(run, "reward");
  if (reward.size() < 12) return Unknown();
  const auto quarter = std::ssize(reward) / 4;
  const double start = Median({reward.begin(), reward.begin() + quarter});
  const double end = Median({reward.end() - quarter, reward.end()});
  const double error = 1.25 * stats::NoiseSigma(reward) * std::sqrt(2.0 / static_cast<double>(quarter));
  const std::string text = fmt::format("the mean reward went from {} to {}", FormatNumber(start), FormatNumber(end));
  if (end > start + std::max(4 * error, 0.05 * std::abs(start) + 1e-6)) return Yes(text, model::kNoStep, end);
  return No(text, model::kNoStep, end);
}

constexpr std::array kTests = {
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
};

}  // namespace

std::span<const NamedTest> RlTests() { return kTests; }

}  // namespace vigil::diagnose
