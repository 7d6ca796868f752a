// Detectors of the reward: does it move, did it fall, do the groups carry a signal.
#include <algorithm>
#include <limits>
#include <span>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

// ---- flat

class RewardFlat : public Cloned<RewardFlat> {
 public:
  explicit RewardFlat(const Context& context)
      : language_(IsLanguagePolicy(*context.run)),
        min_points_(context.Threshold("min_points")),
        trend_points_(context.Threshold("trend_points")),
        trend_z_(context.Threshold("trend_z")),
        fewest_points_(context.Threshold("fewest_points")),
        least_gain_(context.Threshold("least_gain")),
        unchanged_gain_(context.Threshold("unchanged_gain")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1 && std::isfinite(sample.value)) entropy_.Add(sample.step, sample.value);
    if (sample.role != 0 || !std::isfinite(sample.value)) return;
    history_.Add(sample.step, sample.value);
    smallest_ = std::min(smallest_, sample.value);
    largest_ = std::max(largest_, sample.value);
  }
  void Restart(std::int64_t step) override {
    history_.ForgetFrom(step);
    entropy_.ForgetFrom(step);
    smallest_ = std::numeric_limits<double>::infinity();
    largest_ = -smallest_;
    for (const stats::Bucket& bucket : history_.buckets()) {
      smallest_ = std::min(smallest_, bucket.smallest);
      largest_ = std::max(largest_, bucket.largest);
    }
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (history_.points() < 3 || static_cast<double>(history_.points()) < min_points_) return;
    const stats::Bucket& first = history_.buckets().front();
    const stats::Bucket& last = history_.buckets().back();
    if (smallest_ == largest_) {
      model::Finding finding = MakeFinding(first.first_step, last.last_step,
                                           says::RlRewardFlatConstant{.level = smallest_, .points = history_.points()});
      AddEvidence(finding, says::RlRewardFlatEveryPoint{.level = smallest_}, last.last_step, smallest_);
      AddMeasure(finding, "constant", 1);
      AddMeasure(finding, "level", smallest_);
      out.push_back(std::move(finding));
    } else if (static_cast<double>(history_.points()) >= trend_points_ || IsPreciselyFlat()) {
      ReportNoTrend(out);
    } else if (PolicyIsUnchanged() && GainedLittle()) {
      out.push_back(DescribeNoGain());
    }
  }

 private:
  // A policy that is as random as at its start has not learned, whatever the reward of a few episodes wandered to.
  bool PolicyIsUnchanged() const {
    return !language_ && static_cast<double>(entropy_.points()) >= fewest_points_ && StaysAtItsStart(entropy_);
  }
  bool GainedLittle() const {
    const std::vector<double> means = history_.Means();
    if (static_cast<double>(means.size()) < fewest_points_) return false;
    const std::size_t third = means.size() / 3;
    const double start = stats::Mean(std::span(means).first(third));
    const double end = stats::Mean(std::span(means).last(third));
    return end - start < unchanged_gain_ * std::abs(start) && end > start - unchanged_gain_ * std::abs(start);
  }

  // Nothing left to gain. Of text the best reward is often reached; elsewhere a level is the best there is when it is a
  // share near 1, or when the points press against one largest value, as returns of a solved game do.
  bool IsSaturated(double start) const {
    if (largest_ <= 0 || start <= kSaturated * largest_) return false;
    if (language_ || largest_ <= 1 || static_cast<double>(history_.points()) >= trend_points_) return true;
    const std::vector<double> means = history_.Means();
    const auto at_top = static_cast<std::size_t>(
        std::count_if(means.begin(), means.end(), [&](double mean) { return mean > kAtTop * largest_; }));
    return 2 * at_top > means.size();
  }

  // Points that average many episodes scatter little: then few of them exclude any gain worth the name.
  bool IsPreciselyFlat() const {
    const std::vector<double> means = history_.Means();
    if (static_cast<double>(means.size()) < fewest_points_) return false;
    const std::size_t third = means.size() / 3;
    const double start = stats::Mean(std::span(means).first(third));
    const double end = stats::Mean(std::span(means).last(third));
    const double best = *std::max_element(means.begin(), means.end());
    const double error = stats::RobustSigma(means) * std::sqrt(2.0 / static_cast<double>(third));
    const double level = std::max(std::abs(start), std::abs(end));
    return end - start + 2 * error < least_gain_ * level && best - start < 2 * least_gain_ * level;
  }

  // The reward varies and the last part is no better than the first. Worth a look, not proof: it can be saturated.
  void ReportNoTrend(std::vector<model::Finding>& out) const {
    const std::vector<double> means = history_.Means();
    const std::size_t quarter = std::max<std::size_t>(4, means.size() / 4);
    const double start = stats::Mean(std::span(means).first(quarter));
    const double end = stats::Mean(std::span(means).last(quarter));
    const std::vector<double> smooth = stats::SmoothByMedian(means, std::max<std::size_t>(5, means.size() / 10));
    const double best = *std::max_element(smooth.begin(), smooth.end());
    const double noise = std::max(stats::RobustSigma(means), 1e-12);
    const double error = noise * std::sqrt(2.0 / static_cast<double>(quarter));
    const bool gained = (end - start) / error > trend_z_ || stats::TrendZ(means) > trend_z_;
    const bool was_up = best - start > 2 * noise;  // a fall after a rise is another finding
    if (gained || was_up || IsSaturated(start)) return;
    out.push_back(DescribeNoGain());
  }

  model::Finding DescribeNoGain() const {
    const std::vector<double> means = history_.Means();
    const std::size_t quarter = std::max<std::size_t>(4, means.size() / 4);
    const double start = stats::Mean(std::span(means).first(quarter));
    const double end = stats::Mean(std::span(means).last(quarter));
    const std::int64_t last = history_.buckets().back().last_step;
    model::Finding finding =
        MakeFinding(history_.buckets().front().first_step, last,
                    says::RlRewardFlatNoGain{.points = history_.points(), .start = start, .end = end});
    const bool at_zero = largest_ < kNothing && smallest_ > -kNothing;
    if (!at_zero) finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::RlRewardFlatLastQuarter{.level = end}, last, end);
    AddMeasure(finding, "constant", 0);
    AddMeasure(finding, "level", end);
    return finding;
  }

  static constexpr double kSaturated = 0.8;
  static constexpr double kAtTop = 0.98;
  static constexpr double kNothing = 0.01;
  bool language_;
  double min_points_;
  double trend_points_;
  double trend_z_;
  double fewest_points_;
  double least_gain_;
  double unchanged_gain_;
  stats::BucketHistory history_{128};
  stats::BucketHistory entropy_{128};
  double smallest_ = std::numeric_limits<double>::infinity();
  double largest_ = -std::numeric_limits<double>::infinity();
};

