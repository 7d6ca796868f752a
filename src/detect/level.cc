// Detectors that judge the level of the loss over the whole run: did it fall, did it stay, does it swing.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "detect/loss_curve.h"

namespace vigil::detect {
namespace {

// Below it there may be nothing left to learn: a fine-tuned language model can begin where it will end. A trainer of
// language models whose first loss is that low was given a trained one.
double SmallLoss(const model::Run& run) {
  constexpr double kSmallLoss = 0.05;
  constexpr double kLowForLanguage = 1.5;
  const bool tuned = run.HasMethod("sft") || run.HasMethod("lora") ||
                     (run.method.confidence < model::kMethodKnown && run.profile.trains_on_tokens);
  return tuned ? kLowForLanguage : kSmallLoss;
}

// ---- never improved

class NotDecreasing : public Cloned<NotDecreasing> {
 public:
  explicit NotDecreasing(const Context& context)
      : places_(context),
        min_points_(context.Threshold("min_points")),
        min_epochs_(context.Threshold("min_epochs")),
        epochs_(context.axis() == model::Axis::kEpoch),
        min_improvement_(context.Threshold("min_improvement")),
        trend_z_(context.Threshold("trend_z")),
        crawl_(context.Threshold("crawl")),
        small_loss_(SmallLoss(*context.run)),
        curve_(context) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0) curve_.Add(sample);
    if (sample.role == 1 && std::isfinite(sample.value)) {
      rates_.Add(sample.step, sample.value);
      peak_rate_ = std::max(peak_rate_, sample.value);
    }
    evals_ += sample.role == 2 ? 1 : 0;
  }
  void Restart(std::int64_t step) override { curve_.ForgetFrom(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (!curve_.judged() || curve_.points() < 3 || static_cast<double>(curve_.points()) < MinPoints()) return;
    if (StillWarmingUp()) return;
    const std::vector<double> logs = curve_.Logs();
    const std::size_t opening = std::max<std::size_t>(3, logs.size() / 20);
    const double start = MedianOf(std::span(logs).first(opening));
    const double end = MedianOf(Tail(logs, std::max<std::size_t>(3, logs.size() / 4)));
    // What was learned within the first bucket of a long run was learned.
    if (curve_.FirstLog() - end > std::max(kLearnedAtOnce, 4 * stats::NoiseSigma(logs))) return;
    if (curve_.FirstPoint() - end > std::max(kLearnedAtOnce, 8 * stats::NoiseSigma(logs))) return;
    const std::vector<double> smooth = stats::SmoothByMedian(logs, 5);
    const double best = *std::min_element(smooth.begin(), smooth.end());
    const double noise = stats::NoiseSigma(logs);
    const double trend = stats::TrendZ(logs);
    // What chance alone gives the best of many smoothed points must not count as learning.
    const double lucky = std::max(2 * min_improvement_, 3 * noise / std::sqrt(5.0));
    const double uncertain_start = 2.5 * noise / std::sqrt(static_cast<double>(opening));
    if (start - best > std::max(lucky, uncertain_start) || end - start > std::log(1.3)) return;
    // A trend can be beyond doubt and still be next to nothing: then it is slow, and worth a look.
    const bool crawls = trend < -trend_z_;
    if (start - end > (crawls ? crawl_ : std::max(min_improvement_, uncertain_start))) return;
    const double level = std::exp(end);
    model::Finding finding =
        MakeFinding(curve_.At(0).first_step, curve_.last_step(),
                    crawls ? SaysCrawl(std::exp(start), level) : SaysLevel(std::exp(start), level));
    // Noise can hide a slow gain; then it is worth a look, not an alarm.
    const double uncertainty = 2 * noise / std::sqrt(static_cast<double>(logs.size()) / 4);
    if (crawls || uncertainty > min_improvement_ || level < small_loss_ || BeginsLate())
      finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::LossNotDecreasingLevels{.start = std::exp(start), .level = level}, curve_.last_step(),
                level);
    AddMeasure(finding, "level", level);
    AddMeasure(finding, "start", std::exp(start));
    AddMeasure(finding, "trend_z", trend);
    AddMeasure(finding, "crawls", crawls ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  model::Statement SaysLevel(double start, double level) const {
    return says::LossNotDecreasingLevel{.level = level,
                                        .first = places_.At(curve_.At(0).first_step),
                                        .last = places_.At(curve_.last_step()),
                                        .points = curve_.points(),
                                        .start = start};
  }
  model::Statement SaysCrawl(double start, double level) const {
    return says::LossNotDecreasingCrawls{
        .share = 1 - level / start, .points = curve_.points(), .start = start, .level = level};
  }

  // The rate is at its highest at the end and was still rising just before: the schedule has not begun in earnest.
  bool StillWarmingUp() const {
    const auto& buckets = rates_.buckets();
    if (buckets.size() < 4 || peak_rate_ <= 0 || buckets.back().mean < kAtPeak * peak_rate_) return false;
    return buckets[buckets.size() * 4 / 5].mean < kAtPeak * buckets.back().mean;
  }

  // A point that stands for a whole epoch says as much as many; one evaluation for each point shows the same.
  double MinPoints() const {
    const bool epochs = epochs_ || (evals_ > 0 && evals_ + 1 >= curve_.points());
    return epochs ? std::min(min_epochs_, min_points_) : min_points_;
  }

  // The log begins in the middle of a run: what was learned before it is not in the log.
  bool BeginsLate() const {
    const std::int64_t first = curve_.At(0).first_step;
    return first > kLateStep && first * kLateShare > curve_.last_step();
  }

  static constexpr double kLearnedAtOnce = 0.2;
  static constexpr double kAtPeak = 0.95;
  static constexpr std::int64_t kLateStep = 100;
  static constexpr std::int64_t kLateShare = 20;  // beyond a twentieth of what was reached
  Places places_;
  double min_points_;
  double min_epochs_;
  bool epochs_;
  std::uint64_t evals_ = 0;
  double min_improvement_;
  double trend_z_;
  double crawl_;
  double small_loss_;
  Curve curve_;
  stats::BucketHistory rates_{64};
  double peak_rate_ = 0;
};

// ---- plateau

class Plateau : public Cloned<Plateau> {
 public:
  explicit Plateau(const Context& context)
      : places_(context),
        min_points_(context.Threshold("min_points")),
        min_level_(context.Threshold("min_level")),
        flat_share_(context.Threshold("flat_share")),
        high_level_(LevelOfNothingLearned(context)),
        small_loss_(SmallLoss(*context.run)),
        chance_(LogOfVocabulary(*context.run)),
        frequencies_(context.Threshold("frequencies")),
        curve_(context) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0) curve_.Add(sample);
    if (sample.role == 1 && std::isfinite(sample.value)) rates_.Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override { curve_.ForgetFrom(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (!curve_.judged() || curve_.points() < 3 || static_cast<double>(curve_.points()) < min_points_) return;
    const std::vector<double> logs = curve_.Logs();
    if (!JudgeFrom(logs, flat_share_, kLevelSpan, out)) JudgeFrom(logs, kLongFlatShare, kHighLevelSpan, out);
  }

 private:
  // The level above which a language model has learned next to nothing; infinite where the loss may be anything else.
  static double LevelOfNothingLearned(const Context& context) {
    return context.run->profile.trains_on_tokens ? std::log(context.Threshold("high_level"))
                                                 : std::numeric_limits<double>::infinity();
  }

  // From the loss of guessing among all tokens (or thrown above it) to that of their frequencies alone, and no further.
  bool KnowsFrequenciesOnly(double start, double level) const {
    return chance_ > 0 && std::exp(start) > kNearChance * chance_ && std::exp(level) > frequencies_ * chance_;
  }
  static double LogOfVocabulary(const model::Run& run) {
    const double tokens = run.FactNumber("vocab_size").value_or(0);
    return tokens >= kFewestTokens && tokens < 1e9 ? std::log(tokens) : 0;
  }

  // Looks for the first point from which on the loss is level; true when something was found there.
  bool JudgeFrom(std::span<const double> logs, double flat_share, double span, std::vector<model::Finding>& out) const {
    const auto longest_lead = static_cast<std::size_t>((1 - flat_share) * static_cast<double>(logs.size()));
    for (std::size_t from = logs.size() / 20; from <= longest_lead;
         from += std::max<std::size_t>(1, logs.size() / 40)) {
      if (IsLevel(logs.subspan(from), span)) return Judge(logs, from, span, out);
    }
    return false;
  }

  // Neither a valley nor a hill: on the whole it stays where its median is.
  static bool StaysPut(std::span<const double> logs, double blur) {
    const std::vector<double> smooth =
        stats::SmoothByMedian({logs.begin(), logs.end()}, std::max<std::size_t>(5, logs.size() / 8) | 1U);
    const auto [low, high] = std::minmax_element(smooth.begin(), smooth.end());
    return *high - *low < kWander + 6 * blur;
  }

  // No downward trend, and enough points for the noise that a slow one would have been seen.
  static bool IsLevel(std::span<const double> logs, double allowed) {
    const double span = stats::TheilSenSlope(logs) * static_cast<double>(logs.size());
    const double blur = 2 * stats::NoiseSigma(logs) / std::sqrt(static_cast<double>(logs.size()));
    // A fall too small to matter is level, however certain it is.
    const double certain = allowed > kLevelSpan ? -4 : -2;
    if (!StaysPut(logs, blur)) return false;
    return blur < allowed && (span > -kNoMatter || (span > -allowed && stats::TrendZ(logs) > certain));
  }

  bool Judge(std::span<const double> logs, std::size_t from, double span, std::vector<model::Finding>& out) const {
    const double start = std::max(MedianOf(logs.first(std::min<std::size_t>(3, logs.size()))), curve_.FirstLog());
    const double level = MedianOf(logs.subspan(from));
    if (std::exp(level) < small_loss_) return false;
    const double ratio = std::exp(level - start);
    const bool little_gained = ratio >= min_level_ && span <= kLevelSpan;
    const bool too_high =
        (little_gained || level > high_level_ || KnowsFrequenciesOnly(start, level)) && ratio <= kSomeGain;
    if (!too_high || !RateIsUp(curve_.At(from).first_step)) return false;
    const std::int64_t first = curve_.At(from).first_step;
    model::Finding finding = MakeFinding(first, curve_.last_step(),
                                         says::LossPlateauLevel{.start = std::exp(start),
                                                                .level = std::exp(level),
                                                                .first = places_.At(first),
                                                                .last = places_.At(curve_.last_step())});
    const double share = 1 - static_cast<double>(from) / static_cast<double>(logs.size());
    AddEvidence(finding, says::LossPlateauShare{.level = std::exp(level), .share = share}, first, std::exp(level));
    AddMeasure(finding, "level", std::exp(level));
    AddMeasure(finding, "start", std::exp(start));
    out.push_back(std::move(finding));
    return true;
  }

  // With the learning rate already at a tenth of its peak no progress is the schedule's doing.
  bool RateIsUp(std::int64_t from_step) const {
    double peak = 0;
    double highest_after = 0;
    for (const stats::Bucket& bucket : rates_.buckets()) {
      peak = std::max(peak, bucket.largest);
      if (bucket.last_step >= from_step) highest_after = std::max(highest_after, bucket.mean);
    }
    return peak == 0 || highest_after > 0.1 * peak;
  }

  static constexpr double kWander = 0.06;
  static constexpr double kNearChance = 0.93;
  static constexpr double kFewestTokens = 16;
  static constexpr double kLevelSpan = 0.015;
  static constexpr double kHighLevelSpan = 0.04;  // at a level that high any real learning is faster
  static constexpr double kLongFlatShare = 0.75;
  static constexpr double kNoMatter = 0.005;
  static constexpr double kSomeGain = 0.995;
  Places places_;
  double min_points_;
  double min_level_;
  double flat_share_;
  double high_level_;
  double small_loss_;
  double chance_;
  double frequencies_;
  Curve curve_;
  stats::BucketHistory rates_{64};
};

// ---- oscillation

class Oscillation : public Cloned<Oscillation> {
 public:
  explicit Oscillation(const Context& context)
      : min_points_(context.Threshold("min_points")),
        swing_(context.Threshold("swing")),
        swing_epoch_(context.Threshold("swing_epoch")),
        epochs_(context.axis() == model::Axis::kEpoch),
        curve_(context) {}

  void Observe(const Sample& sample) override {
    evals_ += sample.role == 1 ? 1 : 0;
    if (sample.role != 0) return;
    curve_.Add(sample);
    if (!(sample.value > 0) || !std::isfinite(sample.value)) return;
    if (last_ > 0) {
      ratios_[jumps_ % ratios_.size()] = sample.value / last_;
      ++jumps_;
    }
    last_ = sample.value;
  }
  void Restart(std::int64_t step) override {
    curve_.ForgetFrom(step);
    last_ = 0;
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (!curve_.judged() || curve_.points() < 3 || static_cast<double>(curve_.points()) < min_points_) return;
    const std::vector<double> logs = curve_.Logs();
    const double start = MedianOf(std::span(logs).first(std::max<std::size_t>(3, logs.size() / 10)));
    const double end = MedianOf(Tail(logs, std::max<std::size_t>(3, logs.size() / 4)));
    const double swing = std::exp(UsualJump()) - 1;
    const double limit = IsLogOfEpochs() ? swing_epoch_ : swing_;
    if (swing < limit || end < start + std::log(0.7)) return;
    model::Finding finding = MakeFinding(curve_.At(logs.size() / 2).first_step, curve_.last_step(),
                                         says::LossOscillationSwings{.swing = swing});
    AddEvidence(finding, says::LossOscillationJumps{.swing = swing, .start = std::exp(start), .end = std::exp(end)},
                curve_.last_step(), std::exp(end));
    AddMeasure(finding, "swing", swing);
    out.push_back(std::move(finding));
  }

 private:
  // One evaluation for each training loss: the points are epochs.
  bool IsLogOfEpochs() const { return epochs_ || (evals_ > 0 && evals_ + 1 >= curve_.points()); }

  // From one point to the next, on the logarithm: that of the last points.
  double UsualJump() const {
    std::vector<double> jumps;
    for (const double ratio : std::span(ratios_).first(std::min(jumps_, ratios_.size())))
      jumps.push_back(std::abs(std::log(ratio)));
    return stats::Median(std::move(jumps));
  }

  double min_points_;
  double swing_;
  double swing_epoch_;
  bool epochs_;
  std::uint64_t evals_ = 0;
  Curve curve_;
  std::array<double, 128> ratios_ = {};  // a ring: of a point to the one before
  std::size_t jumps_ = 0;
  double last_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeNotDecreasing(const Context& context) { return std::make_unique<NotDecreasing>(context); }
std::unique_ptr<Detector> MakePlateau(const Context& context) { return std::make_unique<Plateau>(context); }
std::unique_ptr<Detector> MakeOscillation(const Context& context) { return std::make_unique<Oscillation>(context); }

}  // namespace vigil::detect
