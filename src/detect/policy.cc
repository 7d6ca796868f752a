// Detectors of the policy itself: entropy, distance from the reference, completions.
#include <algorithm>
#include <numbers>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// ---- entropy

class EntropyCollapse : public Cloned<EntropyCollapse> {
 public:
  explicit EntropyCollapse(const Context& context)
      : places_(context),
        language_(context.run->HasMethod("grpo") ||
                  context.run->HasMethod("ppo")),  // the floor is one of language models
        plays_(!IsLanguagePolicy(*context.run) && IsReinforcementLearning(*context.run)),
        share_of_start_(context.Threshold("share_of_start")),
        floor_(context.Threshold("floor")),
        watch_(context.Threshold("watch")),
        min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == 1) return reward_.Add(sample.step, -sample.value);
    history_.Add(sample.step, sample.value);
    last_ = sample;
    if (sample.value >= floor_) {
      below_ = 0;
      return;
    }
    if (below_++ == 0) first_below_ = sample;
  }
  void Restart(std::int64_t step) override {
    history_.ForgetFrom(step);
    reward_.ForgetFrom(step);
    below_ = 0;
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (history_.points() < kFewest) return;
    if (plays_) return ReportLostChoice(out);
    if (!language_) return;
    const double start = history_.buckets().front().mean;
    if (static_cast<double>(below_) >= min_points_) {
      out.push_back(DescribeCollapse(start));
    } else if (IsFallingFast(start)) {
      out.push_back(DescribeFall(start));
    } else if (const std::vector<double> means = history_.Means();
               means.size() >= kFewestWatched && stats::Median({means.end() - 5, means.end()}) < watch_) {
      out.push_back(DescribeWatched(stats::Median({means.end() - 5, means.end()})));
    }
  }

 private:
  // A policy that chooses among actions begins near the logarithm of their number, which is that of two at least. Below
  // a tenth of its start it takes one action nearly always. The entropy of continuous actions can be negative, and its
  // size has no such meaning.
  void ReportLostChoice(std::vector<model::Finding>& out) const {
    const std::vector<double> means = history_.Means();
    if (*std::min_element(means.begin(), means.end()) < 0) return;
    const double start = std::max(means.front(), std::numbers::ln2);
    const double limit = share_of_start_ * start;
    if (stats::Median({means.end() - 3, means.end()}) > limit) return;
    std::size_t first = means.size();
    while (first > 0 && means[first - 1] <= limit) --first;
    first = std::min(first, means.size() - 1);
    const std::int64_t step = history_.buckets()[first].first_step;
    model::Finding finding =
        MakeFinding(step, last_.step,
                    says::RlEntropyCollapseFell{
                        .start = means.front(), .floor = limit, .at = places_.At(step), .last = last_.value});
    finding.severity = model::Severity::kWarning;  // a small game may be solved by one action a state
    AddEvidence(finding, says::RlEntropyCollapseEnd{.value = last_.value}, last_.step, last_.value, last_.line);
    AddMeasure(finding, "start", means.front());
    out.push_back(std::move(finding));
  }

  model::Finding DescribeCollapse(double start) const {
    model::Finding finding =
        MakeFinding(first_below_.step, last_.step,
                    says::RlEntropyCollapseFell{
                        .start = start, .floor = floor_, .at = places_.At(first_below_.step), .last = last_.value});
    // A policy that is certain and right has solved its task; that it can no longer explore is worth knowing.
    if (RewardIsAtItsBest()) finding.severity = model::Severity::kWarning;
    if (start < floor_) {
      finding.severity = model::Severity::kInfo;
      finding.says = says::RlEntropyCollapseFromStart{.floor = floor_, .start = start};
    }
    AddEvidence(finding, says::RlEntropyCollapsePoint{.value = first_below_.value, .at = places_.At(first_below_.step)},
                first_below_.step, first_below_.value, first_below_.line);
    AddMeasure(finding, "start", start);
    return finding;
  }

  // Between what is healthy and what is flagged: worth a note.
  model::Finding DescribeWatched(double end) const {
    model::Finding finding = MakeFinding(history_.buckets().front().first_step, last_.step,
                                         says::RlEntropyCollapseWatch{.end = end, .watch = watch_});
    finding.severity = model::Severity::kInfo;
    return finding;
  }

  model::Finding DescribeFall(double start) const {
    model::Finding finding =
        MakeFinding(history_.buckets().front().first_step, last_.step,
                    says::RlEntropyCollapseFalling{.start = start, .last = last_.value, .floor = floor_});
    finding.severity = RewardIsAtItsBest() ? model::Severity::kInfo : model::Severity::kWarning;
    AddEvidence(finding, says::RlEntropyCollapseEnd{.value = last_.value}, last_.step, last_.value, last_.line);
    return finding;
  }

  bool RewardIsAtItsBest() const {
    return reward_.points() >= 8 && reward_.Improved(0.2) && reward_.EndedNearBest(0.05);
  }
  bool IsFallingFast(double start) const {
    const std::vector<double> means = history_.Means();
    if (means.size() < 10) return false;
    const double end = stats::Median({means.end() - 3, means.end()});
    const std::vector<double> tail(means.end() - static_cast<std::ptrdiff_t>(means.size() / 3), means.end());
    return end < 5 * floor_ && end < 0.1 * start && stats::TrendZ(tail) < -2;
  }

  static constexpr std::uint64_t kFewest = 5;
  static constexpr std::size_t kFewestWatched = 10;
  Places places_;
  bool language_;
  bool plays_;
  double share_of_start_;
  double floor_;
  double watch_;
  double min_points_;
  stats::BucketHistory history_{128};
  LossCourse reward_;
  Sample last_;
  Sample first_below_;
  std::uint64_t below_ = 0;
};

