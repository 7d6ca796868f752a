#include <cmath>
#include <limits>

#include "detect/detect.h"
#include "detect/log_baseline.h"

namespace vigil::detect {
namespace {

SpikeLimits LimitsOf(const catalogue::Thresholds& thresholds, std::string_view id, double min_ratio) {
  return {thresholds.Threshold(id, "z"), min_ratio, thresholds.Threshold(id, "beyond_max"),
          Count(thresholds.Threshold(id, "window")), Count(thresholds.Threshold(id, "min_points"))};
}

constexpr std::uint32_t kBecomesTheLevel = 64;  // as in the detectors of spikes

// One of the two signals: its baseline, and how long it has stood out.
struct Watched {
  explicit Watched(const SpikeLimits& given) : limits(given), baseline(given) {}

  // Whether the value is a spike by `z`, or `ratio` times the level.
  bool Judge(double value, double z, double tall, double& ratio) {
    if (!(value > 0)) return false;  // without a logarithm: not judged
    if (!baseline.Ready()) {
      baseline.Push(value);
      return false;
    }
    const Height height = baseline.Measure(value);
    ratio = height.ratio;
    const bool spike = baseline.IsSpike(height, z) || (height.ratio >= tall && height.z > z);
    if (!spike) {
      standing_out = 0;
      baseline.Push(value);
    } else if (++standing_out > kBecomesTheLevel) {
      Clear();
    }
    return spike;
  }
  void Clear() {
    baseline.Clear();
    standing_out = 0;
  }

  SpikeLimits limits;
  LogBaseline baseline;
  std::uint32_t standing_out = 0;
};

constexpr double kSmallestGradRatio = 3;  // as in grad/spike

}  // namespace

struct StepJudge::State {
  explicit State(const catalogue::Thresholds& thresholds)
      : loss(LimitsOf(thresholds, "loss/spike", thresholds.Threshold("loss/spike", "min_ratio"))),
        grad(LimitsOf(thresholds, "grad/spike", kSmallestGradRatio)),
        z_with_grad(thresholds.Threshold("loss/spike", "z_with_grad")),
        grad_ratio(thresholds.Threshold("grad/spike", "ratio")) {}

  Watched loss;
  Watched grad;
  double z_with_grad;
  double grad_ratio;
};

StepJudge::StepJudge(const catalogue::Thresholds& thresholds) : state_(std::make_unique<State>(thresholds)) {}
StepJudge::~StepJudge() = default;
StepJudge::StepJudge(StepJudge&&) noexcept = default;
StepJudge& StepJudge::operator=(StepJudge&&) noexcept = default;

StepVerdict StepJudge::Judge(double loss, double grad_norm) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  StepVerdict verdict;
  verdict.non_finite_loss = !model::IsNoValue(loss) && !std::isfinite(loss);
  verdict.non_finite_grad = !model::IsNoValue(grad_norm) && !std::isfinite(grad_norm);
  if (verdict.IsNonFinite()) return verdict;
  State& state = *state_;
  verdict.grad_spike = state.grad.Judge(grad_norm, state.grad.limits.z, state.grad_ratio, verdict.grad_ratio);
  const double z = verdict.grad_spike ? state.z_with_grad : state.loss.limits.z;
  verdict.loss_spike = state.loss.Judge(loss, z, kNever, verdict.loss_ratio);
  return verdict;
}

void StepJudge::Restart() {
  state_->loss.Clear();
  state_->grad.Clear();
}

}  // namespace vigil::detect
