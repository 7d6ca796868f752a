// The published rules that people would use instead, as small functions over the same series: each as its source states
// it, with the defaults that it ships. A rule that needs a series which the run has not logged does not fire.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/run.h"

namespace vigil::scale {

// The series of a run that such rules look at; null where it was not logged.
struct Watched {
  const model::Series* loss = nullptr;
  const model::Series* grad_norm = nullptr;
  const model::Series* eval_loss = nullptr;
};
Watched WatchedOf(const model::Run& run);

// The step at which a rule first fires; nullopt when it never does.
using Fired = std::optional<std::int64_t>;

// OLMo-core's SkipStepOptimizer: loss or gradient norm more than 6 standard deviations above the mean of the 128 values
// before it, once there are 64.
Fired OlmoSixSigma(const Watched& watched);
// Megatron-LM's rerun state machine: a non-finite loss, or one at 10 times the largest of the first 100.
Fired MegatronTenTimes(const Watched& watched);
// llm-foundry's KillLossSpike: five losses in a row at twice the mean of the last 100 or 5% of the run; or, from two
// windows on, half of a window above the cap.
Fired KillLossSpike(const Watched& watched);
// ZClip: a gradient norm at 2.5 standard deviations above its exponential mean (0.97), after 25 values.
Fired ZClip(const Watched& watched);
// axolotl's watchdog with the threshold that its documentation advises (twice the first loss) and its patience of 3.
Fired AxolotlWatchdog(const Watched& watched);

// Of Amazon SageMaker Debugger: the loss did not fall by 0.1% in 10 steps.
Fired LossNotDecreasing(const Watched& watched);
// A value of loss or gradient that is not finite.
Fired ExplodingTensor(const Watched& watched);
// A mean absolute gradient below 1e-7; the norm stands for it, which is never smaller.
Fired VanishingGradient(const Watched& watched);
// Validation loss above training loss by a tenth of it, at more than one evaluation in a row.
Fired Overfit(const Watched& watched);
// Training loss without a gain of 0.01 for 5 points, and validation loss for 10.
Fired Overtraining(const Watched& watched);

struct PeerRule {
  std::string_view name;
  Fired (*fires)(const Watched& watched);
  bool (*applies)(const Watched& watched);  // whether the run has what it looks at
};
// All of them, in the order of the table.
std::span<const PeerRule> PeerRules();

}  // namespace vigil::scale
