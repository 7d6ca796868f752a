// Detectors of energy-based fine-tuning: whether generated features come to those of the reference, and stay apart from
// each other. Limits are of the values as they are logged: the one trainer that has the method logs both terms doubled.
#include <algorithm>
#include <span>

#include "detect/detectors.h"
#include "detect/recent.h"

namespace vigil::detect {
namespace {

double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

struct Levels {
  double start = 0;
  double end = 0;
};

// The first and the last sixth of a course.
// The points that a level is taken from.
std::size_t FewOf(const std::vector<double>& means) { return means.size() / 6 + 1; }

Levels LevelsOf(const std::vector<double>& means) {
  const std::size_t few = FewOf(means);
  return {MedianOf(std::span(means).first(few)), MedianOf(std::span(means).last(few))};
}

// How far a course went, in the noise of its levels. A line without any noise went as far as anything can.
double MovedBy(const std::vector<double>& means) {
  const auto [start, end] = LevelsOf(means);
  const double noise = stats::NoiseSigma(means) * std::sqrt(2.0 / static_cast<double>(FewOf(means)));
  return (end - start) / std::max(noise, 1e-9 * std::max(std::abs(start), std::abs(end)));
}

class Alignment : public Cloned<Alignment> {
 public:
  explicit Alignment(const Context& context)
      : low_(context.Threshold("low")),
        fall_(context.Threshold("fall")),
        min_points_(Count(context.Threshold("min_points"))) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0 && std::isfinite(sample.value)) history_.Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override { history_.ForgetFrom(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (history_.points() < min_points_) return;
    const std::vector<double> means = history_.Means();
    const auto [start, end] = LevelsOf(means);
    const double moved = MovedBy(means);
    const bool rises = moved > kMoved;
    const bool falls = moved < -kMoved && start - end > fall_;
    if (!falls && (end >= low_ || rises)) return;
    model::Finding finding = MakeFinding(history_.buckets().front().first_step, history_.buckets().back().last_step,
                                         falls ? model::Statement(says::EbftAlignmentFalls{.start = start, .end = end})
                                               : model::Statement(says::EbftAlignmentLow{.end = end}));
    AddEvidence(finding, says::EbftAlignmentEnd{.end = end}, history_.buckets().back().last_step, end);
    out.push_back(std::move(finding));
  }

 private:
  static constexpr double kMoved = 4;
  double low_;
  double fall_;
  std::size_t min_points_;
  stats::BucketHistory history_{128};
};

class DiversityCollapse : public Cloned<DiversityCollapse> {
 public:
  explicit DiversityCollapse(const Context& context)
      : places_(context),
        level_(context.Threshold("limit"), context.Threshold("watch")),
        min_points_(context.Threshold("min_points")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0 && std::isfinite(sample.value)) level_.Add(sample);
  }

  void Report(std::vector<model::Finding>& out) const override {
    const bool flagged = level_.IsFlagged(min_points_);
    if (!flagged && !level_.IsWatched(min_points_)) return;
    model::Finding finding = MakeFinding(
        level_.first_flagged(), level_.last_step(),
        says::EbftDiversityCollapseLevel{.level = level_.level(), .at = places_.At(level_.first_flagged())});
    if (!flagged) finding.severity = model::Severity::kInfo;
    AddEvidence(finding, says::EbftDiversityCollapseEnd{.level = level_.level()}, level_.last_step(), level_.level());
    out.push_back(std::move(finding));
  }

 private:
  Places places_;
  Recent level_;
  double min_points_;
};

class Cfm : public Cloned<Cfm> {
 public:
  explicit Cfm(const Context& context)
      : high_(context.Threshold("high")),
        fall_(context.Threshold("fall")),
        min_points_(Count(context.Threshold("min_points"))) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0 && std::isfinite(sample.value)) history_.Add(sample.step, sample.value);
  }
  void Restart(std::int64_t step) override { history_.ForgetFrom(step); }

  void Report(std::vector<model::Finding>& out) const override {
    if (history_.points() < min_points_) return;
    const std::vector<double> means = history_.Means();
    const auto [start, end] = LevelsOf(means);
    const bool falls = end < (1 - fall_) * start && MovedBy(means) < -kMoved;
    if (end <= high_ && falls) return;
    model::Finding finding = MakeFinding(history_.buckets().front().first_step, history_.buckets().back().last_step,
                                         falls ? model::Statement(says::EbftCfmHigh{.end = end})
                                               : model::Statement(says::EbftCfmStays{.start = start, .end = end}));
    AddEvidence(finding, says::EbftCfmEnd{.end = end}, history_.buckets().back().last_step, end);
    out.push_back(std::move(finding));
  }

 private:
  static constexpr double kMoved = 3;
  double high_;
  double fall_;
  std::size_t min_points_;
  stats::BucketHistory history_{128};
};

}  // namespace

std::unique_ptr<Detector> MakeAlignment(const Context& context) { return std::make_unique<Alignment>(context); }
std::unique_ptr<Detector> MakeDiversityCollapse(const Context& context) {
  return std::make_unique<StartedOver<DiversityCollapse>>(context);
}
std::unique_ptr<Detector> MakeCfm(const Context& context) { return std::make_unique<Cfm>(context); }

}  // namespace vigil::detect
