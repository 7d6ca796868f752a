// Detectors that judge the level of the loss over the whole run: did it fall, did it stay, did it rise again.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <span>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// The loss on the logarithm in bounded memory; not judged when it goes to zero or below, or in RL.
class Curve {
 public:
  explicit Curve(const Context& context) : judged_(!context.reinforcement) {}

  void Add(const Sample& sample) {
    if (!std::isfinite(sample.value)) return;
    if (sample.value <= 0) {
      // Exact zeros are a collapse or a hidden NaN; a negative loss is one whose ratio means nothing.
      if (sample.value < 0) judged_ = false;
      return;
    }
    history_.Add(sample.step, std::log(sample.value));
    if (first_.size() < kFirst) first_.push_back({sample.step, std::log(sample.value)});
    recent_.push_back({sample.step, std::log(sample.value)});
    if (recent_.size() > kRecent) recent_.pop_front();
  }
  void ForgetFrom(std::int64_t step) {
    history_.ForgetFrom(step);
    while (!recent_.empty() && recent_.back().step >= step) recent_.pop_back();
    while (!first_.empty() && first_.back().step >= step) first_.pop_back();
  }

  bool judged() const { return judged_; }
  std::uint64_t points() const { return history_.points(); }
  std::vector<double> Logs() const { return history_.Means(); }
  const stats::Bucket& At(std::size_t i) const { return history_.buckets()[i]; }
  std::int64_t last_step() const { return history_.buckets().empty() ? 0 : history_.buckets().back().last_step; }

  // The last points one by one: in a long run a bucket holds hundreds.
  struct Point {
    std::int64_t step = 0;
    double log = 0;
  };
  const std::deque<Point>& recent() const { return recent_; }
  double FirstPoint() const { return first_.empty() ? 0 : first_.front().log; }
  // Where it began: in a long run the first bucket has most of the learning in it.
  double FirstLog() const {
    std::vector<double> logs;
    logs.reserve(first_.size());
    for (const Point& point : first_) logs.push_back(point.log);
    return stats::Median(std::move(logs));
  }

 private:
  static constexpr std::size_t kRecent = 64;
  static constexpr std::size_t kFirst = 3;
  bool judged_;
  stats::BucketHistory history_{128};
  std::deque<Point> recent_;
  std::vector<Point> first_;
};

std::span<const double> Tail(std::span<const double> values, std::size_t count) {
  return values.last(std::min(count, values.size()));
}
double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

// Trainers of language models, whose loss is in nats a token.
bool IsLanguageTrainer(const model::Run& run) {
  constexpr std::array<std::string_view, 5> kTrainers = {"hf-trainer", "trl", "axolotl", "llama-factory", "megatron"};
  return std::find(kTrainers.begin(), kTrainers.end(), run.framework) != kTrainers.end();
}

// Below it there may be nothing left to learn: a fine-tuned language model can begin where it will end. A trainer of
// language models whose first loss is that low was given a trained one.
double SmallLoss(const model::Run& run) {
  constexpr double kSmallLoss = 0.05;
  constexpr double kLowForLanguage = 1.5;
  const bool tuned = run.InRegime("sft") || run.InRegime("lora") ||
                     (run.regime.confidence < model::kRegimeKnown && IsLanguageTrainer(run));
  return tuned ? kLowForLanguage : kSmallLoss;
}

// Whether the level of a stretch fell, beyond what its noise can do. For stretches that wander a test of trend that
// pays for correlation says nothing.
bool Falls(std::span<const double> logs) {
  const std::size_t quarter = std::max<std::size_t>(3, logs.size() / 4);
  if (logs.size() < 2 * quarter) return false;
  const double fall = MedianOf(logs.first(quarter)) - MedianOf(Tail(logs, quarter));
  return fall > std::max(0.01, 4 * stats::NoiseSigma(logs) / std::sqrt(static_cast<double>(quarter)));
}

// ---- divergence

