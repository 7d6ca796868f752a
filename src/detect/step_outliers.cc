#include <algorithm>
#include <span>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// Single steps that take several times as long as the others. They are counted against the median of the steps before
// them, so that a change of the level is none, and the first steps of a process are left out.
class StepOutliers : public Cloned<StepOutliers> {
 public:
  explicit StepOutliers(const Context& context)
      : places_(context),
        enabled_(context.primary->labels.empty() || model::FindLabel(context.primary->labels, "rank") == "0"),
        ratio_(context.Threshold("ratio")),
        min_count_(Count(context.Threshold("min_count"))),
        min_share_(context.Threshold("min_share")) {}

  void Observe(const Sample& sample) override {
    if (!enabled_ || sample.role != 0 || !std::isfinite(sample.value) || sample.value <= 0) return;
    const bool starting = since_start_++ < kStart;
    if (!starting) Judge(sample);
    if (!starting || since_start_ > kStart / 2) recent_.Push(sample.value);
  }

  // The first steps of a process compile and fill caches.
  void Restart(std::int64_t /*step*/) override { since_start_ = 0; }
  void Resume(std::int64_t /*step*/) override { since_start_ = 0; }

  void Report(std::vector<model::Finding>& out) const override {
    const double share = whole_s_ > 0 ? lost_s_ / whole_s_ : 0;
    if (outliers_.size() < min_count_ || share < min_share_) return;
    // Where they are many, they are the level.
    if (static_cast<double>(count_) > kMostOfThem * static_cast<double>(judged_)) return;
    model::Finding finding = MakeFinding(outliers_.front().step, outliers_.back().step, Says(share));
    AddEvidence(finding,
                says::ThroughputStepOutliersLongest{
                    .value = longest_.value, .at = places_.At(longest_.step), .usual = recent_.Median()},
                longest_.step, longest_.value, longest_.line);
    AddMeasure(finding, "share", share);
    AddMeasure(finding, "regular", RegularDistance() > 0 ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  void Judge(const Sample& sample) {
    ++judged_;
    whole_s_ += sample.value;
    const double usual = recent_.Median();
    if (recent_.size() < kStart / 2 || sample.value < ratio_ * usual) return;
    ++count_;
    lost_s_ += sample.value - usual;
    sum_of_ratios_ += sample.value / usual;
    if (sample.value > longest_.value) longest_ = sample;
    if (outliers_.size() < kMostKept) outliers_.push_back(sample);
  }

  model::Statement Says(double share) const {
    const double ratio = sum_of_ratios_ / static_cast<double>(count_);
    const auto count = static_cast<double>(count_);
    if (const double distance = RegularDistance(); distance > 0)
      return says::ThroughputStepOutliersRegular{
          .count = count, .ratio = ratio, .interval = places_.Length(distance), .share = share};
    return says::ThroughputStepOutliersRandom{.count = count, .ratio = ratio, .share = share};
  }

  // The distance that most of them have from the one before; 0 where they come at random.
  double RegularDistance() const {
    constexpr double kMost = 0.7;
    std::vector<double> distances;
    for (std::size_t i = 1; i < outliers_.size(); ++i)
      distances.push_back(static_cast<double>(outliers_[i].step - outliers_[i - 1].step));
    const double usual = stats::Median(distances);
    const auto near = std::count_if(distances.begin(), distances.end(), [&](double distance) {
      return std::abs(distance - usual) <= std::max(1.0, 0.1 * usual);
    });
    return static_cast<double>(near) >= kMost * static_cast<double>(distances.size()) ? usual : 0;
  }

  static constexpr std::size_t kStart = 8;       // points of a process that may be slow
  static constexpr std::size_t kMostKept = 256;  // enough to see a distance
  static constexpr double kMostOfThem = 0.25;

  Places places_;
  bool enabled_;
  double ratio_;
  std::size_t min_count_;
  double min_share_;
  std::size_t since_start_ = 0;
  stats::RobustWindow recent_{64};
  std::uint64_t judged_ = 0;
  std::uint64_t count_ = 0;
  double whole_s_ = 0;
  double lost_s_ = 0;
  double sum_of_ratios_ = 0;
  Sample longest_;
  std::vector<Sample> outliers_;
};

}  // namespace

std::unique_ptr<Detector> MakeStepOutliers(const Context& context) { return std::make_unique<StepOutliers>(context); }

}  // namespace vigil::detect
