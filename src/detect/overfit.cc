#include <algorithm>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

enum Role : std::uint32_t { kEvalLoss, kTrainLoss, kEvalPerplexity };

// An evaluation is known by its loss or by its perplexity, which is the loss behind an exponential.
struct Evaluations {
  stats::BucketHistory losses{256};
  stats::BucketHistory of_perplexity{256};

  const stats::BucketHistory& Known() const { return losses.points() > 0 ? losses : of_perplexity; }
  void ForgetFrom(std::int64_t step) {
    losses.ForgetFrom(step);
    of_perplexity.ForgetFrom(step);
  }
};

void AddTo(Evaluations& evals, stats::BucketHistory& train, const Sample& sample) {
  if (!std::isfinite(sample.value)) return;
  if (sample.role == kEvalLoss) evals.losses.Add(sample.step, sample.value);
  if (sample.role == kTrainLoss) train.Add(sample.step, sample.value);
  if (sample.role == kEvalPerplexity && sample.value > 1) evals.of_perplexity.Add(sample.step, std::log(sample.value));
}

class Overfit : public Cloned<Overfit> {
 public:
  explicit Overfit(const Context& context)
      : places_(context),
        min_evals_(context.Threshold("min_evals")),
        min_rise_(context.Threshold("min_rise")),
        min_after_(context.Threshold("min_after")) {}

  void Observe(const Sample& sample) override { AddTo(evals_, train_, sample); }
  void Restart(std::int64_t step) override {
    evals_.ForgetFrom(step);
    train_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<double> evals = evals_.Known().Means();
    if (evals.size() < 3 || static_cast<double>(evals.size()) < min_evals_) return;
    const auto best = static_cast<std::size_t>(std::min_element(evals.begin(), evals.end()) - evals.begin());
    const std::size_t after = evals.size() - 1 - best;
    if (static_cast<double>(after) < min_after_ || evals[best] <= 0) return;
    const double end =
        stats::Median({evals.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(after, 3)), evals.end()});
    const double rise = (end - evals[best]) / evals[best];
    const double noise = stats::NoiseSigma(evals) / evals[best];
    if (rise < min_rise_ || rise < kNoiseTimes * noise || !KeepsRising(evals, best)) return;
    const std::int64_t turn = evals_.Known().buckets()[best].last_step;
    const TrainCourse train = CourseOfTrain(turn);
    if (train.known && train.end > train.at_turn * kTrainMayRise) return;  // both rise: that is no overfitting
    if (!train.known && rise < kRiseWithoutTrain) return;
    out.push_back(Describe(evals, best, end, turn, train));
  }

 private:
  struct TrainCourse {
    bool known = false;
    double at_turn = 0;
    double end = 0;
  };

  static bool KeepsRising(const std::vector<double>& evals, std::size_t best) {
    const std::vector<double> tail(evals.begin() + static_cast<std::ptrdiff_t>(best), evals.end());
    return tail.size() < 5 || stats::TrendZ(tail) > 1;
  }

  TrainCourse CourseOfTrain(std::int64_t turn) const {
    std::vector<double> before;
    std::vector<double> after;
    for (const stats::Bucket& bucket : train_.buckets())
      (bucket.first_step <= turn ? before : after).push_back(bucket.mean);
    if (before.empty() || after.empty()) return {};
    const auto tenth = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(train_.buckets().size() / 10));
    const auto last = [&](const std::vector<double>& values) {
      return stats::Median({values.end() - std::min(tenth, static_cast<std::ptrdiff_t>(values.size())), values.end()});
    };
    return {true, last(before), last(after)};
  }

  model::Finding Describe(const std::vector<double>& evals, std::size_t best, double end, std::int64_t turn,
                          const TrainCourse& train) const {
    const std::int64_t last = evals_.Known().buckets().back().last_step;
    model::Statement training;
    if (train.known) training = says::LossOverfitTraining{.from = train.at_turn, .to = train.end};
    model::Finding finding = MakeFinding(turn, last,
                                         says::LossOverfitTurned{.turn = places_.At(turn),
                                                                 .best = evals[best],
                                                                 .end = end,
                                                                 .rise = end / evals[best] - 1,
                                                                 .training = training});
    AddEvidence(finding, says::LossOverfitBest{.best = evals[best], .at = places_.At(turn)}, turn, evals[best]);
    AddEvidence(finding, says::LossOverfitEnd{.end = end}, last, end);
    if (train.known) {
      AddEvidence(finding, says::LossOverfitTrainingLevels{.from = train.at_turn, .to = train.end}, last, train.end);
      AddMeasure(finding, "train_at_turn", train.at_turn);
      AddMeasure(finding, "train_end", train.end);
    }
    AddMeasure(finding, "best", evals[best]);
    AddMeasure(finding, "end", end);
    AddMeasure(finding, "turn_step", static_cast<double>(turn));
    AddMeasure(finding, "train_known", train.known ? 1 : 0);
    return finding;
  }

  static constexpr double kNoiseTimes = 3;
  static constexpr double kTrainMayRise = 1.005;
  static constexpr double kRiseWithoutTrain = 0.1;
  Places places_;
  double min_evals_;
  double min_rise_;
  double min_after_;
  Evaluations evals_;
  stats::BucketHistory train_{256};
};

