// Which findings are one incident, and which of them is its root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

RunMaker LongRun() {
  RunMaker run;
  run.Planned(1000);
  run.Series("loss", 1000, [&](int s) { return run.HealthyLoss(s); });
  return run;
}

std::string RootOf(const RunMaker& run, const model::Diagnosis& diagnosis) {
  return run.findings[diagnosis.findings.at(0)].id;
}

TEST(Incidents, SpikeExplosionDivergenceAndNanInARowAreOne) {
  RunMaker run = LongRun();
  run.Found("loss/non-finite", 520, 1000)
      .Found("grad/spike", 500, 502)
      .Found("loss/divergence", 508, 519)
      .Found("grad/explosion", 503, 519)
      .Found("grad/non-finite", 520, 1000);
  ASSERT_EQ(run.Diagnoses().size(), 1U);
  EXPECT_EQ(RootOf(run, run.First()), "grad/spike");
  EXPECT_EQ(run.First().first.value(), 500);
}

TEST(Incidents, ASpikeLongBeforeADivergenceIsAnother) {
  RunMaker run = LongRun();
  run.Found("loss/spike", 100, 101).Found("loss/divergence", 700, 1000);
  EXPECT_EQ(run.Diagnoses().size(), 2U);
}

TEST(Incidents, SpikesFromLongBeforeTheBlowUpAreNotItsBeginning) {
  RunMaker run = LongRun();
  run.Found("loss/spike", 100, 900).Found("loss/divergence", 700, 1000).Found("grad/explosion", 690, 1000);
  ASSERT_EQ(run.Diagnoses().size(), 1U);
  EXPECT_EQ(RootOf(run, run.First()), "grad/explosion");
  EXPECT_EQ(run.First().first.value(), 690);
}

TEST(Incidents, RewardAndSignalAreOneUnderReinforcement) {
  RunMaker run("trl");
  run.Method("grpo");
  run.Series("reward", 60, [](int) { return 0.0; });
  run.Found("rl/reward-flat", 1, 60).Found("rl/no-signal", 1, 60).Found("grad/zero", 1, 60);
  EXPECT_EQ(run.Diagnoses().size(), 1U);
}

TEST(Incidents, AnOverfitModelIsApartFromASpike) {
  RunMaker run = LongRun();
  run.Found("loss/overfit", 300, 1000).Found("loss/spike", 500, 501);
  EXPECT_EQ(run.Diagnoses().size(), 2U);
}

TEST(Incidents, SamplingThatFailedIsTheEndOfTheLossThatDivergedBefore) {
  RunMaker run = LongRun();
  run.Found("loss/divergence", 100, 300).Found("log/sampling-not-finite", 900, 900);
  ASSERT_EQ(run.Diagnoses().size(), 1U);
  EXPECT_EQ(RootOf(run, run.First()), "loss/divergence");
}

TEST(Incidents, TheExceptionThatTheNanRaisedBelongsToTheNan) {
  RunMaker run = LongRun();
  run.Found("loss/non-finite", 900, 1000)
      .Found("log/uncaught-exception", model::kNoStep, model::kNoStep,
             "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0");
  ASSERT_EQ(run.Diagnoses().size(), 1U);
  EXPECT_EQ(RootOf(run, run.First()), "loss/non-finite");
}

TEST(Incidents, AnUnrelatedExceptionIsAnotherIncident) {
  RunMaker run = LongRun();
  run.Found("loss/spike", 500, 501)
      .Found("log/uncaught-exception", model::kNoStep, model::kNoStep, "FileNotFoundError: no such file: data.bin");
  EXPECT_EQ(run.Diagnoses().size(), 2U);
}

TEST(Incidents, ConfigRulesAreFactsAndNoIncidents) {
  RunMaker run = LongRun();
  run.Found("config/no-clipping", model::kNoStep, model::kNoStep);
  EXPECT_TRUE(run.Diagnoses().empty());
}

TEST(Incidents, EveryFindingOfADiagnosisIsNamedOnce) {
  RunMaker run = LongRun();
  run.Found("lr/no-warmup", 1, 1)
      .Found("loss/divergence", 20, 1000)
      .Found("grad/explosion", 15, 1000)
      .Found("loss/overfit", 300, 1000)
      .Found("loss/spike", 500, 510);
  std::multiset<std::uint32_t> seen;
  for (const model::Diagnosis& diagnosis : run.Diagnoses())
    seen.insert(diagnosis.findings.begin(), diagnosis.findings.end());
  EXPECT_EQ(seen.size(), run.findings.size());
  for (std::uint32_t i = 0; i < run.findings.size(); ++i) EXPECT_EQ(seen.count(i), 1U) << run.findings[i].id;
}

TEST(Incidents, TheMostSevereIsReportedFirst) {
  RunMaker run = LongRun();
  run.Found("loss/overfit", 300, 1000).Found("loss/non-finite", 900, 1000);
  const auto diagnoses = run.Diagnoses();
  ASSERT_EQ(diagnoses.size(), 2U);
  EXPECT_EQ(RootOf(run, diagnoses[0]), "loss/non-finite");
}

TEST(Incidents, AMissingWarmupThatDidNoHarmIsNoDiagnosis) {
  RunMaker run = LongRun();
  run.Series("lr", 1000, [](int s) { return CosineLr(2e-5, s, 0, 1000); });
  run.Found("lr/no-warmup", 1, 1);
  run.findings.back().severity = model::Severity::kInfo;
  EXPECT_TRUE(run.Diagnoses().empty());
}

TEST(Incidents, InfoAloneIsNoDiagnosis) {
  RunMaker run = LongRun();
  run.Found("loss/spike", 500, 500);
  run.findings.back().severity = model::Severity::kInfo;
  EXPECT_TRUE(run.Diagnoses().empty());
}

}  // namespace
}  // namespace vigil::diagnose
