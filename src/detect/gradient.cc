#include <algorithm>
#include <limits>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// ---- explosion

class GradExplosion : public Cloned<GradExplosion> {
 public:
  explicit GradExplosion(const Context& context)
      : places_(context),
        limit_(FixedLimit(context)),
        sustained_(context.Threshold("sustained_points")),
        growth_(context.Threshold("growth")),
        growth_points_(context.Threshold("growth_points")),
        relative_(context.Threshold("relative")),
        floor_(context.reinforcement ? kRlFloor : 0) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1) return loss_.Add(sample.step, sample.value);
    if (!std::isfinite(sample.value) || sample.value <= 0) return;
    ++points_;
    ObserveGrowth(sample);
    ObserveLimit(sample);
    history_.Add(sample.step, std::log(sample.value));
    last_ = sample;
  }
  void Restart(std::int64_t step) override {
    loss_.ForgetFrom(step);
    history_.ForgetFrom(step);
    rises_ = 0;
    above_ = 0;
    if (exploded_.from.step >= step) exploded_ = {};
    if (longest_start_.step >= step) longest_above_ = 0;
    if (largest_.step >= step) largest_ = {};
  }

  void Report(std::vector<model::Finding>& out) const override {
    model::Finding finding;
    if (exploded_.points > 0) {
      finding = DescribeGrowth();
    } else if (StaysAboveLimit()) {
      finding = DescribeLimit();
    } else if (const Rise rise = RiseOfLevel(); rise.ratio >= relative_ && rise.from * rise.ratio > floor_) {
      finding = DescribeRise(rise);
    } else {
      return;
    }
    // The loss came back to its best: what exploded was survived.
    if (loss_.points() >= 8 && loss_.Improved() && loss_.EndedNearBest()) finding.severity = model::Severity::kWarning;
    AddMeasure(finding, "largest", largest_.value);
    out.push_back(std::move(finding));
  }

 private:
  struct Growth {
    Sample from;
    Sample to;
    std::uint64_t points = 0;
  };
  struct Rise {
    double from = 0;
    double ratio = 1;
    std::int64_t from_step = 0;
  };

  model::Finding DescribeGrowth() const {
    model::Finding finding = MakeFinding(exploded_.from.step, exploded_.to.step,
                                         says::GradExplosionGrowth{.from = exploded_.from.value,
                                                                   .to = exploded_.to.value,
                                                                   .points = exploded_.points,
                                                                   .first = places_.At(exploded_.from.step)});
    AddPoint(finding, exploded_.to);
    return finding;
  }
  model::Finding DescribeLimit() const {
    model::Finding finding = MakeFinding(longest_start_.step, last_.step,
                                         says::GradExplosionAboveLimit{.limit = limit_,
                                                                       .points = longest_above_,
                                                                       .first = places_.At(longest_start_.step),
                                                                       .largest = largest_.value});
    AddPoint(finding, largest_);
    return finding;
  }
  model::Finding DescribeRise(const Rise& rise) const {
    const double level = rise.from * rise.ratio;
    model::Finding finding =
        MakeFinding(rise.from_step, last_.step, says::GradExplosionLevel{.from = rise.from, .to = level});
    AddEvidence(finding, says::GradExplosionLevelAtEnd{.value = level}, last_.step, level);
    return finding;
  }
  void AddPoint(model::Finding& finding, const Sample& point) const {
    AddEvidence(finding, says::GradExplosionPoint{.value = point.value, .at = places_.At(point.step)}, point.step,
                point.value, point.line);
  }

  static double FixedLimit(const Context& context) {
    const model::Run& run = *context.run;
    if (run.method.confidence < model::kMethodKnown) return std::numeric_limits<double>::infinity();
    if (run.method.name == "grpo" || run.method.name == "ppo") return context.Threshold("limit_rl");
    constexpr std::array<std::string_view, 4> kLanguage = {"pretrain", "sft", "lora", "dpo"};
    const bool language = std::find(kLanguage.begin(), kLanguage.end(), run.method.name) != kLanguage.end();
    return language ? context.Threshold("limit_sft") : std::numeric_limits<double>::infinity();
  }

  void ObserveGrowth(const Sample& sample) {
    if (points_ > 1 && sample.value > last_.value) {
      if (rises_++ == 0) rise_from_ = last_;
    } else {
      rises_ = 0;
    }
    const double largest_before = largest_before_rise_;
    if (rises_ == 0) largest_before_rise_ = std::max(largest_before_rise_, sample.value);
    const bool grown = static_cast<double>(rises_) >= growth_points_ && sample.value >= growth_ * rise_from_.value;
    if (grown && points_ > 8 && sample.value > std::max(floor_, kBeyondEarlier * largest_before))
      exploded_ = {rise_from_, sample, rises_ + 1};
  }

  void ObserveLimit(const Sample& sample) {
    if (sample.value > largest_.value) largest_ = sample;
    recent_[points_ % recent_.size()] = sample.value;
    if (sample.value <= limit_) {
      above_ = 0;
      return;
    }
    if (above_++ == 0) above_start_ = sample;
    if (above_ > longest_above_) {
      longest_above_ = above_;
      longest_start_ = above_start_;
    }
  }

  bool StaysAboveLimit() const {
    const bool ends_above = points_ >= recent_.size() && stats::Median({recent_.begin(), recent_.end()}) > limit_ &&
                            static_cast<double>(longest_above_) >= sustained_;
    const double passed = std::max(2 * sustained_, kSustainedShare * static_cast<double>(points_));
    return ends_above || static_cast<double>(longest_above_) >= passed;
  }

  Rise RiseOfLevel() const {
    const std::vector<double> logs = history_.Means();
    if (logs.size() < 12) return {};
    const double early = stats::Median({logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(logs.size() / 2)});
    const double late = stats::Median({logs.end() - 3, logs.end()});
    std::size_t from = logs.size() - 1;
    while (from > 0 && logs[from] > 0.5 * (early + late)) --from;
    return {std::exp(early), std::exp(late - early), history_.buckets()[from].first_step};
  }

  static constexpr double kBeyondEarlier = 5;
  static constexpr double kSustainedShare = 0.1;
  // Norms near zero mean that no group has had a signal so far: growing from there is how learning begins.
  static constexpr double kRlFloor = 1;
  Places places_;
  double limit_;
  double sustained_;
  double growth_;
  double growth_points_;
  double relative_;
  double floor_;
  std::uint64_t points_ = 0;
  Sample last_;
  Sample rise_from_;
  std::uint64_t rises_ = 0;
  double largest_before_rise_ = 0;
  Growth exploded_;
  Sample largest_;
  std::array<double, 5> recent_{};
  std::uint64_t above_ = 0;
  std::uint64_t longest_above_ = 0;
  Sample above_start_;
  Sample longest_start_;
  stats::BucketHistory history_{64};
  LossCourse loss_;
};