// The evaluation jumps from one level to another and stays there, while training goes on as if nothing had happened.
class EvalBreak : public Cloned<EvalBreak> {
 public:
  explicit EvalBreak(const Context& context)
      : places_(context),
        min_evals_(context.Threshold("min_evals")),
        min_log_ratio_(std::log(context.Threshold("min_ratio"))),
        z_(context.Threshold("z")) {}

  void Observe(const Sample& sample) override { AddTo(evals_, train_, sample); }
  void Restart(std::int64_t step) override {
    evals_.ForgetFrom(step);
    train_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<double> evals = evals_.Known().Means();
    if (evals.size() < 2 * kSide || static_cast<double>(evals.size()) < min_evals_) return;
    if (*std::min_element(evals.begin(), evals.end()) <= 0) return;
    std::vector<double> logs;
    logs.reserve(evals.size());
    for (const double value : evals) logs.push_back(std::log(value));
    const std::size_t at = LargestJump(logs);
    const double before = LevelOf(logs, at - kSide, at);
    const double after = LevelOf(logs, at, logs.size());
    const double lowest_after = *std::min_element(logs.begin() + static_cast<std::ptrdiff_t>(at), logs.end());
    const double noise = std::max(stats::NoiseSigma(logs), kSmallestNoise);
    const bool at_once = logs[at] - logs[at - 1] > kAtOnce * (after - before);
    if (after - before < std::max(min_log_ratio_, z_ * noise) || !at_once) return;
    if (lowest_after < before + 0.5 * (after - before) ||
        TrainingJumpedToo(evals_.Known().buckets()[at - 1].last_step, evals_.Known().buckets()[at].first_step))
      return;
    Describe(at, std::exp(before), std::exp(after), out);
  }

 private:
  static double LevelOf(const std::vector<double>& logs, std::size_t from, std::size_t to) {
    return stats::Median(
        {logs.begin() + static_cast<std::ptrdiff_t>(from), logs.begin() + static_cast<std::ptrdiff_t>(to)});
  }

  // Where a value stands highest above the one before, with enough on both sides to know their levels.
  static std::size_t LargestJump(const std::vector<double>& logs) {
    std::size_t best = kSide;
    for (std::size_t i = kSide; i + kSide <= logs.size(); ++i) {
      if (logs[i] - logs[i - 1] > logs[best] - logs[best - 1]) best = i;
    }
    return best;
  }

  // Between the last evaluation that was sound and the first that is not.
  bool TrainingJumpedToo(std::int64_t sound, std::int64_t step) const {
    std::vector<double> before;
    std::vector<double> after;
    for (const stats::Bucket& bucket : train_.buckets()) {
      if (bucket.last_step <= sound) before.push_back(bucket.mean);
      if (bucket.last_step >= step) after.push_back(bucket.mean);
    }
    if (before.size() < kSide || after.size() < kSide) return true;  // not known: then it is no break of the evaluation
    const auto side = static_cast<std::ptrdiff_t>(kSide);
    return stats::Median({after.begin(), after.begin() + side}) >
           kTrainMayRise * stats::Median({before.end() - side, before.end()});
  }

  void Describe(std::size_t at, double before, double after, std::vector<model::Finding>& out) const {
    const auto& buckets = evals_.Known().buckets();
    const std::int64_t step = buckets[at].first_step;
    model::Finding finding =
        MakeFinding(step, buckets.back().last_step,
                    says::LossEvalBreakJumped{.before = before, .after = after, .at = places_.At(step)});
    AddEvidence(finding, says::LossEvalBreakPoint{.value = buckets[at].mean, .at = places_.At(step)}, step,
                buckets[at].mean);
    AddMeasure(finding, "before", before);
    AddMeasure(finding, "after", after);
    out.push_back(std::move(finding));
  }