class Divergence : public Detector {
 public:
  explicit Divergence(const Context& context)
      : min_log_ratio_(std::log(context.Threshold("min_ratio"))),
        z_(context.Threshold("z")),
        recent_z_(context.Threshold("recent_z")),
        min_points_(context.Threshold("min_points")),
        curve_(context) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0) curve_.Add(sample);
    if (sample.role == 1) evals_.Add(sample.step, sample.value);
    if (sample.role == 2 && std::isfinite(sample.value)) grads_.Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override {
    curve_.ForgetFrom(step);
    evals_.ForgetFrom(step);
    grads_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (!curve_.judged() || curve_.points() < 3 || static_cast<double>(curve_.points()) < min_points_) return;
    const std::vector<double> logs = curve_.Logs();
    std::vector<double> smooth = stats::SmoothByMedian(logs, logs.size() >= 9 ? 3 : 1);
    smooth.front() = std::min(smooth.front(), logs.front());  // where it began is a level that it has had
    const auto best = static_cast<std::size_t>(std::min_element(smooth.begin(), smooth.end()) - smooth.begin());
    const bool confirmed = EvaluationRose();
    const std::size_t ending = confirmed ? 2 : std::max<std::size_t>(3, logs.size() / 10);
    const double end = MedianOf(Tail(logs, ending));
    const double rise = end - smooth[best];
    const bool higher = rise >= min_log_ratio_ && !IsNegligible(smooth, best, end);
    if (higher && (IsSignificant(logs, smooth, best, rise) || IsRecent(logs, smooth, best, confirmed))) {
      out.push_back(Describe(logs, smooth, best, end));
    } else if (!ReportLateRise(smooth, best, out)) {
      ReportExcursion(smooth, out);
    }
  }

 private:
  // The best of many noisy points is low by chance: the rise must be beyond that, by the noise before the turn or by
  // that of the whole curve, and the last third must not have come back.
  bool IsSignificant(std::span<const double> logs, std::span<const double> smooth, std::size_t best,
                     double rise) const {
    const std::span<const double> last = Tail(smooth, std::max<std::size_t>(3, smooth.size() / 3));
    const double lowest = *std::min_element(last.begin(), last.end());
    const double noise = std::max({stats::NoiseSigma(logs), kPlainShare * PlainNoise(logs), kSmallestNoise});
    // Of few points the noise itself is uncertain.
    const auto count = static_cast<double>(logs.size());
    const double chance = kBeyondChance + std::sqrt(2 * std::log(count)) + kFewPoints / count;
    const auto bottom = static_cast<std::size_t>(std::min_element(logs.begin(), logs.end()) - logs.begin());
    if (OnlyRises(logs.subspan(bottom)) && rise > kManifold) return true;
    if (lowest > smooth[best] + min_log_ratio_) {
      const bool rising = stats::TrendZ(logs) > kRisingZ && rise > 2 * noise;
      if (rising || rise > chance * noise) return true;
    }
    const std::span<const double> before =
        logs.first(std::max<std::size_t>(best + 1, std::min<std::size_t>(logs.size(), 8)));
    const double noise_before =
        std::max(stats::NoiseSigma(before), logs.size() < kEnoughForBefore ? noise : 0.5 * noise);
    return rise / noise_before >= std::max(z_, chance) && lowest > smooth[best] + 0.5 * min_log_ratio_;
  }

  // Standard deviation of the differences: less robust than their median deviation, and not fooled by a few equal ones.
  static double PlainNoise(std::span<const double> logs) {
    double squares = 0;
    for (std::size_t i = 1; i < logs.size(); ++i) squares += (logs[i] - logs[i - 1]) * (logs[i] - logs[i - 1]);
    return std::sqrt(squares / (2 * static_cast<double>(std::max<std::size_t>(logs.size() - 1, 1))));
  }

  // Every point above the one before, over enough of them that chance does not do it.
  static bool OnlyRises(std::span<const double> logs) {
    return logs.size() > kRises && std::adjacent_find(logs.begin(), logs.end(), std::greater_equal<>()) == logs.end();
  }

  // The last points stand far above anything the noise could do, and there is no sign of a return; two will do when
  // the evaluation says the same.
  bool IsRecent(std::span<const double> logs, std::span<const double> smooth, std::size_t best, bool confirmed) const {
    const std::size_t count = confirmed ? 2 : 3;
    if (logs.size() < best + count + 1 || (!confirmed && logs.size() < kEnoughForRecent)) return false;
    const double noise = std::max(stats::NoiseSigma(logs.first(logs.size() - count)), kSmallestNoise);
    const double bar = smooth[best] + std::max(min_log_ratio_, recent_z_ * noise);
    const std::span<const double> last = Tail(logs, count);
    const bool returning = !confirmed && last.back() < last.front();
    return !returning &&
           *std::min_element(last.begin(), last.end()) > (confirmed ? smooth[best] + 0.5 * min_log_ratio_ : bar);
  }

  // The run went as usual until its last points, which stand far above all that: the level of the last tenth does not
  // know it yet, but the run may have been stopped because of it. What was usual is told by the part before that tenth.
  bool ReportLateRise(std::span<const double> smooth, std::size_t best, std::vector<model::Finding>& out) const {
    const auto& recent = curve_.recent();
    if (recent.size() < kEnoughForRecent + kLatePoints) return false;
    const std::size_t late = std::max(kLatePoints, smooth.size() / 10);
    const std::span<const double> before =
        Tail(smooth.first(smooth.size() - late), std::max(kLatePoints, smooth.size() / 4));
    std::vector<double> logs;
    logs.reserve(recent.size());
    for (const Curve::Point& point : recent) logs.push_back(point.log);
    const std::span<const double> last = Tail(logs, kLatePoints);
    const double usual = MedianOf(before);
    const double noise = std::max({stats::NoiseSigma(logs), stats::RobustSigma(before), kSmallestNoise});
    const double end = MedianOf(last);
    const double bar = std::max(usual, smooth[best]) + std::max(min_log_ratio_, recent_z_ * noise);
    if (*std::min_element(last.begin(), last.end()) <= bar || IsNegligible(smooth, best, end)) return false;
    const double quarter = usual + 0.25 * (end - usual);
    std::size_t first_up = logs.size() - 1;
    while (first_up > 0 && logs[first_up - 1] > quarter) --first_up;
    if (IsReturning(std::span(logs).subspan(first_up), usual)) return false;
    const std::int64_t step = first_up > 0 ? recent[first_up].step : FirstBucketAbove(quarter);
    model::Finding finding = MakeFinding(
        step, curve_.last_step(),
        fmt::format("loss turned up at step {} and ends at {}, {}x its usual {}", step, FormatNumber(std::exp(end)),
                    FormatNumber(std::exp(end - usual)), FormatNumber(std::exp(usual))));
    AddEvidence(finding, fmt::format("usual loss {} before the rise", FormatNumber(std::exp(usual))), step,
                std::exp(usual));
    AddEvidence(finding, fmt::format("loss {} at the end", FormatNumber(std::exp(end))), curve_.last_step(),
                std::exp(end));
    AddMeasure(finding, "best", std::exp(smooth[best]));
    AddMeasure(finding, "end", std::exp(end));
    AddMeasure(finding, "start", std::exp(smooth.front()));
    AddMeasure(finding, "turn_step", static_cast<double>(step));
    out.push_back(std::move(finding));
    return true;
  }

  // A few points that go down from one to the next are a spike on its way back; of more, half of the way must be done.
  static bool IsReturning(std::span<const double> risen, double usual) {
    if (risen.size() <= 2 * kLatePoints) return risen.back() < Tail(risen, kLatePoints).front();
    const std::vector<double> smooth = stats::SmoothByMedian({risen.begin(), risen.end()}, kLatePoints);
    const double peak = *std::max_element(smooth.begin(), smooth.end());
    return smooth.back() < usual + 0.5 * (peak - usual);
  }

  // The first step of the stretch at the end whose buckets all stand above `log`.
  std::int64_t FirstBucketAbove(double log) const {
    const std::vector<double> logs = curve_.Logs();
    std::size_t i = logs.size() - 1;
    while (i > 0 && logs[i - 1] > log) --i;
    return curve_.At(i).first_step;
  }

  // The loss left for several times its level early on, stayed away for a good part of the run and came back: whatever
  // the model knew before is gone. Later and narrower ones are spikes.
  void ReportExcursion(std::span<const double> smooth, std::vector<model::Finding>& out) const {
    const auto peak = static_cast<std::size_t>(std::max_element(smooth.begin(), smooth.end()) - smooth.begin());
    const auto low = static_cast<std::size_t>(
        std::min_element(smooth.begin(), smooth.begin() + static_cast<std::ptrdiff_t>(peak) + 1) - smooth.begin());
    const double height = smooth[peak] - smooth[low];
    const double halfway = smooth[low] + 0.5 * height;
    const auto away = static_cast<std::size_t>(
        std::count_if(smooth.begin(), smooth.end(), [&](double value) { return value > halfway; }));
    if (height < kManifold || low > smooth.size() / 4 || away < kRises || away * 10 < smooth.size()) return;
    const std::int64_t first = curve_.At(low).last_step;
    const double level = std::exp(smooth[low]);
    const double top = std::exp(smooth[peak]);
    model::Finding finding = MakeFinding(
        first, curve_.At(peak).last_step,
        fmt::format("loss left {} at step {} for {} ({}x, at step {}) and came back late", FormatNumber(level), first,
                    FormatNumber(top), FormatNumber(std::exp(height)), curve_.At(peak).last_step));
    finding.severity = model::Severity::kWarning;
    AddEvidence(finding, fmt::format("loss {} at step {}", FormatNumber(top), curve_.At(peak).last_step),
                curve_.At(peak).last_step, top);
    AddMeasure(finding, "best", level);
    AddMeasure(finding, "end", std::exp(smooth.back()));
    AddMeasure(finding, "peak", top);
    AddMeasure(finding, "came_back", 1);
    AddMeasure(finding, "start", std::exp(smooth.front()));
    AddMeasure(finding, "turn_step", static_cast<double>(first));
    out.push_back(std::move(finding));
  }

  bool EvaluationRose() const { return evals_.points() >= kEnoughEvals && LastEval() > kEvalRose * evals_.BestLevel(); }
  bool EvaluationIsFine() const {
    return evals_.points() >= kEnoughEvals && evals_.EndedNearBest(kEvalFine) && evals_.Improved(0.02);
  }
  double LastEval() const { return evals_.buckets().back().mean; }

  // From 10 to 0.01 and then 0.02: a ratio of two, and nothing lost.
  static bool IsNegligible(std::span<const double> smooth, std::size_t best, double end) {
    const double fallen = std::exp(smooth.front()) - std::exp(smooth[best]);
    return std::exp(end) - std::exp(smooth[best]) < kNegligibleShare * fallen;
  }

  model::Finding Describe(std::span<const double> logs, std::span<const double> smooth, std::size_t best,
                          double end) const {
    const double rise = end - smooth[best];
    std::size_t turn = best;
    for (std::size_t i = best; i < smooth.size() && smooth[i] <= smooth[best] + 0.25 * rise; ++i) turn = i;
    const std::size_t first_up = std::min(turn + 1, smooth.size() - 1);
    const auto peak = static_cast<std::size_t>(
        std::max_element(smooth.begin() + static_cast<std::ptrdiff_t>(turn), smooth.end()) - smooth.begin());
    const bool recovering = smooth.size() - peak >= 6 && end < smooth[peak] - 0.25 * (smooth[peak] - smooth[best]) &&
                            stats::TrendZ(logs.subspan(peak)) < kRecoveringZ;
    const double best_value = std::exp(smooth[best]);
    const double end_value = std::exp(end);
    model::Finding finding = MakeFinding(
        curve_.At(first_up).first_step, curve_.last_step(),
        fmt::format("loss turned up at step {} and ends at {}, {}x its best of {} (step {})",
                    curve_.At(first_up).first_step, FormatNumber(end_value), FormatNumber(end_value / best_value),
                    FormatNumber(best_value), curve_.At(best).last_step));
    if (logs.size() < kFewForAnError && rise < kManifold) finding.severity = model::Severity::kWarning;
    if (EvaluationIsFine()) {
      finding.severity = model::Severity::kWarning;
      finding.message += "; evaluation does not confirm it";
    } else if (recovering && end < smooth.front()) {  // still worse than at the start is no recovery
      finding.severity = model::Severity::kWarning;
      finding.message += "; it is falling again";
    } else if (IsANewPhase(logs, smooth, first_up, best)) {
      finding.severity = model::Severity::kWarning;
      finding.message +=
          "; it stepped up at once and falls from there: did the data, the objective or a weight change?";
    }
    AddEvidence(finding, fmt::format("best loss {} at step {}", FormatNumber(best_value), curve_.At(best).last_step),
                curve_.At(best).last_step, best_value);
    AddEvidence(finding, fmt::format("loss {} at the end", FormatNumber(end_value)), curve_.last_step(), end_value);
    AddMeasure(finding, "best", best_value);
    AddMeasure(finding, "end", end_value);
    AddMeasure(finding, "start", std::exp(smooth.front()));
    AddMeasure(finding, "turn_step", static_cast<double>(curve_.At(turn).last_step));
    return finding;
  }

  // One step up to a level from which it falls again, well below where the run began: what another part of the data, or
  // another term of the loss, looks like. A run that broke does not go on learning from there, and its gradients show
  // it.
  bool IsANewPhase(std::span<const double> logs, std::span<const double> smooth, std::size_t first_up,
                   std::size_t best) const {
    if (first_up < 2 || logs.size() < first_up + 2 * kRises) return false;
    const double level = MedianOf(Tail(logs.first(first_up), kRises));
    const double after = MedianOf(logs.subspan(first_up, kRises));
    double steepest = 0;
    for (std::size_t i = std::max<std::size_t>(first_up - 1, 1); i < std::min(first_up + 2, logs.size()); ++i)
      steepest = std::max(steepest, logs[i] - logs[i - 1]);
    const bool at_once = steepest > 0.7 * (after - level) && after > level;
    const bool learns_on = Falls(logs.subspan(first_up)) && GradientsAreSound(curve_.At(first_up).first_step);
    return at_once && learns_on && after < smooth.front() && level < smooth[best] + 0.25 * (after - smooth[best]);
  }

  // No larger behind the step than before it; those that are not logged speak neither way.
  bool GradientsAreSound(std::int64_t step) const {
    std::vector<double> before;
    std::vector<double> after;
    for (const stats::Bucket& bucket : grads_.buckets())
      (bucket.last_step < step ? before : after).push_back(bucket.mean);
    return before.size() < 3 || after.size() < 3 ||
           stats::Median(std::move(after)) < 2 * stats::Median(std::move(before));
  }

  static constexpr double kSmallestNoise = 0.01;
  static constexpr double kNegligibleShare = 0.05;
  static constexpr double kRecoveringZ = -3;
  static constexpr double kRisingZ = 3.5;
  static constexpr double kBeyondChance = 1.0;
  static constexpr double kFewPoints = 24;
  static constexpr std::size_t kFewForAnError = 16;
  static constexpr std::size_t kEnoughForBefore = 30;
  static constexpr double kPlainShare = 0.8;
  static constexpr std::size_t kRises = 5;
  static constexpr double kManifold = 1.1;  // three times
  static constexpr std::size_t kEnoughForRecent = 20;
  static constexpr std::size_t kLatePoints = 3;
  static constexpr std::uint64_t kEnoughEvals = 4;
  static constexpr double kEvalRose = 1.15;
  static constexpr double kEvalFine = 0.05;
  double min_log_ratio_;
  double z_;
  double recent_z_;
  double min_points_;
  Curve curve_;
  LossCourse evals_;
  stats::BucketHistory grads_{128};
};

