#include <algorithm>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// A stretch of points with exactly one value.
struct Stretch {
  Sample first;
  std::int64_t last_step = 0;
  double value_before = 0;
  std::uint64_t points = 0;
  std::uint64_t moving_gradients = 0;  // points of it with a finite gradient norm above zero
};

class Collapse : public Cloned<Collapse> {
 public:
  explicit Collapse(const Context& context)
      : places_(context),
        enabled_(!context.reinforcement),
        running_mean_(context.primary != nullptr && context.primary->aggregation == model::Aggregation::kRunningMean),
        zero_points_(context.Threshold("zero_points")),
        constant_points_(context.Threshold("constant_points")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1) {
      grad_ = sample;
      return;
    }
    if (!enabled_ || !std::isfinite(sample.value)) return;
    ++points_;
    if (current_.points == 0 || sample.value != current_.first.value) {
      current_ = {sample, sample.step, ValueBefore(sample), 0, 0};
    }
    ++current_.points;
    current_.last_step = sample.step;
    if (grad_.step == sample.step && grad_.value > 0) ++current_.moving_gradients;
    zeros_ += sample.value == 0.0 ? 1 : 0;
    if (sample.value != 0.0) before_.Push(sample.value);
    // A multiple of the finest unit so far has none that is finer.
    if (!IsMultiple(sample.value, resolution_)) resolution_ = std::min(resolution_, ResolutionOf(sample.value));
    if (IsCollapsed(current_) && current_.points > worst_.points) worst_ = current_;
  }

  void Restart(std::int64_t step) override {
    current_ = {};
    if (worst_.first.step >= step) worst_ = {};
    worst_.last_step = std::min(worst_.last_step, step - 1);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (!enabled_ || worst_.points == 0) return;
    const bool at_end = worst_.last_step == current_.last_step && worst_.first.step == current_.first.step;
    const double value = worst_.first.value;
    model::Finding finding = MakeFinding(
        worst_.first.step, worst_.last_step,
        says::LossCollapseConstant{.value = value, .points = worst_.points, .first = places_.At(worst_.first.step)});
    if (!at_end && static_cast<double>(zeros_) < 0.5 * static_cast<double>(points_))
      finding.severity = model::Severity::kWarning;
    AddEvidence(finding,
                says::LossCollapseFromTo{
                    .value = value, .first = places_.At(worst_.first.step), .last = places_.At(worst_.last_step)},
                worst_.first.step, value, worst_.first.line);
    AddMeasure(finding, "value", value);
    AddMeasure(finding, "points", static_cast<double>(worst_.points));
    AddMeasure(finding, "at_end", at_end ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  static constexpr double kUnknown = -1;
  // Below this a loss rounded to four decimals may well print as 0.
  static constexpr double kNearZero = 0.02;
  // With fewer units than this in the value, the log rounds so much that a real loss repeats itself.
  static constexpr double kDigits = 2000;
  double resolution_ = 1;

  // The level that a stretch of zeros fell from; of other values it is not asked.
  double ValueBefore(const Sample& sample) const {
    if (points_ == 1) return kUnknown;
    return sample.value == 0.0 ? before_.Median() : 0;
  }

  // To the last unit that is distinguished, every value is a multiple.
  static bool IsMultiple(double value, double unit) {
    return unit <= 1e-6 || !(std::abs(value / unit - std::round(value / unit)) > 1e-6);
  }
  // The unit of the last decimal that the value has, down to 1e-6.
  static double ResolutionOf(double value) {
    double unit = 1;
    while (!IsMultiple(value, unit)) unit /= 10;
    return unit;
  }

  bool IsCollapsed(const Stretch& stretch) const {
    const auto points = static_cast<double>(stretch.points);
    if (stretch.first.value == 0.0) {
      const bool from_start = stretch.value_before == kUnknown && points >= 2 * zero_points_;
      return from_start || (stretch.value_before > kNearZero && points >= zero_points_);
    }
    // A loss that does not move while the gradient does is a rounded or a smoothed one.
    const bool rounded = std::abs(stretch.first.value) < kDigits * resolution_;
    // And late in an epoch a mean over all of it moves by less than the last digit.
    return !running_mean_ && points >= constant_points_ && stretch.moving_gradients * 2 < stretch.points && !rounded;
  }

  Places places_;
  bool enabled_;
  bool running_mean_;
  double zero_points_;
  double constant_points_;
  Sample grad_{1, model::kNoStep, 0, 0};
  Stretch current_;
  Stretch worst_;
  stats::RobustWindow before_{9};  // the last values that are not 0: one large batch among small ones says nothing
  std::uint64_t points_ = 0;
  std::uint64_t zeros_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeCollapse(const Context& context) {
  return std::make_unique<StartedOver<Collapse>>(context);
}

}  // namespace vigil::detect
