// Whether the loss rose and stayed up, at the end or for a good part of the run.
#include <algorithm>
#include <functional>
#include <span>

#include "detect/loss_curve.h"

namespace vigil::detect {
namespace {

// Whether the level of a stretch fell, beyond what its noise can do. For stretches that wander a test of trend that
// pays for correlation says nothing.
bool Falls(std::span<const double> logs) {
  const std::size_t quarter = std::max<std::size_t>(3, logs.size() / 4);
  if (logs.size() < 2 * quarter) return false;
  const double fall = MedianOf(logs.first(quarter)) - MedianOf(Tail(logs, quarter));
  return fall > std::max(0.01, 4 * stats::NoiseSigma(logs) / std::sqrt(static_cast<double>(quarter)));
}

class Divergence : public Cloned<Divergence> {
 public:
  explicit Divergence(const Context& context)
      : places_(context),
        reinforcement_(context.reinforcement && !IsLanguagePolicy(*context.run)),
        min_log_ratio_(std::log(context.Threshold(reinforcement_ ? "orders" : "min_ratio"))),
        z_(context.Threshold("z")),
        recent_z_(context.Threshold("recent_z")),
        min_points_(context.Threshold("min_points")),
        curve_(context, reinforcement_) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0) curve_.Add(sample);
    if (sample.role == 3) rewards_.Add(sample.step, -sample.value);
    if (sample.role == 1) evals_.Add(sample.step, sample.value);
    if (sample.role == 2 && std::isfinite(sample.value)) grads_.Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override {
    curve_.ForgetFrom(step);
    evals_.ForgetFrom(step);
    rewards_.ForgetFrom(step);
    grads_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (!curve_.judged() || curve_.points() < 3 || static_cast<double>(curve_.points()) < min_points_) return;
    // Returns that grow have larger errors: the loss of a value function rises while the policy gets better.
    if (reinforcement_ && rewards_.Improved()) return;
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
    } else if (!reinforcement_ && !ReportLateRise(smooth, best, out)) {
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

  // The run went as usual until its last points, which are far above all that: the level of the last tenth does not
  // show it, but the run may have been stopped because of it. What was usual is taken from the part before that tenth.
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
        says::LossDivergenceLate{
            .turn = places_.At(step), .end = std::exp(end), .ratio = std::exp(end - usual), .usual = std::exp(usual)});
    AddEvidence(finding, says::LossDivergenceUsual{.usual = std::exp(usual)}, step, std::exp(usual));
    AddEvidence(finding, says::LossDivergenceEnd{.end = std::exp(end)}, curve_.last_step(), std::exp(end));
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
  // the model knew before is lost. Later and narrower ones are spikes.
  void ReportExcursion(std::span<const double> smooth, std::vector<model::Finding>& out) const {
    const auto peak = static_cast<std::size_t>(std::max_element(smooth.begin(), smooth.end()) - smooth.begin());
    const auto low = static_cast<std::size_t>(
        std::min_element(smooth.begin(), smooth.begin() + static_cast<std::ptrdiff_t>(peak) + 1) - smooth.begin());
    const double height = smooth[peak] - smooth[low];
    const double halfway = smooth[low] + 0.5 * height;
    const auto away = static_cast<std::size_t>(
        std::count_if(smooth.begin(), smooth.end(), [&](double value) { return value > halfway; }));
    const bool stayed_away = height >= kManifold && away >= kRises && away * 10 >= smooth.size();
    if (low > smooth.size() / 4 || (!stayed_away && !RoseAboveItsStart(smooth))) return;
    const std::int64_t first = curve_.At(low).last_step;
    const double level = std::exp(smooth[low]);
    const double top = std::exp(smooth[peak]);
    model::Finding finding =
        MakeFinding(first, curve_.At(peak).last_step,
                    says::LossDivergenceExcursion{.level = level,
                                                  .left = places_.At(first),
                                                  .peak = top,
                                                  .ratio = std::exp(height),
                                                  .peak_at = places_.At(curve_.At(peak).last_step)});
    finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::LossDivergencePeak{.peak = top, .at = places_.At(curve_.At(peak).last_step)},
                curve_.At(peak).last_step, top);
    AddMeasure(finding, "best", level);
    AddMeasure(finding, "end", std::exp(smooth.back()));
    AddMeasure(finding, "peak", top);
    AddMeasure(finding, "came_back", 1);
    AddMeasure(finding, "start", std::exp(smooth.front()));
    AddMeasure(finding, "turn_step", static_cast<double>(first));
    out.push_back(std::move(finding));
  }

