#include <utility>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

struct Entry {
  std::string_view name;
  Factory factory;
};

constexpr Entry kDetectors[] = {
    {"NonFiniteLoss", MakeNonFiniteLoss},
    {"NonFiniteEval", MakeNonFiniteEval},
    {"NonFiniteGrad", MakeNonFiniteGrad},
    {"LossScaleCollapse", MakeLossScaleCollapse},
    {"LossSpike", MakeLossSpike},
    {"GradSpike", MakeGradSpike},
    {"Divergence", MakeDivergence},
    {"NotDecreasing", MakeNotDecreasing},
    {"Plateau", MakePlateau},
    {"Oscillation", MakeOscillation},
    {"Collapse", MakeCollapse},
    {"Overfit", MakeOverfit},
    {"EvalBreak", MakeEvalBreak},
    {"EvalGap", MakeEvalGap},
    {"GradExplosion", MakeGradExplosion},
    {"GradZero", MakeGradZero},
    {"GradVanishing", MakeGradVanishing},
    {"LrZero", MakeLrZero},
    {"NoWarmup", MakeNoWarmup},
    {"ScheduleBreak", MakeScheduleBreak},
    {"ResumeJump", MakeResumeJump},
    {"ScheduleRestart", MakeScheduleRestart},
    {"OptimizerReset", MakeOptimizerReset},
    {"RewardFlat", MakeRewardFlat},
    {"RewardCollapse", MakeRewardCollapse},
    {"NoSignal", MakeNoSignal},
    {"PreferenceNoSignal", MakePreferenceNoSignal},
    {"EntropyCollapse", MakeEntropyCollapse},
    {"EntropyHigh", MakeEntropyHigh},
    {"KlBlowup", MakeKlBlowup},
    {"Truncated", MakeTruncated},
    {"ThroughputRegression", MakeThroughputRegression},
    {"DataStarved", MakeDataStarved},
    {"CommBound", MakeCommBound},
    {"LowMfu", MakeLowMfu},
    {"StepOutliers", MakeStepOutliers},
    {"MemoryGrowth", MakeMemoryGrowth},
    {"GradUnstable", MakeGradUnstable},
    {"AlwaysClipped", MakeAlwaysClipped},
    {"OffPolicy", MakeOffPolicy},
    {"OverClipped", MakeOverClipped},
    {"LengthHacking", MakeLengthHacking},
    {"Alignment", MakeAlignment},
    {"DiversityCollapse", MakeDiversityCollapse},
    {"Cfm", MakeCfm},
    {"MemoryPressure", MakeMemoryPressure},
    {"Padding", MakePadding},
    {"LengthOutlier", MakeLengthOutlier},
};

}  // namespace

Factory FindFactory(std::string_view detector) {
  for (const Entry& entry : kDetectors) {
    if (entry.name == detector) return entry.factory;
  }
  return nullptr;
}

}  // namespace vigil::detect