// ---- zero

class GradZero : public Cloned<GradZero> {
 public:
  explicit GradZero(const Context& context)
      : places_(context), share_(context.Threshold("share")), min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1) return loss_.Add(sample.step, sample.value);
    if (sample.role == 2) return reward_.Add(sample.step, -sample.value);
    if (std::isnan(sample.value)) return;
    ++points_;
    last_step_ = sample.step;
    if (sample.value != 0.0) return;
    if (zeros_++ == 0) first_ = sample;
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (static_cast<double>(points_) < min_points_ ||
        static_cast<double>(zeros_) < share_ * static_cast<double>(points_))
      return;
    // A trainer that learns and prints 0 does not measure the norm, or rounds it away.
    if (loss_.Improved(0.05) || reward_.Improved(0.1)) return;
    model::Finding finding =
        MakeFinding(first_.step, last_step_, says::GradZeroShare{.zeros = zeros_, .points = points_});
    AddEvidence(finding, says::GradZeroFirst{.at = places_.At(first_.step)}, first_.step, 0, first_.line);
    AddMeasure(finding, "share", static_cast<double>(zeros_) / static_cast<double>(points_));
    out.push_back(std::move(finding));
  }

 private:
  Places places_;
  double share_;
  double min_points_;
  Sample first_;
  std::int64_t last_step_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t zeros_ = 0;
  LossCourse loss_;
  LossCourse reward_;
};

// ---- vanishing

class GradVanishing : public Cloned<GradVanishing> {
 public:
  explicit GradVanishing(const Context& context)
      : places_(context),
        enabled_(!context.reinforcement),
        floor_(context.Threshold("floor")),
        share_(context.Threshold("share")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1) return loss_.Add(sample.step, sample.value);
    if (std::isfinite(sample.value) && sample.value > 0) history_.Add(sample.step, sample.value);
  }

  void Restart(std::int64_t step) override {
    history_.ForgetFrom(step);
    loss_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const auto& buckets = history_.buckets();
    if (!enabled_ || history_.points() < 20 || loss_.points() < 8 || loss_.Improved(0.3)) return;
    const auto half = buckets.begin() + static_cast<std::ptrdiff_t>(buckets.size() / 2);
    const std::vector<double> means = history_.Means();
    const double useful =
        stats::Median({means.begin(), means.begin() + static_cast<std::ptrdiff_t>((means.size() + 2) / 3)});
    // Small norms from the first step on are the scale of this model; small against what they were is a loss.
    const double limit = std::min(floor_, kFallen * useful);
    const auto is_low = [&](const stats::Bucket& bucket) { return bucket.mean < limit; };
    const auto low = std::count_if(half, buckets.end(), is_low);
    if (static_cast<double>(low) < share_ * static_cast<double>(buckets.end() - half)) return;
    const auto first = std::find_if(buckets.begin(), buckets.end(), is_low);
    model::Finding finding = MakeFinding(
        first->first_step, buckets.back().last_step,
        says::GradVanishingFell{.limit = limit, .at = places_.At(first->first_step), .loss = loss_.EndLevel()});
    AddEvidence(finding, says::GradVanishingEnd{.value = buckets.back().mean}, buckets.back().last_step,
                buckets.back().mean);
    out.push_back(std::move(finding));
  }

 private:
  static constexpr double kFallen = 0.01;
  Places places_;
  bool enabled_;
  double floor_;
  double share_;
  stats::BucketHistory history_{64};
  LossCourse loss_;
};

}  // namespace

std::unique_ptr<Detector> MakeGradExplosion(const Context& context) { return std::make_unique<GradExplosion>(context); }
std::unique_ptr<Detector> MakeGradZero(const Context& context) {
  return std::make_unique<StartedOver<GradZero>>(context);
}
std::unique_ptr<Detector> MakeGradVanishing(const Context& context) { return std::make_unique<GradVanishing>(context); }

}  // namespace vigil::detect
