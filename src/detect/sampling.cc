// Detectors of what a policy is trained on: how far the sampler is from the trainer, how much of an update is clipped,
// and completions that grow.
#include <algorithm>
#include <span>

#include "detect/detectors.h"
#include "detect/recent.h"

namespace vigil::detect {
namespace {

// ---- samples of another policy

class OffPolicy : public Cloned<OffPolicy> {
 public:
  explicit OffPolicy(const Context& context)
      : places_(context),
        gap_(context.Threshold("gap"), context.Threshold("gap_watch")),
        lowest_ratio_(context.Threshold("ratio_min"), context.Threshold("ratio_min_watch")),
        lowest_mean_(context.Threshold("ratio_mean_low"), context.Threshold("ratio_mean_low")),
        highest_mean_(context.Threshold("ratio_mean_high"), context.Threshold("ratio_mean_high")),
        min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == kGap) gap_.Add(sample);
    // A ratio of exactly 0 is what a mean over no token gives.
    if (sample.role == kSmallest && sample.value > 0) lowest_ratio_.Add(sample);
    if (sample.role == kMean) {
      lowest_mean_.Add(sample);
      highest_mean_.Add(sample);
    }
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (gap_.IsFlagged(min_points_)) {
      out.push_back(Describe(gap_, says::RlOffPolicyGap{.gap = gap_.level(), .at = At(gap_)}));
    } else if (lowest_mean_.IsFlagged(min_points_)) {
      out.push_back(
          Describe(lowest_mean_, says::RlOffPolicyMean{.ratio = lowest_mean_.level(), .at = At(lowest_mean_)}));
    } else if (highest_mean_.IsFlagged(min_points_)) {
      out.push_back(
          Describe(highest_mean_, says::RlOffPolicyMean{.ratio = highest_mean_.level(), .at = At(highest_mean_)}));
    } else if (lowest_ratio_.IsFlagged(min_points_)) {
      // The smallest of thousands of tokens: one token that the sampler alone took likely is enough.
      out.push_back(Describe(lowest_ratio_,
                             says::RlOffPolicySmallest{.ratio = lowest_ratio_.level(), .at = At(lowest_ratio_)},
                             model::Severity::kWarning));
    } else if (gap_.IsWatched(min_points_)) {
      out.push_back(Describe(gap_, says::RlOffPolicyWatch{.gap = gap_.level()}, model::Severity::kInfo));
    }
  }

 private:
  enum Role : std::uint32_t { kGap, kSmallest, kMean };

  template <bool kBelow>
  model::Position At(const RecentLevel<kBelow>& seen) const {
    return places_.At(seen.first_flagged());
  }
  template <bool kBelow>
  static model::Finding Describe(const RecentLevel<kBelow>& seen, model::Statement says,
                                 model::Severity severity = kFromRow) {
    model::Finding finding = MakeFinding(seen.first_flagged(), seen.last_step(), std::move(says));
    finding.severity = severity;
    AddEvidence(finding, says::RlOffPolicyEnd{.value = seen.level()}, seen.last_step(), seen.level());
    AddMeasure(finding, "from_start", seen.IsFlaggedFromStart() ? 1 : 0);
    return finding;
  }

  Places places_;
  Recent gap_;
  RecentBelow lowest_ratio_;
  RecentBelow lowest_mean_;
  Recent highest_mean_;
  double min_points_;
};

// ---- updates that are mostly clipped

class OverClipped : public Cloned<OverClipped> {
 public:
  explicit OverClipped(const Context& context)
      : share_(context.Threshold("limit"), context.Threshold("watch")), min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0 && std::isfinite(sample.value)) share_.Add(sample);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const bool flagged = share_.IsFlagged(min_points_);
    if (!flagged && !share_.IsWatched(min_points_)) return;
    model::Finding finding =
        MakeFinding(share_.first_flagged(), share_.last_step(), says::RlOverClippedShare{.share = share_.level()});
    if (!flagged) finding.severity = model::Severity::kInfo;
    AddEvidence(finding, says::RlOverClippedEnd{.share = share_.level()}, share_.last_step(), share_.level());
    AddMeasure(finding, "share", share_.level());
    out.push_back(std::move(finding));
  }

 private:
  Recent share_;
  double min_points_;
};

// ---- completions that grow to the limit

double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