// ---- collapse

class RewardCollapse : public Cloned<RewardCollapse> {
 public:
  explicit RewardCollapse(const Context& context)
      : places_(context),
        min_points_(context.Threshold("min_points")),
        fewest_points_(context.Threshold("fewest_points")),
        lost_share_(context.Threshold("lost_share")),
        below_start_(context.Threshold("below_start")),
        z_(context.Threshold("z")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0 && std::isfinite(sample.value)) history_.Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override { history_.ForgetFrom(step); }

  void Report(std::vector<model::Finding>& out) const override {
    const auto points = static_cast<double>(history_.points());
    const std::size_t before = out.size();
    if (points >= std::max(6.0, fewest_points_)) ReportFallFromStart(out);
    if (out.size() == before && points >= std::max(3.0, min_points_)) ReportFallFromBest(out);
  }

 private:
  // Below where it began, and it stays there: worse than the policy that had learned nothing.
  void ReportFallFromStart(std::vector<model::Finding>& out) const {
    const std::vector<double> means = history_.Means();
    const std::span<const double> tail = std::span(means).last(means.size() / 2);
    const double start = stats::Mean(std::span(means).first(3));
    const double end = MedianOf(tail);
    const double noise = std::max({stats::NoiseSigma(means), stats::RobustSigma(tail), 1e-12});
    const double fall = start - end;
    const bool stayed_down = *std::max_element(tail.begin(), tail.end()) < start - 0.5 * fall;
    const std::vector<double> smooth = stats::SmoothByMedian(means, 5);
    const double rise = *std::max_element(smooth.begin(), smooth.end()) - start;
    if (2 * rise > fall) return;  // it had learned something, and lost it again
    if (fall < below_start_ * std::abs(start) || fall < z_ * noise || !stayed_down) return;
    const std::int64_t first = history_.buckets().front().first_step;
    const std::int64_t last = history_.buckets().back().last_step;
    model::Finding finding = MakeFinding(first, last, says::RlRewardCollapseBelowStart{.start = start, .end = end});
    finding.severity = model::Severity::kWarning;  // a few episodes at the start may have been lucky
    AddEvidence(finding, says::RlRewardCollapseEnd{.end = end}, last, end);
    AddMeasure(finding, "best", start);
    AddMeasure(finding, "end", end);
    AddMeasure(finding, "from_start", 1);
    out.push_back(std::move(finding));
  }

