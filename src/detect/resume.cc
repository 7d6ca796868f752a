#include <algorithm>
#include <deque>
#include <optional>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

class ResumeJump : public Cloned<ResumeJump> {
 public:
  explicit ResumeJump(const Context& context)
      : places_(context),
        enabled_(!context.reinforcement),
        z_(context.Threshold("z")),
        min_log_ratio_(std::log(context.Threshold("min_ratio"))) {}

  void Observe(const Sample& sample) override {
    if (sample.role != 0 || !std::isfinite(sample.value) || sample.value <= 0) return;
    if (waiting_) {
      after_.push_back(sample);
      if (after_.size() == kAfter) Judge();
    }
    recent_.push_back(sample);
    if (recent_.size() > kRecent) recent_.pop_front();
    if (first_step_ == model::kNoStep) first_step_ = sample.step;
  }

  void Restart(std::int64_t step) override {
    if (waiting_) Judge();
    ++restarts_;
    before_.clear();
    overwritten_.clear();
    for (const Sample& sample : recent_) {
      if (sample.step < step) {
        before_.push_back(sample);
      } else if (overwritten_.size() < kAfter) {
        overwritten_.push_back(sample);
      }
    }
    if (before_.size() > kBefore) before_.erase(before_.begin(), before_.end() - static_cast<std::ptrdiff_t>(kBefore));
    // A later restart continues from here, not from what this one overwrote.
    while (!recent_.empty() && recent_.back().step >= step) recent_.pop_back();
    // A run that starts over is another run, not a resumed one.
    waiting_ = first_step_ != model::kNoStep && step > first_step_ && before_.size() >= kFewest;
    after_.clear();
  }
  void Resume(std::int64_t step) override { Restart(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (!enabled_) return;
    std::optional<model::Finding> found = worst_;
    if (waiting_ && after_.size() >= kFewest) {
      if (auto pending = Compare(); pending && (!found || pending->MeasureOr("z", 0) > found->MeasureOr("z", 0)))
        found = std::move(pending);
    }
    if (found) out.push_back(*found);
  }

 private:
  static std::vector<double> Logs(const std::vector<Sample>& samples) {
    std::vector<double> logs;
    logs.reserve(samples.size());
    for (const Sample& sample : samples) logs.push_back(std::log(sample.value));
    return logs;
  }

  static std::vector<Sample> FirstOf(const std::vector<Sample>& samples, std::size_t count) {
    return {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(std::min(count, samples.size()))};
  }

  void Judge() {
    waiting_ = false;
    if (after_.size() < kFewest) return;
    auto finding = Compare();
    if (finding && (!worst_ || finding->MeasureOr("z", 0) > worst_->MeasureOr("z", 0))) worst_ = std::move(finding);
  }

  std::optional<model::Finding> Compare() const {
    // What the restart overwrote are the same steps; without it, the line of the points before is continued.
    const bool paired = overwritten_.size() >= after_.size();
    const std::vector<double> after = Logs(after_);
    const std::vector<double> before = Logs(paired ? FirstOf(overwritten_, after_.size()) : before_);
    const double slope = paired ? 0 : stats::TheilSenSlope(before);
    const double ahead = 0.5 * static_cast<double>(before.size() + after.size());
    const double expected = stats::Median(before) + slope * ahead;
    const double change = stats::Median(after) - expected;
    const double noise = std::max({stats::NoiseSigma(before), stats::NoiseSigma(after), kSmallestNoise});
    const auto points_before = static_cast<double>(before.size());
    const double by_levels = 1.0 / points_before + 1.0 / static_cast<double>(after.size());
    // A slope of n points is known to sqrt(12 / n^3) of their noise, and is carried that far ahead.
    const double by_slope = paired ? 0 : 12 * ahead * ahead / (points_before * points_before * points_before);
    const double error = noise * std::sqrt(by_levels + by_slope) * kMedianLoss;
    const double z = std::abs(change) / error;
    // Each restart is a test: with more of them the bar rises.
    const double bar = std::sqrt(z_ * z_ + 2 * std::log(static_cast<double>(std::max<std::uint64_t>(restarts_, 1))));
    if (z < bar || std::abs(change) < min_log_ratio_) return std::nullopt;
    const Sample& first = after_.front();
    model::Finding finding = MakeFinding(
        first.step, after_.back().step,
        says::LossResumeJumpLevel{
            .before = std::exp(expected), .after = std::exp(stats::Median(after)), .at = places_.At(first.step)});
    AddEvidence(finding,
                says::LossResumeJumpPoints{.before = before_.back().value,
                                           .before_at = places_.At(before_.back().step),
                                           .after = first.value,
                                           .after_at = places_.At(first.step)},
                first.step, first.value, first.line);
    if (change < 0) finding.severity = model::Severity::kInfo;  // data seen again, or luck
    AddMeasure(finding, "z", z);
    AddMeasure(finding, "ratio", std::exp(change));
    return finding;
  }

  static constexpr std::size_t kRecent = 4096;
  static constexpr std::size_t kBefore = 24;
  static constexpr std::size_t kAfter = 8;
  static constexpr std::size_t kFewest = 4;
  static constexpr double kSmallestNoise = 0.003;
  static constexpr double kMedianLoss = 1.25;  // a median is that much less certain than a mean
  Places places_;
  bool enabled_;
  double z_;
  double min_log_ratio_;
  std::deque<Sample> recent_;
  std::vector<Sample> before_;
  std::vector<Sample> overwritten_;
  std::vector<Sample> after_;
  bool waiting_ = false;
  std::uint64_t restarts_ = 0;
  std::int64_t first_step_ = model::kNoStep;
  std::optional<model::Finding> worst_;
};

// The points of a series before a restart, and those that it overwrote.
class PointsBefore {
 public:
  void Add(const Sample& sample) {
    if (first_step_ == model::kNoStep) first_step_ = sample.step;
    recent_.push_back(sample);
    if (recent_.size() > kRecent) recent_.pop_front();
  }

