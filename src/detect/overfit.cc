#include <fmt/format.h>

#include <algorithm>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

class Overfit : public Detector {
 public:
  explicit Overfit(const Context& context)
      : min_evals_(context.Threshold("min_evals")),
        min_rise_(context.Threshold("min_rise")),
        min_after_(context.Threshold("min_after")) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value)) return;
    (sample.role == 0 ? evals_ : train_).Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override {
    evals_.ForgetFrom(step);
    train_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const std::vector<double> evals = evals_.Means();
    if (evals.size() < 3 || static_cast<double>(evals.size()) < min_evals_) return;
    const auto best = static_cast<std::size_t>(std::min_element(evals.begin(), evals.end()) - evals.begin());
    const std::size_t after = evals.size() - 1 - best;
    if (static_cast<double>(after) < min_after_ || evals[best] <= 0) return;
    const double end =
        stats::Median({evals.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(after, 3)), evals.end()});
    const double rise = (end - evals[best]) / evals[best];
    const double noise = stats::NoiseSigma(evals) / evals[best];
    if (rise < min_rise_ || rise < kNoiseTimes * noise || !KeepsRising(evals, best)) return;
    const std::int64_t turn = evals_.buckets()[best].last_step;
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
    const std::int64_t last = evals_.buckets().back().last_step;
    model::Finding finding =
        MakeFinding(turn, last,
                    fmt::format("eval loss turned at step {}: {} there, {} at the end (+{:.0f}%)", turn,
                                FormatNumber(evals[best]), FormatNumber(end), 100 * (end / evals[best] - 1)));
    AddEvidence(finding, fmt::format("best eval loss {} at step {}", FormatNumber(evals[best]), turn), turn,
                evals[best]);
    AddEvidence(finding, fmt::format("eval loss {} at the end", FormatNumber(end)), last, end);
    if (train.known) {
      finding.message +=
          fmt::format(" while train loss went from {} to {}", FormatNumber(train.at_turn), FormatNumber(train.end));
      AddEvidence(
          finding,
          fmt::format("train loss {} at the turn, {} at the end", FormatNumber(train.at_turn), FormatNumber(train.end)),
          last, train.end);
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
  double min_evals_;
  double min_rise_;
  double min_after_;
  stats::BucketHistory evals_{256};
  stats::BucketHistory train_{256};
};

}  // namespace

std::unique_ptr<Detector> MakeOverfit(const Context& context) { return std::make_unique<Overfit>(context); }

}  // namespace vigil::detect