  // Where it begins a loss is that of knowing nothing, or of what was known before: to be above it for several points,
  // by far more than the noise there, is to have lost even that.
  bool RoseAboveItsStart(std::span<const double> smooth) const {
    const std::vector<double> logs = curve_.Logs();
    const double start = curve_.FirstLog();
    const double over = *std::max_element(smooth.begin(), smooth.end()) - start;
    const double bar = start + 0.5 * over;
    std::uint64_t above = 0;  // points; one bucket alone may be a spike
    std::size_t buckets = 0;
    for (std::size_t i = 0; i < smooth.size(); ++i) {
      above += smooth[i] > bar ? curve_.At(i).count : 0;
      buckets += smooth[i] > bar ? 1 : 0;
    }
    const double noise =
        std::max({stats::NoiseSigma(logs), stats::NoiseSigma(Tail(logs, logs.size() / 2)), kSmallestNoise});
    return over > kAboveStart && over > kBeyondNoise * noise && above >= kRises && buckets > 1;
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
    const model::Position best_at = places_.At(curve_.At(best).last_step);
    // What speaks against a run that is lost; the finding is then worth a look, not an alarm.
    model::Statement doubt;
    if (EvaluationIsFine()) {
      doubt = says::DivergenceEvaluationIsFine{};
    } else if (recovering && end < smooth.front()) {  // still worse than at the start is no recovery
      doubt = says::DivergenceFallingAgain{};
    } else if (IsANewPhase(logs, smooth, first_up, best)) {
      doubt = says::DivergenceNewPhase{};
    }
    model::Finding finding = MakeFinding(curve_.At(first_up).first_step, curve_.last_step(),
                                         says::LossDivergenceRose{.turn = places_.At(curve_.At(first_up).first_step),
                                                                  .end = end_value,
                                                                  .ratio = end_value / best_value,
                                                                  .best = best_value,
                                                                  .best_at = best_at,
                                                                  .doubt = doubt});
    if (!doubt.empty() || (logs.size() < kFewForAnError && rise < kManifold))
      finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::LossDivergenceBest{.best = best_value, .at = best_at}, curve_.At(best).last_step,
                best_value);
    AddEvidence(finding, says::LossDivergenceEnd{.end = end_value}, curve_.last_step(), end_value);
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
  static constexpr double kManifold = 1.1;    // three times
  static constexpr double kAboveStart = 0.4;  // half as much again
  static constexpr double kBeyondNoise = 5;
  static constexpr std::size_t kEnoughForRecent = 20;
  static constexpr std::size_t kLatePoints = 3;
  static constexpr std::uint64_t kEnoughEvals = 4;
  static constexpr double kEvalRose = 1.15;
  static constexpr double kEvalFine = 0.05;
  Places places_;
  bool reinforcement_;  // of a policy that plays: then the loss is one of values
  double min_log_ratio_;
  double z_;
  double recent_z_;
  double min_points_;
  Curve curve_;
  LossCourse evals_;
  LossCourse rewards_;  // negative, so that less is better
  stats::BucketHistory grads_{128};
};

}  // namespace

std::unique_ptr<Detector> MakeDivergence(const Context& context) { return std::make_unique<Divergence>(context); }

}  // namespace vigil::detect