  // Points before `step`, at most `count` of them; what lies at or behind it is forgotten. Empty for a run that starts
  // over: that is another run, not a resumed one.
  std::vector<Sample> CutAt(std::int64_t step, std::size_t count) {
    overwritten_.clear();
    while (!recent_.empty() && recent_.back().step >= step) {
      overwritten_.push_front(recent_.back());
      recent_.pop_back();
    }
    if (first_step_ == model::kNoStep || step <= first_step_) return {};
    const std::size_t kept = std::min(count, recent_.size());
    return {recent_.end() - static_cast<std::ptrdiff_t>(kept), recent_.end()};
  }

  // The overwritten point of that step, null when there is none.
  const Sample* Overwritten(std::int64_t step) const {
    const auto at = std::find_if(overwritten_.begin(), overwritten_.end(),
                                 [&](const Sample& sample) { return sample.step == step; });
    return at == overwritten_.end() ? nullptr : &*at;
  }
  std::int64_t first_step() const { return first_step_; }

 private:
  static constexpr std::size_t kRecent = 4096;
  std::deque<Sample> recent_;
  std::deque<Sample> overwritten_;
  std::int64_t first_step_ = model::kNoStep;
};

// ---- a schedule that does not go on where it was

class ScheduleRestart : public Cloned<ScheduleRestart> {
 public:
  explicit ScheduleRestart(const Context& context) : places_(context), factor_(context.Threshold("factor")) {}

  void Observe(const Sample& sample) override {
    if (sample.role != 0 || !std::isfinite(sample.value) || sample.value < 0) return;
    if (first_rate_ < 0) first_rate_ = sample.value;
    // A schedule that leaps by itself (cycles, warm restarts) may do so at a restart too. A warm-up doubles at its
    // second point and leaps nowhere: it grows from nothing by equal steps.
    const double step = sample.value - (waiting_ || last_rate_ < 0 ? 0 : last_rate_);
    const bool goes_on = std::abs(step - last_step_) <= kEqual * std::abs(step);
    if (!waiting_ && last_rate_ > 0 && !goes_on && !Near(last_rate_, sample.value, factor_)) ++leaps_;
    last_rate_ = sample.value;
    last_step_ = step;
    if (waiting_) Judge(sample);
    waiting_ = false;
    points_.Add(sample);
  }