// ---- never improved

class NotDecreasing : public Detector {
 public:
  explicit NotDecreasing(const Context& context)
      : min_points_(context.Threshold("min_points")),
        min_epochs_(context.Threshold("min_epochs")),
        epochs_(context.primary != nullptr && context.primary->axis == model::Axis::kEpoch),
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
                    fmt::format("loss stays at {} from step {} to {}: no improvement over {} points (started at {})",
                                FormatNumber(level), curve_.At(0).first_step, curve_.last_step(), curve_.points(),
                                FormatNumber(std::exp(start))));
    if (crawls)
      finding.message =
          fmt::format("loss fell by only {:.1f}% over {} points, from {} to {}", 100 * (1 - std::exp(end - start)),
                      curve_.points(), FormatNumber(std::exp(start)), FormatNumber(level));
    // Noise can hide a slow gain; then it is worth a look, not an alarm.
    const double uncertainty = 2 * noise / std::sqrt(static_cast<double>(logs.size()) / 4);
    if (crawls || uncertainty > min_improvement_ || level < small_loss_ || BeginsLate())
      finding.severity = model::Severity::kWarning;
    AddEvidence(finding,
                fmt::format("level {} at the start, {} in the last quarter", FormatNumber(std::exp(start)),
                            FormatNumber(level)),
                curve_.last_step(), level);
    AddMeasure(finding, "level", level);
    AddMeasure(finding, "start", std::exp(start));
    AddMeasure(finding, "trend_z", trend);
    AddMeasure(finding, "crawls", crawls ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  // The rate is at its highest at the end and was still rising just before: the schedule has not begun in earnest.
  bool StillWarmingUp() const {
    const auto& buckets = rates_.buckets();
    if (buckets.size() < 4 || peak_rate_ <= 0 || buckets.back().mean < kAtPeak * peak_rate_) return false;
    return buckets[buckets.size() * 4 / 5].mean < kAtPeak * buckets.back().mean;
  }

  // A point that stands for a whole epoch says as much as many; one evaluation for each of them tells it too.
  double MinPoints() const {
    const bool epochs = epochs_ || (evals_ > 0 && evals_ + 1 >= curve_.points());
    return epochs ? std::min(min_epochs_, min_points_) : min_points_;
  }

  // The log begins in the middle of a run: what was learned before it is not seen.
  bool BeginsLate() const {
    const std::int64_t first = curve_.At(0).first_step;
    return first > kLateStep && first * kLateShare > curve_.last_step();
  }

  static constexpr double kLearnedAtOnce = 0.2;
  static constexpr double kAtPeak = 0.95;
  static constexpr std::int64_t kLateStep = 100;
  static constexpr std::int64_t kLateShare = 20;  // beyond a twentieth of what was reached
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

class Plateau : public Detector {
 public:
  explicit Plateau(const Context& context)
      : min_points_(context.Threshold("min_points")),
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
    return IsLanguageTrainer(*context.run) ? std::log(context.Threshold("high_level"))
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
    const bool worth_telling =
        (little_gained || level > high_level_ || KnowsFrequenciesOnly(start, level)) && ratio <= kSomeGain;
    if (!worth_telling || !RateIsUp(curve_.At(from).first_step)) return false;
    const std::int64_t first = curve_.At(from).first_step;
    model::Finding finding = MakeFinding(
        first, curve_.last_step(),
        fmt::format("loss fell from {} to {} by step {} and has stayed there to step {}", FormatNumber(std::exp(start)),
                    FormatNumber(std::exp(level)), first, curve_.last_step()));
    AddEvidence(
        finding,
        fmt::format("level {} for {} of the run", FormatNumber(std::exp(level)),
                    fmt::format("{:.0f}%", 100 * (1 - static_cast<double>(from) / static_cast<double>(logs.size())))),
        first, std::exp(level));
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

class Oscillation : public Detector {
 public:
  explicit Oscillation(const Context& context)
      : min_points_(context.Threshold("min_points")),
        swing_(context.Threshold("swing")),
        swing_epoch_(context.Threshold("swing_epoch")),
        epochs_(context.primary != nullptr && context.primary->axis == model::Axis::kEpoch),
        curve_(context) {}

  void Observe(const Sample& sample) override {
    evals_ += sample.role == 1 ? 1 : 0;
    if (sample.role != 0) return;
    curve_.Add(sample);
    if (!(sample.value > 0) || !std::isfinite(sample.value)) return;
    if (last_ > 0) jumps_.Push(std::abs(std::log(sample.value / last_)));
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
    const double swing = std::exp(jumps_.Median()) - 1;
    const double limit = IsLogOfEpochs() ? swing_epoch_ : swing_;
    if (swing < limit || end < start + std::log(0.7)) return;
    model::Finding finding =
        MakeFinding(curve_.At(logs.size() / 2).first_step, curve_.last_step(),
                    fmt::format("loss swings by {:.0f}% from point to point and does not settle", 100 * swing));
    AddEvidence(finding,
                fmt::format("median jump between neighbouring points {:.0f}%, level {} at the start and {} at the end",
                            100 * swing, FormatNumber(std::exp(start)), FormatNumber(std::exp(end))),
                curve_.last_step(), std::exp(end));
    AddMeasure(finding, "swing", swing);
    out.push_back(std::move(finding));
  }

 private:
  // One evaluation for each training loss: the points are epochs.
  bool IsLogOfEpochs() const { return epochs_ || (evals_ > 0 && evals_ + 1 >= curve_.points()); }

  double min_points_;
  double swing_;
  double swing_epoch_;
  bool epochs_;
  std::uint64_t evals_ = 0;
  Curve curve_;
  stats::RobustWindow jumps_{128};
  double last_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeDivergence(const Context& context) { return std::make_unique<Divergence>(context); }
std::unique_ptr<Detector> MakeNotDecreasing(const Context& context) { return std::make_unique<NotDecreasing>(context); }
std::unique_ptr<Detector> MakePlateau(const Context& context) { return std::make_unique<Plateau>(context); }
std::unique_ptr<Detector> MakeOscillation(const Context& context) { return std::make_unique<Oscillation>(context); }

}  // namespace vigil::detect