  static constexpr std::size_t kSide = 3;
  static constexpr double kAtOnce = 0.7;
  static constexpr double kSmallestNoise = 0.01;
  static constexpr double kTrainMayRise = 1.2;
  Places places_;
  double min_evals_;
  double min_log_ratio_;
  double z_;
  Evaluations evals_;
  stats::BucketHistory train_{256};
};

// The evaluation is far above the training loss all the way. Such a gap does not come from training too long, which is
// what overfitting means: it is there before anything could be learned by heart.
class EvalGap : public Cloned<EvalGap> {
 public:
  explicit EvalGap(const Context& context)
      : places_(context),
        enabled_(!context.reinforcement),
        min_evals_(context.Threshold("min_evals")),
        min_ratio_(context.Threshold("min_ratio")),
        share_(context.Threshold("share")),
        max_rise_(context.Threshold("max_rise")) {}

  void Observe(const Sample& sample) override { AddTo(evals_, train_, sample); }
  void Restart(std::int64_t step) override {
    evals_.ForgetFrom(step);
    train_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<stats::Bucket>& evals = evals_.Known().buckets();
    if (!enabled_ || evals.size() < kRecent || static_cast<double>(evals.size()) < min_evals_ || IsRising()) return;
    std::vector<double> ratios;
    for (const stats::Bucket& eval : evals) {
      const double train = TrainAround(eval.last_step);
      if (train <= kSmallLoss || eval.mean <= 0) return;  // ratios of next to nothing mean nothing
      ratios.push_back(eval.mean / train);
    }
    const auto wide = std::count_if(ratios.begin(), ratios.end(), [&](double ratio) { return ratio >= min_ratio_; });
    // From the first one on: a gap that opened on the way is another matter.
    if (ratios.front() < min_ratio_ || static_cast<double>(wide) < share_ * static_cast<double>(ratios.size())) return;
    out.push_back(Describe(stats::Median(std::move(ratios))));
  }

 private:
  bool IsRising() const {
    const std::vector<double> evals = evals_.Known().Means();
    const double best = *std::min_element(evals.begin(), evals.end());
    const double end = stats::Median({evals.end() - static_cast<std::ptrdiff_t>(kRecent), evals.end()});
    return end > best * (1 + max_rise_);
  }

  // Level of the training loss just before the evaluation, or of its first points where none is before; 0 without any.
  double TrainAround(std::int64_t step) const {
    const std::vector<stats::Bucket>& train = train_.buckets();
    const auto after =
        std::find_if(train.begin(), train.end(), [&](const stats::Bucket& bucket) { return bucket.first_step > step; });
    const auto count = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(kRecent), after - train.begin());
    std::vector<double> means;
    for (auto at = after - count; at != after; ++at) means.push_back(at->mean);
    if (means.empty() && !train.empty()) means.push_back(train.front().mean);
    return means.empty() ? 0 : stats::Median(std::move(means));
  }

  model::Finding Describe(double ratio) const {
    const std::vector<stats::Bucket>& evals = evals_.Known().buckets();
    const stats::Bucket& last = evals.back();
    const model::Position end = places_.At(last.last_step);
    const model::Position first = places_.At(evals.front().first_step);
    model::Finding finding = MakeFinding(evals.front().first_step, last.last_step,
                                         says::LossEvalGapGap{.ratio = ratio, .first = first, .last = end});
    const double train = TrainAround(last.last_step);
    AddEvidence(finding, says::LossEvalGapLevels{.eval = last.mean, .train = train, .at = end}, last.last_step,
                last.mean);
    AddMeasure(finding, "ratio", ratio);
    return finding;
  }

  static constexpr std::size_t kRecent = 3;
  static constexpr double kSmallLoss = 0.05;
  Places places_;
  bool enabled_;
  double min_evals_;
  double min_ratio_;
  double share_;
  double max_rise_;
  Evaluations evals_;
  stats::BucketHistory train_{256};
};

}  // namespace

std::unique_ptr<Detector> MakeEvalGap(const Context& context) { return std::make_unique<EvalGap>(context); }
std::unique_ptr<Detector> MakeEvalBreak(const Context& context) { return std::make_unique<EvalBreak>(context); }
std::unique_ptr<Detector> MakeOverfit(const Context& context) { return std::make_unique<Overfit>(context); }

}  // namespace vigil::detect
