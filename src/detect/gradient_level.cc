// Detectors of the usual size of gradients: regularly too large, ever wilder, above the clip limit at every step.
#include <algorithm>
#include <limits>
#include <span>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

double Quantile(std::vector<double> values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The factor between the larger and the smaller of the usual values.
double SpreadOf(std::span<const double> logs) {
  const std::vector<double> values(logs.begin(), logs.end());
  return std::exp(Quantile(values, 0.9) - Quantile(values, 0.1));
}

class GradUnstable : public Cloned<GradUnstable> {
 public:
  explicit GradUnstable(const Context& context)
      : places_(context),
        limit_(HasLimit(*context.run) ? context.Threshold("limit") : std::numeric_limits<double>::infinity()),
        share_(context.Threshold("share")),
        spread_(context.Threshold("spread")),
        usual_spread_(context.Threshold("usual_spread")),
        min_points_(Count(context.Threshold("min_points"))),
        reinforcement_(context.reinforcement) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1) return loss_.Add(sample.step, sample.value);
    if (!std::isfinite(sample.value) || sample.value <= 0) return;
    ++points_;
    logs_.Add(sample.step, std::log(sample.value));
    if (sample.value > limit_ && above_++ == 0) first_above_ = sample.step;
  }
  void Restart(std::int64_t step) override {
    logs_.ForgetFrom(step);
    loss_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (points_ < min_points_ || logs_.buckets().size() < kFewest) return;
    const double share = static_cast<double>(above_) / static_cast<double>(points_);
    if (share >= share_)
      return out.push_back(Describe(first_above_, says::GradUnstableRegularly{.limit = limit_, .share = share}));
    // Groups without a signal make norms of nearly 0 between usual ones.
    if (reinforcement_) return;
    const std::vector<double> logs = logs_.Means();
    const double early = SpreadOf(std::span(logs).first(logs.size() / 3));
    const double late = SpreadOf(std::span(logs).last(logs.size() / 3));
    if (late < spread_ || early > usual_spread_) return;
    out.push_back(Describe(logs_.buckets()[2 * logs.size() / 3].first_step,
                           says::GradUnstableSpread{.late = late, .early = early}));
  }

 private:
  // The limit is one of language models that are tuned.
  static bool HasLimit(const model::Run& run) {
    return run.HasMethod("sft") || run.HasMethod("lora") || run.HasMethod("grpo") || run.HasMethod("ppo");
  }

  model::Finding Describe(std::int64_t first, model::Statement says) const {
    model::Finding finding = MakeFinding(first, logs_.buckets().back().last_step, std::move(says));
    // A loss that ends at its best was not harmed by it.
    if (loss_.points() >= 8 && loss_.Improved() && loss_.EndedNearBest()) finding.severity = model::Severity::kInfo;
    const double level = std::exp(logs_.buckets().back().mean);
    AddEvidence(finding, says::GradUnstableEnd{.value = level}, logs_.buckets().back().last_step, level);
    return finding;
  }

  static constexpr std::size_t kFewest = 24;
  Places places_;
  double limit_;
  double share_;
  double spread_;
  double usual_spread_;
  std::size_t min_points_;
  bool reinforcement_;
  std::uint64_t points_ = 0;
  std::uint64_t above_ = 0;
  std::int64_t first_above_ = 0;
  stats::BucketHistory logs_{256};
  LossCourse loss_;
};

class AlwaysClipped : public Cloned<AlwaysClipped> {
 public:
  explicit AlwaysClipped(const Context& context)
      : limit_(context.run->FactNumber("max_grad_norm").value_or(0)),
        // A norm that was taken after clipping is never above the limit.
        enabled_(limit_ > 0 && context.primary->clipping != model::Clipping::kAfter),
        share_(context.Threshold("share")),
        min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (sample.role != 0 || !std::isfinite(sample.value)) return;
    if (points_++ == 0) first_ = sample.step;
    last_ = sample.step;
    above_ += sample.value > limit_ ? 1 : 0;
  }

  void Report(std::vector<model::Finding>& out) const override {
    const double share = points_ == 0 ? 0 : static_cast<double>(above_) / static_cast<double>(points_);
    if (!enabled_ || static_cast<double>(points_) < min_points_ || share < share_) return;
    model::Finding finding = MakeFinding(first_, last_, says::GradAlwaysClippedShare{.limit = limit_, .share = share});
    AddMeasure(finding, "share", share);
    out.push_back(std::move(finding));
  }

 private:
  double limit_;
  bool enabled_;
  double share_;
  double min_points_;
  std::uint64_t points_ = 0;
  std::uint64_t above_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeGradUnstable(const Context& context) {
  return std::make_unique<StartedOver<GradUnstable>>(context);
}
std::unique_ptr<Detector> MakeAlwaysClipped(const Context& context) {
  return std::make_unique<StartedOver<AlwaysClipped>>(context);
}

}  // namespace vigil::detect
