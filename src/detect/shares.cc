// Detectors of a share that costs: memory that is nearly full, tokens that are padding, samples far longer than others.
#include <algorithm>
#include <span>

#include "detect/capacity.h"
#include "detect/detectors.h"
#include "detect/recent.h"

namespace vigil::detect {
namespace {

// ---- little memory left

class MemoryPressure : public Cloned<MemoryPressure> {
 public:
  explicit MemoryPressure(const Context& context)
      : places_(context),
        capacity_(CapacityGib(*context.run)),
        limit_(context.Threshold("limit")),
        min_points_(Count(context.Threshold("min_points"))) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value) || sample.value <= 0) return;
    // What the allocator holds, what it gave out, or the share that the logger made of either.
    if (sample.role != kShare && capacity_ <= 0) return;
    if (used_ != kNone && sample.role != used_) return;
    used_ = sample.role;
    history_.Add(sample.step, sample.role == kShare ? sample.value / 100 : sample.value / capacity_);
  }
  // A new process begins with memory of its own.
  void Restart(std::int64_t /*step*/) override { history_.Clear(); }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<stats::Bucket>& buckets = history_.buckets();
    if (history_.points() < min_points_ || buckets.size() < 3) return;
    const double peak = std::max_element(buckets.end() - 3, buckets.end(), ByLargest)->largest;
    // More than there is: the capacity is that of another device.
    if (peak < limit_ || peak > kMost) return;
    const auto first = std::find_if(buckets.begin(), buckets.end(),
                                    [&](const stats::Bucket& bucket) { return bucket.largest >= limit_; });
    model::Finding finding = MakeFinding(first->first_step, buckets.back().last_step,
                                         says::MemoryPressureFull{.share = peak, .at = places_.At(first->first_step)});
    if (const double left = StepsLeft(peak); left > 0)
      AddEvidence(finding, says::MemoryFullIn{.left = places_.Length(left)}, buckets.back().last_step, left);
    AddMeasure(finding, "share", peak);
    out.push_back(std::move(finding));
  }

 private:
  enum Role : std::uint32_t { kReserved, kAllocated, kShare, kNone };

  static bool ByLargest(const stats::Bucket& a, const stats::Bucket& b) { return a.largest < b.largest; }

  // In each third of it, and by more than its noise.
  static bool Climbs(std::span<const double> peaks) {
    const std::size_t third = peaks.size() / 3;
    const double first = stats::Mean(peaks.first(third));
    const double middle = stats::Mean(peaks.subspan(third, third));
    const double last = stats::Mean(peaks.last(third));
    const double noise = 3 * stats::NoiseSigma(peaks) / std::sqrt(static_cast<double>(third));
    return middle - first > noise && last - middle > noise;
  }

  // Until it is full at the rate of the second half; 0 where it does not climb.
  double StepsLeft(double peak) const {
    const std::vector<stats::Bucket>& buckets = history_.buckets();
    std::vector<double> peaks;
    for (std::size_t i = buckets.size() / 2; i < buckets.size(); ++i) peaks.push_back(buckets[i].largest);
    if (peaks.size() < 8 || !Climbs(peaks)) return 0;
    const stats::Bucket& middle = buckets[buckets.size() / 2];
    const double steps = static_cast<double>(buckets.back().last_step - middle.first_step);
    const double per_step = stats::TheilSenSlope(peaks) * static_cast<double>(peaks.size() - 1) / std::max(1.0, steps);
    return per_step > 0 ? std::max(0.0, (1 - peak) / per_step) : 0;
  }

  static constexpr double kMost = 1.02;
  Places places_;
  double capacity_;
  double limit_;
  std::size_t min_points_;
  std::uint32_t used_ = kNone;
  stats::BucketHistory history_{128};
};

// ---- padding

class Padding : public Cloned<Padding> {
 public:
  explicit Padding(const Context& context)
      : share_(context.Threshold("warn"), context.Threshold("limit")), min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0 && std::isfinite(sample.value) && sample.value <= 1) share_.Add(sample);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const bool much = share_.IsFlagged(min_points_);
    if (!much && !share_.IsWatched(min_points_)) return;
    model::Finding finding =
        MakeFinding(share_.first_flagged(), share_.last_step(), says::DataPaddingShare{.share = share_.level()});
    finding.severity = much ? model::Severity::kWarning : model::Severity::kInfo;
    AddEvidence(finding, says::DataPaddingEnd{.share = share_.level()}, share_.last_step(), share_.level());
    AddMeasure(finding, "share", share_.level());
    out.push_back(std::move(finding));
  }

 private:
  Recent share_;
  double min_points_;
};

// ---- samples of extreme length

class LengthOutlier : public Cloned<LengthOutlier> {
 public:
  explicit LengthOutlier(const Context& context)
      : places_(context),
        ratio_(context.Threshold("ratio")),
        harm_(context.Threshold("harm")),
        min_points_(Count(context.Threshold("min_points"))),
        lengths_(128),
        losses_(32) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == 1) {
      // Harm is judged with the loss of the same step, which comes before the length.
      harmed_ = losses_.size() >= 8 && sample.value > harm_ * losses_.Median();
      losses_.Push(sample.value);
      loss_step_ = sample.step;
      return;
    }
    const double usual = lengths_.Median();
    const bool is_outlier = lengths_.size() >= min_points_ && usual > 0 && sample.value > ratio_ * usual;
    lengths_.Push(sample.value);
    if (!is_outlier) return;
    if (count_++ == 0) first_ = sample;
    last_ = sample;
    if (sample.value > longest_.value) {
      longest_ = sample;
      usual_ = usual;
    }
    harmful_ += harmed_ && loss_step_ == sample.step ? 1 : 0;
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (count_ == 0) return;
    model::Finding finding =
        MakeFinding(first_.step, last_.step,
                    says::DataLengthOutlierLongest{
                        .at = places_.At(longest_.step), .longest = longest_.value, .usual = usual_, .count = count_});
    if (harmful_ == 0) finding.severity = model::Severity::kInfo;
    AddMeasure(finding, "ratio", longest_.value / usual_);
    AddMeasure(finding, "harmful", static_cast<double>(harmful_));
    out.push_back(std::move(finding));
  }

 private:
  Places places_;
  double ratio_;
  double harm_;
  std::size_t min_points_;
  stats::RobustWindow lengths_;
  stats::RobustWindow losses_;
  bool harmed_ = false;
  std::int64_t loss_step_ = model::kNoStep;
  std::uint64_t count_ = 0;
  std::uint64_t harmful_ = 0;
  Sample first_;
  Sample last_;
  Sample longest_;
  double usual_ = 1;
};

}  // namespace

std::unique_ptr<Detector> MakeMemoryPressure(const Context& context) {
  return std::make_unique<MemoryPressure>(context);
}
std::unique_ptr<Detector> MakePadding(const Context& context) {
  return std::make_unique<StartedOver<Padding>>(context);
}
std::unique_ptr<Detector> MakeLengthOutlier(const Context& context) {
  return std::make_unique<StartedOver<LengthOutlier>>(context);
}

}  // namespace vigil::detect
