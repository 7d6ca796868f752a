#include <algorithm>
#include <optional>
#include <span>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

constexpr std::size_t kBuckets = 256;

// Ranks that wait for one another slow down together: the first one stands for all.
bool StandsForTheRun(const model::Series& series) {
  return series.labels.empty() || (series.labels.size() == 1 && model::FindLabel(series.labels, "rank") == "0");
}

double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

// The value that a share of the others stands below.
double Quantile(std::vector<double> values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double ShareAbove(std::span<const double> values, double limit) {
  const auto above = std::count_if(values.begin(), values.end(), [&](double value) { return value > limit; });
  return static_cast<double>(above) / static_cast<double>(values.size());
}

double Square(double value) { return value * value; }

double Deviations(std::span<const double> values, double around) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value - around);
  return sum;
}

// Median of the means of the buckets with steps from `first` to before `end`; nullopt when there are none.
std::optional<double> LevelBetween(const stats::BucketHistory& history, std::int64_t first, std::int64_t end) {
  std::vector<double> means;
  for (const stats::Bucket& bucket : history.buckets()) {
    if (bucket.first_step >= first && bucket.last_step < end) means.push_back(bucket.mean);
  }
  if (means.empty()) return std::nullopt;
  return stats::Median(std::move(means));
}

// ---- a lasting change of the time of a step

class Regression : public Cloned<Regression> {
 public:
  explicit Regression(const Context& context)
      : places_(context),
        lead_(LeadOf(context)),
        enabled_(lead_ <= kSamplesPerSecond && StandsForTheRun(*context.primary)),
        // Completions of a policy become longer as it learns, and steps with them: only what is far beyond counts.
        min_ratio_(IsReinforcementLearning(*context.run)
                       ? std::max(context.Threshold("min_ratio"), context.Threshold("error_ratio"))
                       : context.Threshold("min_ratio")),
        error_ratio_(context.Threshold("error_ratio")),
        min_points_(Count(context.Threshold("min_points"))),
        fewest_points_(Count(context.Threshold("fewest_points"))),
        points_by_effect_(context.Threshold("min_points") * Square(std::log(context.Threshold("min_ratio")))) {}

  void Observe(const Sample& sample) override {
    if (!enabled_ || !std::isfinite(sample.value) || sample.role >= histories_.size()) return;
    const bool is_rate = sample.role == kTokensPerSecond || sample.role == kSamplesPerSecond;
    if (is_rate && !(sample.value > 0)) return;
    if (sample.role == lead_ && !(sample.value > 0)) return;
    histories_[sample.role].Add(sample.step, is_rate ? 1 / sample.value : sample.value);
  }

  void Restart(std::int64_t step) override {
    for (stats::BucketHistory& history : histories_) history.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (!enabled_) return;
    const std::vector<stats::Bucket>& buckets = histories_[lead_].buckets();
    std::vector<double> logs;
    logs.reserve(buckets.size());
    for (const stats::Bucket& bucket : buckets) logs.push_back(std::log(bucket.mean));
    const std::size_t skip = SlowStart(logs);
    if (logs.size() < skip + 2 * fewest_points_) return;
    const std::size_t at = ChangePoint(logs, skip);
    const std::span<const double> before = std::span(logs).subspan(skip, at - skip);
    const std::span<const double> after = std::span(logs).subspan(at);
    if (!IsLastingAndSharp(before, after)) return;
    const std::int64_t step = buckets[at].first_step;
    if (OtherRateHeld(step)) return;
    model::Finding finding =
        Describe(step, buckets.back().last_step, std::exp(MedianOf(before)), std::exp(MedianOf(after)));
    AddMeasure(finding, "spread_before", stats::RobustSigma(before));
    AddMeasure(finding, "spread_after", stats::RobustSigma(after));
    out.push_back(std::move(finding));
  }

 private:
  // Roles, in the order of the row's signals.
  enum Role : std::uint32_t {
    kStepTime,
    kTokensPerSecond,
    kSamplesPerSecond,
    kDataTime,
    kComputeTime,
    kCompletionLength,
    kRoles
  };

  static std::uint32_t LeadOf(const Context& context) {
    const auto& signals = context.row->signals;
    const auto at = std::find(signals.begin(), signals.end(), context.primary->signal);
    return static_cast<std::uint32_t>(at - signals.begin());
  }

  // The first points, as long as they are slower than what follows: first steps compile, fill caches and grow pools.
  static std::size_t SlowStart(const std::vector<double>& logs) {
    constexpr double kSlower = 0.1;
    constexpr std::size_t kNext = 5;
    const std::size_t most = std::max<std::size_t>(2, logs.size() / 20);
    std::size_t skip = 0;
    while (skip < most && skip + kNext < logs.size() &&
           logs[skip] > MedianOf(std::span(logs).subspan(skip + 1, kNext)) + kSlower)
      ++skip;
    return skip;
  }

