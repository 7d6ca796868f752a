// Whatever a run left: no crash, no confidence out of nothing, the same words twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

const std::vector<std::string_view>& SomeSignals() {
  static const std::vector<std::string_view> signals = {
      "loss",       "grad_norm",      "lr",      "eval_loss", "epoch",           "reward",
      "reward_std", "zero_std_share", "entropy", "kl",        "truncated_share", "completion_length",
      "loss_scale", "accuracy"};
  return signals;
}

// Every finding there is, over the whole run and at one step.
RunMaker WithEveryFinding(RunMaker run, int steps) {
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    run.Found(row.id, 1, steps);
    run.Found(row.id, steps / 2, steps / 2);
    run.Found(row.id, model::kNoStep, model::kNoStep);
  }
  return run;
}

void ExpectSane(const std::vector<model::Diagnosis>& diagnoses, std::size_t findings) {
  for (const model::Diagnosis& diagnosis : diagnoses) {
    EXPECT_GE(diagnosis.confidence, 0);
    EXPECT_LE(diagnosis.confidence, 0.99);
    EXPECT_FALSE(diagnosis.cause.empty());
    EXPECT_FALSE(Words(diagnosis.summary).empty());
    EXPECT_FALSE(diagnosis.findings.empty());
    for (const std::uint32_t index : diagnosis.findings) EXPECT_LT(index, findings);
    for (const auto& remedy : diagnosis.remedies) EXPECT_FALSE(AdviceOf(remedy).empty()) << remedy.id;
  }
}

using Values = std::function<double(int)>;

struct Shape {
  std::string name;
  int steps;
  Values value;
};

class AnyRun : public ::testing::TestWithParam<Shape> {};

TEST_P(AnyRun, GivesSaneDiagnoses) {
  const Shape& shape = GetParam();
  for (const std::string_view method : {"other", "sft", "grpo"}) {
    RunMaker run("hf-trainer");
    run.Method(method);
    for (const std::string_view signal : SomeSignals()) run.Series(signal, shape.steps, shape.value);
    run = WithEveryFinding(std::move(run), shape.steps);
    ExpectSane(run.Diagnoses(), run.findings.size());
    for (std::size_t i = 0; i < run.findings.size(); i += 3) {
      RunMaker one = run;
      one.findings = {run.findings[i]};
      ExpectSane(one.Diagnoses(), 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AnyRun,
    ::testing::Values(Shape{"Nothing", 0, [](int) { return 0.0; }}, Shape{"OnePoint", 1, [](int) { return 1.0; }},
                      Shape{"TwoPoints", 2, [](int s) { return static_cast<double>(s); }},
                      Shape{"AllNan", 60, [](int) { return kNan; }}, Shape{"AllZero", 60, [](int) { return 0.0; }},
                      Shape{"AllInfinite", 60, [](int) { return std::numeric_limits<double>::infinity(); }},
                      Shape{"Constant", 60, [](int) { return 3.5; }},
                      Shape{"Negative", 60, [](int s) { return -1.0 * s; }},
                      Shape{"Huge", 60, [](int s) { return 1e300 * s; }},
                      Shape{"Tiny", 60, [](int s) { return 1e-310 * s; }},
                      Shape{"Alternating", 61, [](int s) { return s % 2 == 0 ? kNan : 1.0; }},
                      Shape{"Rising", 300, [](int s) { return 0.01 * s; }}),
    [](const auto& instance) { return instance.param.name; });

TEST(Robustness, NoFindingsNoDiagnoses) {
  RunMaker run;
  run.Series("loss", 100, [&](int s) { return run.HealthyLoss(s); });
  EXPECT_TRUE(run.Diagnoses().empty());
}

TEST(Robustness, TheSameRunGivesTheSameWords) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", 120, 300).Found("grad/non-finite", 120, 300);
  EXPECT_EQ(Describe(run.First()), Describe(run.First()));
}

TEST(Robustness, TheOrderOfFindingsDoesNotChangeTheCause) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", 120, 300).Found("grad/non-finite", 120, 300).Found("loss/spike", 60, 60);
  const model::Diagnosis forwards = run.First();
  std::reverse(run.findings.begin(), run.findings.end());
  const model::Diagnosis backwards = run.First();
  EXPECT_EQ(forwards.cause, backwards.cause);
  // Which spikes belong to the story is decided from the worst finding on.
  EXPECT_NEAR(forwards.confidence, backwards.confidence, 0.01) << Describe(forwards) << Describe(backwards);
}

// A symptom with nothing else known is no verdict, whatever the symptom.
TEST(Robustness, ASymptomWithoutAnySignalNeverNamesACause) {
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    RunMaker run("");
    run.Found(row.id, 100, 200);
    for (const model::Diagnosis& diagnosis : run.Diagnoses()) {
      // What a detector saw in the learning rate, the schedule, the scale, at a restart or in a result that no data
      // allow is itself the evidence.
      if (row.id == "lr/zero" || row.id == "loss/too-good" || row.id == "lr/schedule-break" ||
          row.id == "numerics/loss-scale-collapse" || row.id == "loss/resume-jump" || row.id.starts_with("resume/"))
        continue;
      EXPECT_EQ(diagnosis.cause, kUnknownCause) << row.id << "\n" << Describe(diagnosis);
    }
  }
}

TEST(Robustness, NoConfidenceAboveTheCapWithoutDecisiveEvidence) {
  RunMaker run("torch", 3);
  run.Planned(1000).Method("lora").Fact("lr", "3e-1").Fact("max_grad_norm", "1.0");
  run.Series("lr", 400, [](int s) { return CosineLr(3e-1, s, 100, 1000); });
  run.Series("grad_norm", 400, [&](int s) { return run.HealthyNorm() * (s < 180 ? 1 : std::exp(0.25 * (s - 180))); });
  run.Series("loss", 400, [&](int s) { return run.HealthyLoss(s) * (s < 190 ? 1 : 1 + 0.2 * (s - 190)); });
  run.Found("grad/explosion", 182, 400).Found("loss/divergence", 191, 400);
  EXPECT_LE(run.First().confidence, 0.95);
}

// Repeated with other seeds, rivals keep their order: no verdict depends on one noise.
TEST(Robustness, TheVerdictDoesNotDependOnTheNoise) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    RunMaker run("torch", seed);
    run.Planned(300);
    run.Series("lr", 300, [](int s) { return CosineLr(3e-4, s, 20, 300); });
    run.Series("loss", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyLoss(s); });
    run.Series("grad_norm", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyNorm(); });
    run.Found("loss/non-finite", 120, 300).Found("grad/non-finite", 120, 300);
    EXPECT_THAT(run.First().cause, ::testing::AnyOf("layer-numerics", "bad-sample")) << seed << Describe(run.First());
  }
}

}  // namespace
}  // namespace vigil::diagnose