  void ReportFallFromBest(std::vector<model::Finding>& out) const {
    const std::vector<double> means = history_.Means();
    const std::vector<double> smooth = stats::SmoothByMedian(means, 5);
    const auto best = static_cast<std::size_t>(std::max_element(smooth.begin(), smooth.end()) - smooth.begin());
    const double start = MedianOf(std::span(means).first(std::max<std::size_t>(3, means.size() / 10)));
    const std::span<const double> tail = std::span(means).last(std::max<std::size_t>(3, means.size() / 6));
    const double end = MedianOf(tail);
    const double gain = smooth[best] - start;
    const double fall = smooth[best] - end;
    const double noise = std::max(stats::NoiseSigma(means), 1e-12);
    const bool stayed_down = *std::max_element(tail.begin(), tail.end()) < smooth[best] - 0.5 * fall;
    if (gain < 2 * noise || fall < lost_share_ * gain || fall < z_ * noise || !stayed_down) return;
    const std::int64_t top_step = history_.buckets()[best].last_step;
    const std::int64_t last = history_.buckets().back().last_step;
    model::Finding finding = MakeFinding(
        top_step, last,
        says::RlRewardCollapseFell{.start = start, .best = smooth[best], .best_at = places_.At(top_step), .end = end});
    AddEvidence(finding, says::RlRewardCollapseBest{.best = smooth[best], .at = places_.At(top_step)}, top_step,
                smooth[best]);
    AddEvidence(finding, says::RlRewardCollapseEnd{.end = end}, last, end);
    if (history_.points() < kLongEnough) finding.severity = model::Severity::kWarning;  // it may come back
    AddMeasure(finding, "best", smooth[best]);
    AddMeasure(finding, "end", end);
    out.push_back(std::move(finding));
  }

  static constexpr std::uint64_t kLongEnough = 40;
  Places places_;
  double min_points_;
  double fewest_points_;
  double lost_share_;
  double below_start_;
  double z_;
  stats::BucketHistory history_{128};
};

// ---- groups without variance

