// The detectors' factories, one per name in the rows, and what they share. Private to detect.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catalogue/says.h"
#include "detect/detect.h"
#include "stats/stats.h"

namespace vigil::detect {

// non_finite.cc
std::unique_ptr<Detector> MakeNonFiniteLoss(const Context& context);
std::unique_ptr<Detector> MakeNonFiniteEval(const Context& context);
std::unique_ptr<Detector> MakeNonFiniteGrad(const Context& context);
std::unique_ptr<Detector> MakeLossScaleCollapse(const Context& context);
// spike.cc
std::unique_ptr<Detector> MakeLossSpike(const Context& context);
std::unique_ptr<Detector> MakeGradSpike(const Context& context);
// divergence.cc
std::unique_ptr<Detector> MakeDivergence(const Context& context);
// level.cc
std::unique_ptr<Detector> MakeNotDecreasing(const Context& context);
std::unique_ptr<Detector> MakePlateau(const Context& context);
std::unique_ptr<Detector> MakeOscillation(const Context& context);
// collapse.cc
std::unique_ptr<Detector> MakeCollapse(const Context& context);
// overfit.cc
std::unique_ptr<Detector> MakeOverfit(const Context& context);
std::unique_ptr<Detector> MakeEvalBreak(const Context& context);
std::unique_ptr<Detector> MakeEvalGap(const Context& context);
// gradient.cc
std::unique_ptr<Detector> MakeGradExplosion(const Context& context);
std::unique_ptr<Detector> MakeGradZero(const Context& context);
std::unique_ptr<Detector> MakeGradVanishing(const Context& context);
// schedule.cc
std::unique_ptr<Detector> MakeLrZero(const Context& context);
std::unique_ptr<Detector> MakeNoWarmup(const Context& context);
std::unique_ptr<Detector> MakeScheduleBreak(const Context& context);
// resume.cc
std::unique_ptr<Detector> MakeResumeJump(const Context& context);
std::unique_ptr<Detector> MakeScheduleRestart(const Context& context);
std::unique_ptr<Detector> MakeOptimizerReset(const Context& context);
// reward.cc
std::unique_ptr<Detector> MakeRewardFlat(const Context& context);
std::unique_ptr<Detector> MakeRewardCollapse(const Context& context);
std::unique_ptr<Detector> MakeNoSignal(const Context& context);
std::unique_ptr<Detector> MakePreferenceNoSignal(const Context& context);
// policy.cc
std::unique_ptr<Detector> MakeEntropyCollapse(const Context& context);
std::unique_ptr<Detector> MakeEntropyHigh(const Context& context);
std::unique_ptr<Detector> MakeKlBlowup(const Context& context);
std::unique_ptr<Detector> MakeTruncated(const Context& context);

// throughput.cc
std::unique_ptr<Detector> MakeThroughputRegression(const Context& context);
std::unique_ptr<Detector> MakeDataStarved(const Context& context);
// utilisation.cc
std::unique_ptr<Detector> MakeCommBound(const Context& context);
std::unique_ptr<Detector> MakeLowMfu(const Context& context);
// step_outliers.cc
std::unique_ptr<Detector> MakeStepOutliers(const Context& context);
// memory_growth.cc
std::unique_ptr<Detector> MakeMemoryGrowth(const Context& context);
// gradient_level.cc
std::unique_ptr<Detector> MakeGradUnstable(const Context& context);
std::unique_ptr<Detector> MakeAlwaysClipped(const Context& context);
// sampling.cc
std::unique_ptr<Detector> MakeOffPolicy(const Context& context);
std::unique_ptr<Detector> MakeOverClipped(const Context& context);
std::unique_ptr<Detector> MakeLengthHacking(const Context& context);
// ebft.cc
std::unique_ptr<Detector> MakeAlignment(const Context& context);
std::unique_ptr<Detector> MakeDiversityCollapse(const Context& context);
std::unique_ptr<Detector> MakeCfm(const Context& context);
// shares.cc
std::unique_ptr<Detector> MakeMemoryPressure(const Context& context);
std::unique_ptr<Detector> MakePadding(const Context& context);
std::unique_ptr<Detector> MakeLengthOutlier(const Context& context);

// ---- shared by the detectors

// What every detector is made of: a plain copy of its members is a detector in the same state, and samples are given to
// its own Observe without a virtual call for each.
template <class Self>
class Cloned : public Detector {
 public:
  std::unique_ptr<Detector> Clone() const override { return std::make_unique<Self>(static_cast<const Self&>(*this)); }
  void ObserveAll(std::span<const Sample> samples) override {
    auto& self = static_cast<Self&>(*this);
    for (const Sample& sample : samples) self.Self::Observe(sample);
  }