class EntropyHigh : public Cloned<EntropyHigh> {
 public:
  explicit EntropyHigh(const Context& context)
      : enabled_(IsReinforcementLearning(*context.run)),
        // The entropy of a token; that of a policy that plays has the scale of its actions.
        least_(IsLanguagePolicy(*context.run) ? context.Threshold("language") : 0),
        min_points_(context.Threshold("min_points")),
        gain_(context.Threshold("gain")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == 0) entropy_.Add(sample.step, sample.value);
    if (sample.role == 1) reward_.Add(sample.step, -sample.value);
  }
  void Restart(std::int64_t step) override {
    entropy_.ForgetFrom(step);
    reward_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const bool enough =
        std::min(static_cast<double>(entropy_.points()), static_cast<double>(reward_.points())) >= min_points_;
    if (!enabled_ || !enough || !StaysAtItsStart(entropy_) || RewardGained()) return;
    const std::vector<stats::Bucket>& buckets = entropy_.buckets();
    if (buckets.back().mean <= least_) return;
    model::Finding finding =
        MakeFinding(buckets.front().first_step, buckets.back().last_step,
                    says::RlEntropyHighStays{.start = buckets.front().mean, .end = buckets.back().mean});
    AddEvidence(finding, says::RlEntropyHighEnd{.end = buckets.back().mean}, buckets.back().last_step,
                buckets.back().mean);
    out.push_back(std::move(finding));
  }

 private:
  bool RewardGained() const {
    return reward_.StartLevel() - reward_.EndLevel() > gain_ * std::abs(reward_.StartLevel());
  }

  bool enabled_;
  double least_;
  double min_points_;
  double gain_;
  stats::BucketHistory entropy_{128};
  LossCourse reward_;  // negative, so that less is better
};

// ---- distance from the reference

class KlBlowup : public Cloned<KlBlowup> {
 public:
  explicit KlBlowup(const Context& context)
      : places_(context),
        limit_(context.Threshold("limit")),
        watch_(context.Threshold("watch")),
        points_needed_(context.Threshold("points")),
        per_token_(context.run->HasMethod("grpo")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    history_.Add(sample.step, sample.value);
    recent_[points_++ % recent_.size()] = sample.value;
    last_ = sample;
    if (sample.value > largest_.value) largest_ = sample;
    if (sample.value <= limit_) {
      in_a_row_ = 0;
      return;
    }
    ++above_;
    if (in_a_row_++ == 0) row_start_ = sample;
    if (in_a_row_ > longest_row_) {
      longest_row_ = in_a_row_;
      first_above_ = row_start_;
    }
  }
  void Restart(std::int64_t) override { in_a_row_ = 0; }

  void Report(std::vector<model::Finding>& out) const override {
    if (points_ < recent_.size()) return;
    const double end = stats::Median({recent_.begin(), recent_.end()});
    // The estimator has outliers of a single batch: a few of them in a long run are not a policy that left.
    const bool often = static_cast<double>(above_) >= std::max(points_needed_, 0.2 * static_cast<double>(points_));
    const bool lasting = often || static_cast<double>(longest_row_) >= points_needed_ || end > limit_;
    if (per_token_ && above_ > 0 && lasting) {
      out.push_back(DescribePassed(end));
    } else if (const double growth = GrowthOverHistory(end);
               growth > kRunaway && end > (per_token_ ? 0.5 * limit_ : 10 * limit_)) {
      out.push_back(DescribeGrowth(growth, end));
    } else if (per_token_ && end > watch_) {
      out.push_back(DescribeWatched(end));
    }
  }