  // Where two levels fit best.
  std::size_t ChangePoint(const std::vector<double>& logs, std::size_t skip) const {
    std::size_t best = skip + fewest_points_;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = skip + fewest_points_; at + fewest_points_ <= logs.size(); ++at) {
      const std::span<const double> before = std::span(logs).subspan(skip, at - skip);
      const std::span<const double> after = std::span(logs).subspan(at);
      const double cost = Deviations(before, MedianOf(before)) + Deviations(after, MedianOf(after));
      if (cost >= least) continue;
      least = cost;
      best = at;
    }
    return best;
  }

  // Nearly all steps behind the change are slower than nearly all before it, up to the end, and it came at once: what
  // grows bit by bit is the data's or the method's own course.
  bool IsLastingAndSharp(std::span<const double> before, std::span<const double> after) const {
    const double rise = MedianOf(after) - MedianOf(before);
    if (rise < std::log(min_ratio_)) return false;
    const std::size_t shorter = std::min(before.size(), after.size());
    const std::size_t needed = PointsNeeded(rise);
    if (shorter < needed) return false;
    const double usual_most = Quantile({before.begin(), before.end()}, 0.9);
    if (ShareAbove(after, usual_most) < kNearlyAll) return false;
    const std::size_t near = std::clamp<std::size_t>(needed / 2, 2, shorter);
    const double step_up = MedianOf(after.first(near)) - MedianOf(before.last(near));
    const double at_end = MedianOf(after.last(near)) - MedianOf(before);
    return step_up > kMostOfIt * rise && at_end > kMostOfIt * rise;
  }

  // The larger the change, the fewer points show it: the error of a level falls with the square root of their number.
  std::size_t PointsNeeded(double rise) const {
    const double needed = points_by_effect_ / Square(rise);
    // Whatever the thresholds are: also where this is no number.
    if (!(needed < static_cast<double>(min_points_))) return std::max(min_points_, fewest_points_);
    return std::max(static_cast<std::size_t>(std::ceil(needed)), fewest_points_);
  }

  // A step that takes longer because it does more is no loss: tokens or samples per second show it.
  bool OtherRateHeld(std::int64_t step) const {
    constexpr double kHeld = 1.15;
    constexpr double kLonger = 1.3;
    constexpr auto kEnd = std::numeric_limits<std::int64_t>::max();
    for (const std::uint32_t role : {kTokensPerSecond, kSamplesPerSecond}) {
      if (role == lead_) continue;
      const auto before = LevelBetween(histories_[role], 0, step);
      const auto after = LevelBetween(histories_[role], step, kEnd);
      if (before && after && *after < kHeld * *before) return true;
    }
    // Longer completions are more work too.
    const auto before = LevelBetween(histories_[kCompletionLength], 0, step);
    const auto after = LevelBetween(histories_[kCompletionLength], step, kEnd);
    return before && after && *after > kLonger * *before;
  }

  model::Finding Describe(std::int64_t step, std::int64_t last_step, double before, double after) const {
    const bool is_time = lead_ == kStepTime;
    const double ratio = after / before;
    const model::Position at = places_.At(step);
    // Rates were turned into seconds for one thing when they came in; they are shown as they were logged.
    const double shown_before = is_time ? before : 1 / before;
    const double shown_after = is_time ? after : 1 / after;
    model::Finding finding = MakeFinding(
        step, last_step,
        says::ThroughputRegressionTime{.after = shown_after, .at = at, .before = shown_before, .ratio = ratio});
    if (!is_time)
      finding.says =
          says::ThroughputRegressionRate{.after = shown_after, .at = at, .before = shown_before, .ratio = ratio};
    finding.severity = ratio >= error_ratio_ ? model::Severity::kError : model::Severity::kWarning;
    AddEvidence(finding, says::ThroughputRegressionMedians{.before = shown_before, .after = shown_after}, step,
                shown_after);
    AddMeasure(finding, "ratio", ratio);
    if (is_time) AddShare(finding, "data_share_of_growth", kDataTime, step, after - before);
    if (is_time) AddShare(finding, "compute_share_of_growth", kComputeTime, step, after - before);
    return finding;
  }

  // How much of the growth is that of a part of the step.
  void AddShare(model::Finding& finding, std::string name, Role part, std::int64_t step, double growth) const {
    const auto before = LevelBetween(histories_[part], 0, step);
    const auto after = LevelBetween(histories_[part], step, std::numeric_limits<std::int64_t>::max());
    if (before && after) AddMeasure(finding, std::move(name), (*after - *before) / growth);
  }

  static constexpr double kNearlyAll = 0.85;
  static constexpr double kMostOfIt = 0.6;

  Places places_;
  std::uint32_t lead_;
  bool enabled_;
  double min_ratio_;
  double error_ratio_;
  std::size_t min_points_;     // for a change of the smallest ratio
  std::size_t fewest_points_;  // for a change of any size
  double points_by_effect_;
  std::array<stats::BucketHistory, kRoles> histories_ = {
      stats::BucketHistory(kBuckets), stats::BucketHistory(kBuckets), stats::BucketHistory(kBuckets),
      stats::BucketHistory(kBuckets), stats::BucketHistory(kBuckets), stats::BucketHistory(kBuckets)};
};