 private:
  Cloned() = default;
  friend Self;  // so that no class derives from the copying of another
};

// Severity of a finding that leaves it to its row: a value no detector would set.
inline constexpr auto kFromRow = static_cast<model::Severity>(255);

// A number of points that a settings file may give as anything.
inline std::size_t Count(double points) { return static_cast<std::size_t>(std::clamp(points, 3.0, 65536.0)); }

// What a detector found, from one count of its axis to another. The engine sets the axis (FillIn), so that no detector
// can forget it.
// Puts the counts of a finding that a detector made on the axis of the series that it judged.
void PutOnAxis(model::Finding& finding, model::Axis axis);
model::Finding MakeFinding(std::int64_t first, std::int64_t last, model::Statement says);
void AddEvidence(model::Finding& finding, model::Statement says, std::int64_t at, double value, std::uint32_t line = 0);
void AddMeasure(model::Finding& finding, std::string name, double value);

// Counts of the judged series as positions, for the arguments of statements.
class Places {
 public:
  explicit Places(const Context& context) : axis_(context.axis()) {}

  model::Axis axis() const { return axis_; }
  model::Position At(std::int64_t count) const { return {axis_, count}; }
  model::PositionRange Range(std::int64_t first, std::int64_t last) const { return {At(first), At(last)}; }
  model::Extent Length(double amount) const { return {axis_, amount}; }

 private:
  model::Axis axis_;
};

// Policy-gradient losses hover around zero whether or not anything is learned: their shape means nothing.
bool IsReinforcementLearning(const model::Run& run);
// A policy that writes text: by its method, or by what only completions have.
bool IsLanguagePolicy(const model::Run& run);
// fp16 with a loss scaler: skipped overflow steps are part of it.
bool UsesLossScaler(const model::Run& run);
// The count at which the run was to end, on that axis: planned, or the last one seen when the plan is in steps and
// nothing leads from steps to the axis.
std::int64_t PlannedEnd(const model::Run& run, model::Axis axis, std::int64_t last_seen);

// The course of a loss in bounded memory: its level now, at its start and at its best, on the finite values.
class LossCourse {
 public:
  void Add(std::int64_t step, double value) {
    if (std::isfinite(value)) history_.Add(step, value);
  }
  void ForgetFrom(std::int64_t step) { history_.ForgetFrom(step); }
  std::uint64_t points() const { return history_.points(); }
  double StartLevel() const;  // median of the first tenth (three points at least)
  double EndLevel() const;    // median of the last tenth (three points at least)
  double BestLevel() const;   // lowest of the smoothed curve
  // Ended clearly below where it began: whatever the finding, the run was learning.
  bool Improved(double by_share = 0.1) const;
  // Ended near its best.
  bool EndedNearBest(double within_share = 0.1) const;
  const std::vector<stats::Bucket>& buckets() const { return history_.buckets(); }

 private:
  stats::BucketHistory history_{128};
};

// Whether the entropy of a policy ends within a hundredth of its start, or above it: a policy that learned nothing.
bool StaysAtItsStart(const stats::BucketHistory& entropy);

// A detector that counts over the whole run, and counts from nothing when the run is started over from its first step.
template <class Counting>
class StartedOver : public Cloned<StartedOver<Counting>> {
 public:
  explicit StartedOver(const Context& context) : context_(context), counting_(context) {}

  void Observe(const Sample& sample) override {
    if (first_step_ == model::kNoStep) first_step_ = sample.step;
    counting_.Counting::Observe(sample);
  }
  void Restart(std::int64_t step) override {
    if (step <= first_step_) {
      counting_ = Counting(context_);
    } else {
      counting_.Restart(step);
    }
  }
  void SetLoggingInterval(double interval) override { counting_.SetLoggingInterval(interval); }
  void Report(std::vector<model::Finding>& out) const override { counting_.Report(out); }

 private:
  Context context_;
  Counting counting_;
  std::int64_t first_step_ = model::kNoStep;
};

}  // namespace vigil::detect