 private:
  model::Finding DescribePassed(double end) const {
    model::Finding finding = MakeFinding(
        first_above_.step, last_.step,
        says::RlKlBlowupPassed{
            .limit = limit_, .at = places_.At(first_above_.step), .points = above_, .largest = largest_.value});
    if (end < 0.5 * limit_) finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::RlKlBlowupPoint{.value = largest_.value, .at = places_.At(largest_.step)}, largest_.step,
                largest_.value, largest_.line);
    AddMeasure(finding, "largest", largest_.value);
    AddMeasure(finding, "end", end);
    return finding;
  }

  // Between what is healthy and what is flagged: worth a note.
  model::Finding DescribeWatched(double end) const {
    model::Finding finding = MakeFinding(history_.buckets().front().first_step, last_.step,
                                         says::RlKlBlowupWatch{.end = end, .watch = watch_});
    finding.severity = model::Severity::kInfo;
    AddMeasure(finding, "end", end);
    return finding;
  }

  model::Finding DescribeGrowth(double growth, double end) const {
    model::Finding finding = MakeFinding(history_.buckets()[history_.buckets().size() / 2].first_step, last_.step,
                                         says::RlKlBlowupGrew{.growth = growth, .end = end});
    finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::RlKlBlowupEnd{.value = end}, last_.step, end, last_.line);
    AddMeasure(finding, "end", end);
    return finding;
  }

  double GrowthOverHistory(double end) const {
    const std::vector<double> means = history_.Means();
    if (means.size() < 16) return 0;
    const double middle = stats::Median({means.begin() + static_cast<std::ptrdiff_t>(means.size() / 4),
                                         means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2)});
    return middle > 0 ? end / middle : 0;
  }

  static constexpr double kRunaway = 10;
  Places places_;
  double limit_;
  double watch_;
  double points_needed_;
  bool per_token_;
  stats::BucketHistory history_{128};
  std::array<double, 5> recent_{};
  std::uint64_t points_ = 0;
  std::uint64_t above_ = 0;
  std::uint64_t in_a_row_ = 0;
  std::uint64_t longest_row_ = 0;
  Sample row_start_;
  Sample first_above_;
  Sample largest_;
  Sample last_;
};

// ---- truncation

class Truncated : public Cloned<Truncated> {
 public:
  explicit Truncated(const Context& context)
      : places_(context),
        limit_(context.Threshold("limit")),
        watch_(context.Threshold("watch")),
        min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    if (sample.role == 1) length_ = sample.value;
    if (sample.role != 0) return;
    if (points_ == 0) begin_ = sample.step;
    recent_[points_++ % recent_.size()] = sample.value;
    last_step_ = sample.step;
    if (sample.value > limit_ && above_++ == 0) first_ = sample;
  }

  void SetLoggingInterval(double interval) override { interval_ = std::max(1.0, interval); }

  void Report(std::vector<model::Finding>& out) const override {
    // A point counts for the steps that it is the mean of.
    if (static_cast<double>(points_) < std::max(kFewestPoints, min_points_ / interval_)) return;
    const double share = static_cast<double>(above_) / static_cast<double>(points_);
    const double end = stats::Median(
        {recent_.begin(),
         recent_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(points_, recent_.size()))});
    // Most of the run, or where it ended; a policy that learned to end its answers is fine.
    if (above_ == 0 || end <= limit_ || (share < 0.5 && above_ < recent_.size())) return ReportWatched(end, out);
    model::Finding finding =
        MakeFinding(first_.step, last_step_, says::RlTruncatedShare{.end = end, .share = share, .limit = limit_});
    AddEvidence(finding, says::RlTruncatedFirst{.share = first_.value, .at = places_.At(first_.step)}, first_.step,
                first_.value, first_.line);
    if (length_ > 0) AddEvidence(finding, says::RlTruncatedLength{.tokens = length_}, last_step_, length_);
    AddMeasure(finding, "share", share);
    AddMeasure(finding, "end", end);
    AddMeasure(finding, "from_start", share > 0.9 ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  // Between what is healthy and what is flagged: worth a note.
  void ReportWatched(double end, std::vector<model::Finding>& out) const {
    if (points_ < recent_.size() || end <= watch_) return;
    model::Finding finding = MakeFinding(begin_, last_step_, says::RlTruncatedWatch{.end = end, .watch = watch_});
    finding.severity = model::Severity::kInfo;
    AddMeasure(finding, "end", end);
    out.push_back(std::move(finding));
  }

  static constexpr double kFewestPoints = 3;
  Places places_;
  double limit_;
  double watch_;
  double min_points_;
  double interval_ = 1;
  std::int64_t begin_ = 0;
  std::array<double, 8> recent_{};
  std::uint64_t points_ = 0;
  std::uint64_t above_ = 0;
  Sample first_;
  std::int64_t last_step_ = 0;
  double length_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeEntropyCollapse(const Context& context) {
  return std::make_unique<EntropyCollapse>(context);
}
std::unique_ptr<Detector> MakeEntropyHigh(const Context& context) { return std::make_unique<EntropyHigh>(context); }
std::unique_ptr<Detector> MakeKlBlowup(const Context& context) { return std::make_unique<KlBlowup>(context); }
std::unique_ptr<Detector> MakeTruncated(const Context& context) {
  return std::make_unique<StartedOver<Truncated>>(context);
}

}  // namespace vigil::detect