class NoSignal : public Cloned<NoSignal> {
 public:
  explicit NoSignal(const Context& context)
      : min_points_(context.Threshold("min_points")),
        full_share_(context.Threshold("full_share")),
        watch_mean_(context.Threshold("watch_mean")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == 1) {
      reward_.Add(sample.step, -sample.value);
      largest_reward_ = std::max(largest_reward_, std::abs(sample.value));
    }
    if (sample.role == 0) Count(shares_, sample, sample.value >= kFull, sample.value);
    // Over the whole batch: zero means that every completion of every prompt got the same.
    if (sample.role == 2)
      Count(deviations_, sample, sample.value <= kNoDeviation * std::max(1.0, largest_reward_), sample.value);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const Tally& tally = shares_.points > 0 ? shares_ : deviations_;
    if (static_cast<double>(tally.points) < min_points_) return;
    const double full = static_cast<double>(tally.without) / static_cast<double>(tally.points);
    const double mean = tally.sum / static_cast<double>(tally.points);
    const bool mostly = full > full_share_;
    const bool watch = &tally == &shares_ && mean > watch_mean_;
    if (!mostly && !watch) return;
    model::Finding finding = MakeFinding(tally.first.step, tally.last_step, says::RlNoSignalGroups{.share = full});
    if (&tally == &deviations_) finding.says = says::RlNoSignalDeviation{.share = full};
    if (!mostly) {
      finding.says = says::RlNoSignalMean{.mean = mean};
      finding.severity = model::Severity::kWarning;
    }
    // A task that was learned to the end has no variance left, and that is no fault.
    if (reward_.points() >= 8 && reward_.Improved(0.2) && reward_.EndedNearBest(0.05))
      finding.severity = model::Severity::kInfo;
    AddEvidence(finding, says::RlNoSignalPoints{.without = tally.without, .points = tally.points}, tally.first.step,
                tally.first.value, tally.first.line);
    AddMeasure(finding, "full_share", full);
    AddMeasure(finding, "mean", mean);
    out.push_back(std::move(finding));
  }

 private:
  struct Tally {
    Sample first;
    std::int64_t last_step = 0;
    std::uint64_t points = 0;
    std::uint64_t without = 0;
    double sum = 0;
  };

  static void Count(Tally& tally, const Sample& sample, bool without, double value) {
    ++tally.points;
    tally.sum += value;
    tally.last_step = sample.step;
    if (tally.points == 1 || (without && tally.without == 0)) tally.first = sample;
    tally.without += without ? 1 : 0;
  }

  static constexpr double kFull = 0.999;
  static constexpr double kNoDeviation = 1e-6;  // equal rewards in single precision leave as much
  double largest_reward_ = 0;
  double min_points_;
  double full_share_;
  double watch_mean_;
  Tally shares_;
  Tally deviations_;
  LossCourse reward_;
};

// ---- preferences

class PreferenceNoSignal : public Cloned<PreferenceNoSignal> {
 public:
  explicit PreferenceNoSignal(const Context& context)
      : min_points_(context.Threshold("min_points")), margin_(context.Threshold("margin")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == 0) margins_.Add(sample.step, sample.value);
    if (sample.role == 1) accuracies_.Add(sample.step, sample.value);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (margins_.points() < 3 || static_cast<double>(margins_.points()) < min_points_) return;
    const double margin = LastHalf(margins_);
    const double accuracy = accuracies_.points() > 0 ? LastHalf(accuracies_) : 0.5;
    if (std::abs(margin) > margin_ || std::abs(accuracy - 0.5) > kNearHalf) return;
    const auto& buckets = margins_.buckets();
    model::Finding finding = MakeFinding(buckets.front().first_step, buckets.back().last_step,
                                         says::RlPreferenceNoSignalLevel{.margin = margin, .accuracy = accuracy});
    AddEvidence(finding, says::RlPreferenceNoSignalLastHalf{.margin = margin}, buckets.back().last_step, margin);
    out.push_back(std::move(finding));
  }

 private:
  static double LastHalf(const stats::BucketHistory& history) {
    const std::vector<double> means = history.Means();
    return stats::Mean(std::span(means).last((means.size() + 1) / 2));
  }
  static constexpr double kNearHalf = 0.06;
  double min_points_;
  double margin_;
  stats::BucketHistory margins_{64};
  stats::BucketHistory accuracies_{64};
};

}  // namespace

std::unique_ptr<Detector> MakeRewardFlat(const Context& context) { return std::make_unique<RewardFlat>(context); }
std::unique_ptr<Detector> MakeRewardCollapse(const Context& context) {
  return std::make_unique<RewardCollapse>(context);
}
std::unique_ptr<Detector> MakeNoSignal(const Context& context) {
  return std::make_unique<StartedOver<NoSignal>>(context);
}
std::unique_ptr<Detector> MakePreferenceNoSignal(const Context& context) {
  return std::make_unique<StartedOver<PreferenceNoSignal>>(context);
}

}  // namespace vigil::detect