// ---- steps that wait for data

class DataStarved : public Cloned<DataStarved> {
 public:
  explicit DataStarved(const Context& context)
      : places_(context),
        enabled_(StandsForTheRun(*context.primary)),
        reinforcement_(IsReinforcementLearning(*context.run)),
        limit_(context.Threshold("limit")),
        error_limit_(context.Threshold("error_limit")),
        least_wait_(context.Threshold("least_wait")),
        min_points_(Count(context.Threshold("min_points"))),
        fewest_points_(Count(context.Threshold("fewest_points"))) {}

  void Observe(const Sample& sample) override {
    constexpr double kPercent = 0.01;
    if (!enabled_ || !std::isfinite(sample.value) || sample.value < 0) return;
    if (sample.role == kStepTime) step_time_ = sample;
    if (sample.role == kDataShare) Add(sample.step, kPercent * sample.value);
    if (sample.role != kDataTime || step_time_.step != sample.step || !(step_time_.value > 0)) return;
    // Some count the wait as a part of the step, some beside it.
    const double whole = sample.value < step_time_.value ? step_time_.value : step_time_.value + sample.value;
    Add(sample.step, sample.value / whole);
    waits_.Add(sample.step, sample.value);
  }

  void Restart(std::int64_t step) override {
    shares_.ForgetFrom(step);
    waits_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<stats::Bucket>& buckets = shares_.buckets();
    if (buckets.size() < 2 * fewest_points_) return;
    const std::vector<double> smooth = stats::SmoothByMedian(shares_.Means(), 5);
    std::size_t first = smooth.size();
    while (first > 0 && smooth[first - 1] >= limit_) --first;
    // A wait that grows is as large as it has become.
    const std::size_t lasting = smooth.size() - first;
    if (lasting < fewest_points_) return;
    // A policy makes its own data: what it always waits for is the rollout.
    if (reinforcement_ && first == 0) return;
    const double share =
        MedianOf(std::span(smooth).last(std::min(lasting, std::max(fewest_points_, smooth.size() / 4))));
    if (lasting < PointsNeeded(share)) return;  // comes and goes
    const std::int64_t step = buckets[first].first_step;
    model::Finding finding =
        MakeFinding(step, buckets.back().last_step, says::ThroughputDataStarvedAlways{.share = share});
    if (first > 0) finding.says = says::ThroughputDataStarvedFrom{.share = share, .at = places_.At(step)};
    finding.severity = share >= error_limit_ ? model::Severity::kError : model::Severity::kWarning;
    if (IsOnlyTheHandOver(step)) finding.severity = model::Severity::kInfo;
    AddEvidence(finding, says::ThroughputDataStarvedMedian{.share = share}, step, share);
    AddMeasure(finding, "share", share);
    AddMeasure(finding, "from_start", first == 0 ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  enum Role : std::uint32_t { kDataTime, kStepTime, kDataShare };

  void Add(std::int64_t step, double share) { shares_.Add(step, std::min(share, 1.0)); }

  // To take a batch that lies ready costs a millisecond or two with any loader. Where the whole step is as short as
  // that, it is a share of it that no loader gives back.
  bool IsOnlyTheHandOver(std::int64_t step) const {
    const auto wait = LevelBetween(waits_, step, std::numeric_limits<std::int64_t>::max());
    return wait && *wait < least_wait_;
  }

  // A wait of twice the limit needs half the points: what is far beyond it is no first batch of an epoch.
  std::size_t PointsNeeded(double share) const {
    const double needed = static_cast<double>(min_points_) * limit_ / share;
    if (!(needed < static_cast<double>(min_points_))) return std::max(fewest_points_, min_points_);
    return std::max(fewest_points_, static_cast<std::size_t>(std::ceil(needed)));
  }

  Places places_;
  bool enabled_;
  bool reinforcement_;
  double limit_;
  double error_limit_;
  double least_wait_;
  std::size_t min_points_;     // of a wait at the limit
  std::size_t fewest_points_;  // of a wait of any size
  Sample step_time_{kStepTime, model::kNoStep, 0, 0};
  stats::BucketHistory shares_{kBuckets};
  stats::BucketHistory waits_{kBuckets};  // in seconds; none where only the share is logged
};

}  // namespace

std::unique_ptr<Detector> MakeThroughputRegression(const Context& context) {
  return std::make_unique<Regression>(context);
}

std::unique_ptr<Detector> MakeDataStarved(const Context& context) { return std::make_unique<DataStarved>(context); }

}  // namespace vigil::detect