// Pearson's, of two courses of the same length.
double Correlation(std::span<const double> a, std::span<const double> b) {
  const double mean_a = stats::Mean(a);
  const double mean_b = stats::Mean(b);
  double both = 0;
  double of_a = 0;
  double of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return of_a > 0 && of_b > 0 ? both / std::sqrt(of_a * of_b) : 0;
}

class LengthHacking : public Cloned<LengthHacking> {
 public:
  explicit LengthHacking(const Context& context)
      : limit_(context.run->FactNumber("max_completion_length").value_or(0)),
        growth_(context.Threshold("growth")),
        at_limit_(context.Threshold("at_limit")),
        together_(context.Threshold("together")),
        spread_left_(context.Threshold("spread_left")),
        min_points_(Count(context.Threshold("min_points"))) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == kReward) reward_ = sample;
    if (sample.role == kSpread) spread_.Add(sample.step, sample.value);
    if (sample.role == kCut) cut_.Add(sample.step, sample.value);
    if (sample.role != kLength) return;
    length_.Add(sample.step, sample.value);
    if (reward_.step == sample.step) {
      paid_.Add(sample.step, reward_.value);
      paid_for_.Add(sample.step, sample.value);
    }
  }
  void Restart(std::int64_t step) override {
    for (stats::BucketHistory* history : {&length_, &spread_, &cut_, &paid_, &paid_for_}) history->ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<double> length = length_.Means();
    if (length_.points() < min_points_ || length.size() < 6) return;
    const double start = MedianOf(std::span(length).first(length.size() / 6 + 1));
    const double end = MedianOf(std::span(length).last(length.size() / 6 + 1));
    if (!(end >= growth_ * start) || stats::TrendZ(length) < kClimbs) return;
    const bool paid = RewardMovesWithLength();
    if (!paid && !SpreadFell()) return;
    model::Finding finding = MakeFinding(length_.buckets().front().first_step, length_.buckets().back().last_step,
                                         says::RlLengthHackingClimbs{.start = start, .end = end});
    if (!EndsAtLimit(end)) finding.severity = model::Severity::kInfo;
    AddEvidence(finding,
                paid ? model::Statement(says::RlLengthHackingTogether{})
                     : model::Statement(says::RlLengthHackingSpread{.start = Start(spread_), .end = End(spread_)}),
                length_.buckets().back().last_step, end);
    AddMeasure(finding, "growth", end / start);
    AddMeasure(finding, "paid", paid ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  enum Role : std::uint32_t { kLength, kReward, kSpread, kCut };

  static double Start(const stats::BucketHistory& history) {
    const std::vector<double> means = history.Means();
    return MedianOf(std::span(means).first(means.size() / 6 + 1));
  }
  static double End(const stats::BucketHistory& history) {
    const std::vector<double> means = history.Means();
    return MedianOf(std::span(means).last(means.size() / 6 + 1));
  }
  bool RewardMovesWithLength() const {
    return paid_.points() >= min_points_ && Correlation(paid_.Means(), paid_for_.Means()) > together_;
  }
  bool SpreadFell() const { return spread_.points() >= min_points_ && End(spread_) < spread_left_ * Start(spread_); }
  // By the stated limit, or because most completions are cut off there.
  bool EndsAtLimit(double end) const {
    return (limit_ > 0 && end > at_limit_ * limit_) || (cut_.points() > 0 && End(cut_) > 0.5);
  }

  static constexpr double kClimbs = 4;  // deviations of the trend: one in 30,000 by chance
  double limit_;
  double growth_;
  double at_limit_;
  double together_;
  double spread_left_;
  std::size_t min_points_;
  Sample reward_{kReward, model::kNoStep, 0, 0};
  stats::BucketHistory length_{128};
  stats::BucketHistory spread_{128};
  stats::BucketHistory cut_{128};
  stats::BucketHistory paid_{128};      // the reward, at steps that have a length too
  stats::BucketHistory paid_for_{128};  // the length there
};

}  // namespace

std::unique_ptr<Detector> MakeOffPolicy(const Context& context) {
  return std::make_unique<StartedOver<OffPolicy>>(context);
}
std::unique_ptr<Detector> MakeOverClipped(const Context& context) {
  return std::make_unique<StartedOver<OverClipped>>(context);
}
std::unique_ptr<Detector> MakeLengthHacking(const Context& context) { return std::make_unique<LengthHacking>(context); }

}  // namespace vigil::detect