  void Restart(std::int64_t step) override {
    before_ = points_.CutAt(step, kBefore);
    waiting_ = before_.size() >= 2;
  }
  void Resume(std::int64_t step) override { Restart(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (found_ && leaps_ < kCyclic) out.push_back(*found_);
  }

 private:
  // A point that the restart overwrote is what the schedule gave there before. Without one the rate may go on as fast
  // as it moved last, for as long as the restart left out.
  bool IsContinued(const Sample& after) const {
    if (const Sample* same = points_.Overwritten(after.step)) return Near(same->value, after.value, factor_);
    const Sample& last = before_.back();
    const Sample& earlier = before_.front();
    const auto span = static_cast<double>(last.step - earlier.step);
    const double slope = span > 0 ? (last.value - earlier.value) / span : 0;
    const double ahead = last.value + slope * static_cast<double>(after.step - last.step);
    return Near(last.value, after.value, factor_) || (ahead > 0 && Near(ahead, after.value, factor_));
  }

  static bool Near(double a, double b, double factor) {
    const double low = std::min(a, b);
    const double high = std::max(a, b);
    return high <= factor * low || high == low;
  }

  void Judge(const Sample& after) {
    const double before = before_.back().value;
    if (found_ || !(before > 0) || IsContinued(after)) return;
    model::Finding finding = MakeFinding(
        after.step, after.step,
        says::ResumeScheduleRestartJumped{.before = before, .at = places_.At(after.step), .after = after.value});
    AddEvidence(finding, says::ResumeScheduleRestartFirst{.first = first_rate_}, after.step, after.value, after.line);
    AddMeasure(finding, "before", before);
    AddMeasure(finding, "after", after.value);
    found_ = std::move(finding);
  }

  static constexpr std::size_t kBefore = 4;
  static constexpr int kCyclic = 2;
  static constexpr double kEqual = 0.2;
  Places places_;
  double factor_;
  double last_step_ = 0;
  PointsBefore points_;
  std::vector<Sample> before_;
  bool waiting_ = false;
  double first_rate_ = -1;
  double last_rate_ = -1;
  int leaps_ = 0;
  std::optional<model::Finding> found_;
};

// ---- an optimizer without its averages

// Adam's first updates are as large as the learning rate allows, whatever the gradient: the loss jumps within a few
// steps of the restart, at the rate it had before, and the gradients with it.
class OptimizerReset : public Cloned<OptimizerReset> {
 public:
  explicit OptimizerReset(const Context& context)
      : places_(context),
        enabled_(!context.reinforcement),
        z_(context.Threshold("z")),
        min_log_ratio_(std::log(context.Threshold("min_ratio"))) {}

  void Observe(const Sample& sample) override {
    if (!enabled_ || !std::isfinite(sample.value)) return;
    if (sample.role == kRate) rate_ = sample.value;
    if (sample.role == kNorm) Take(norms_, norms_after_, sample);
    if (sample.role != kLoss || sample.value <= 0) return;
    Take(losses_, losses_after_, sample);
    if (waiting_ && losses_after_.size() == kAfter) Judge();
  }

