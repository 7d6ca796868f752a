#include <algorithm>
#include <span>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

// ---- the wait for other ranks

// The first of the last points that are all above the level: where a share that was low before became high.
std::size_t ClimbedAt(const std::vector<double>& shares, double level) {
  constexpr std::size_t kSmooth = 5;
  const std::vector<double> smooth = stats::SmoothByMedian(shares, kSmooth);
  std::size_t first = smooth.size() - 1;
  while (first > 0 && smooth[first - 1] >= level) --first;
  return first;
}

class CommBound : public Cloned<CommBound> {
 public:
  explicit CommBound(const Context& context)
      : places_(context),
        enabled_(context.primary->labels.empty() || model::FindLabel(context.primary->labels, "rank") == "0"),
        limit_(context.Threshold("limit")),
        climb_(context.Threshold("climb")),
        min_points_(Count(context.Threshold("min_points"))) {}

  void Observe(const Sample& sample) override {
    if (!enabled_ || !std::isfinite(sample.value) || sample.value < 0) return;
    if (sample.role == kStepTime) step_time_ = sample;
    if (sample.role != kCommTime || step_time_.step != sample.step || !(step_time_.value > 0)) return;
    shares_.Add(sample.step, std::min(1.0, sample.value / step_time_.value));
  }
  void Restart(std::int64_t step) override { shares_.ForgetFrom(step); }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<double> shares = shares_.Means();
    if (shares.size() < 2 * min_points_) return;
    const double first = MedianOf(std::span(shares).first(min_points_));
    const double last = MedianOf(std::span(shares).last(std::max(min_points_, shares.size() / 4)));
    if (last < limit_) return;
    const bool climbed = last > climb_ * first;
    const std::vector<stats::Bucket>& buckets = shares_.buckets();
    const std::size_t from = climbed ? ClimbedAt(shares, (first + last) / 2) : 0;
    model::Finding finding =
        MakeFinding(buckets[from].first_step, buckets.back().last_step, says::ThroughputCommBoundAlways{.share = last});
    if (climbed) finding.says = says::ThroughputCommBoundClimbed{.share = last, .before = first};
    finding.severity = climbed ? model::Severity::kWarning : model::Severity::kInfo;
    AddMeasure(finding, "share", last);
    out.push_back(std::move(finding));
  }

 private:
  enum Role : std::uint32_t { kCommTime, kStepTime };

  Places places_;
  bool enabled_;
  double limit_;
  double climb_;
  std::size_t min_points_;
  Sample step_time_{kStepTime, model::kNoStep, 0, 0};
  stats::BucketHistory shares_{256};
};

// ---- how much of the hardware is used

class LowMfu : public Cloned<LowMfu> {
 public:
  explicit LowMfu(const Context& context)
      // A toy on a laptop uses little of nothing: only where the kind of training is known there is a yardstick.
      : enabled_(context.run->method.confidence >= model::kMethodKnown && context.run->method.name != "other"),
        limit_(context.Threshold("limit")),
        min_points_(Count(context.Threshold("min_points"))) {}

  void Observe(const Sample& sample) override {
    // Trainers print a negative number while they do not know it yet.
    if (sample.role == 0 && sample.value > 0 && sample.value <= 100) history_.Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override { history_.ForgetFrom(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (!enabled_ || history_.points() < min_points_) return;
    const std::vector<double> means = history_.Means();
    const double mfu = MedianOf(std::span(means).last(means.size() - means.size() / 2));
    if (mfu >= limit_) return;
    const std::vector<stats::Bucket>& buckets = history_.buckets();
    model::Finding finding =
        MakeFinding(buckets.front().first_step, buckets.back().last_step, says::ThroughputLowMfuLow{.mfu = mfu});
    // What is logged is a share of what the logger takes for the peak of the device: worth a look, no verdict.
    finding.severity = model::Severity::kInfo;
    AddMeasure(finding, "mfu", mfu);
    out.push_back(std::move(finding));
  }

 private:
  bool enabled_;
  double limit_;
  std::size_t min_points_;
  stats::BucketHistory history_{256};
};

}  // namespace

std::unique_ptr<Detector> MakeCommBound(const Context& context) { return std::make_unique<CommBound>(context); }
std::unique_ptr<Detector> MakeLowMfu(const Context& context) { return std::make_unique<LowMfu>(context); }

}  // namespace vigil::detect
