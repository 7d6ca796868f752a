#include <algorithm>
#include <deque>

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

}  // namespace

std::unique_ptr<Detector> MakeResumeJump(const Context& context) { return std::make_unique<ResumeJump>(context); }

}  // namespace vigil::detect