  void Restart(std::int64_t step) override {
    if (waiting_) Judge();
    losses_before_ = losses_.CutAt(step, kBefore);
    norms_before_ = norms_.CutAt(step, kBefore);
    losses_after_.clear();
    norms_after_.clear();
    rate_before_ = rate_;
    waiting_ = losses_before_.size() >= kFewest;
  }
  void Resume(std::int64_t step) override { Restart(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (found_) return out.push_back(*found_);
    if (!waiting_ || losses_after_.size() < kFewest) return;
    OptimizerReset ended = *this;
    ended.Judge();
    if (ended.found_) out.push_back(*ended.found_);
  }

 private:
  enum Role : std::uint32_t { kLoss, kNorm, kRate };

  void Take(PointsBefore& points, std::vector<Sample>& after, const Sample& sample) const {
    if (waiting_ && after.size() < kAfter) after.push_back(sample);
    points.Add(sample);
  }

  static std::vector<double> Logs(const std::vector<Sample>& samples) {
    std::vector<double> logs;
    logs.reserve(samples.size());
    for (const Sample& sample : samples) logs.push_back(std::log(std::max(sample.value, kTiny)));
    return logs;
  }

  // The second highest of them: one bad sample is no burst.
  static const Sample& Burst(const std::vector<Sample>& samples) {
    std::vector<const Sample*> order;
    order.reserve(samples.size());
    for (const Sample& sample : samples) order.push_back(&sample);
    std::nth_element(order.begin(), order.begin() + 1, order.end(),
                     [](const Sample* a, const Sample* b) { return a->value > b->value; });
    return *order[1];
  }

  void Judge() {
    waiting_ = false;
    if (found_ || losses_after_.size() < kFewest || RateChanged()) return;
    const std::vector<double> before = Logs(losses_before_);
    const double level = stats::Median(before);
    const double highest = *std::max_element(before.begin(), before.end());
    const double noise = std::max({stats::NoiseSigma(before), stats::RobustSigma(before), kSmallestNoise});
    const Sample& burst = Burst(losses_after_);
    const double rise = std::log(burst.value) - level;
    if (rise < z_ * noise || rise < min_log_ratio_ || std::log(burst.value) <= highest) return;
    Describe(std::exp(level), burst);
  }

  bool RateChanged() const {
    return rate_before_ > 0 && rate_ > 0 && std::abs(std::log(rate_ / rate_before_)) > kSameRate;
  }

  void Describe(double before, const Sample& burst) {
    const std::int64_t first = losses_after_.front().step;
    model::Finding finding =
        MakeFinding(first, losses_after_.back().step,
                    says::ResumeOptimizerResetBurst{.before = before,
                                                    .after = burst.value,
                                                    .points = static_cast<double>(losses_after_.size()),
                                                    .at = places_.At(first)});
    if (norms_before_.size() >= kFewest && norms_after_.size() >= kFewest) {
      const double usual = std::exp(stats::Median(Logs(norms_before_)));
      const Sample& norm = Burst(norms_after_);
      AddEvidence(finding, says::ResumeOptimizerResetGradient{.before = usual, .after = norm.value}, norm.step,
                  norm.value, norm.line);
      AddMeasure(finding, "norm_ratio", usual > 0 ? norm.value / usual : 1);
    }
    AddMeasure(finding, "ratio", burst.value / before);
    found_ = std::move(finding);
  }

  static constexpr std::size_t kBefore = 24;
  static constexpr std::size_t kAfter = 8;
  static constexpr std::size_t kFewest = 4;
  static constexpr double kSmallestNoise = 0.01;
  static constexpr double kTiny = 1e-30;
  static constexpr double kSameRate = 0.3;

  Places places_;
  bool enabled_;
  double z_;
  double min_log_ratio_;
  PointsBefore losses_;
  PointsBefore norms_;
  std::vector<Sample> losses_before_;
  std::vector<Sample> losses_after_;
  std::vector<Sample> norms_before_;
  std::vector<Sample> norms_after_;
  double rate_ = -1;
  double rate_before_ = -1;
  bool waiting_ = false;
  std::optional<model::Finding> found_;
};

}  // namespace

std::unique_ptr<Detector> MakeResumeJump(const Context& context) { return std::make_unique<ResumeJump>(context); }
std::unique_ptr<Detector> MakeScheduleRestart(const Context& context) {
  return std::make_unique<ScheduleRestart>(context);
}
std::unique_ptr<Detector> MakeOptimizerReset(const Context& context) {
  return std::make_unique<OptimizerReset>(context);
}

}  // namespace vigil::detect
