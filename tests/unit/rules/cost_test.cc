// Memory over steps, throughput, restarts: the shape and what it comes from.
#include <gmock/gmock.h>

#include "story.h"

namespace vigil::rules {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// ---- memory

TEST(MemoryOverSteps, FlatIsHealthy) {
  Story story("pretrain", "torch");
  story.Fact("device_memory", "80");
  story.Series("mem_allocated", 300, [&](int) { return 60.4 + 0.05 * story.Noise(1); });
  story.Series("mem_reserved", 300, [](int) { return 66.0; });
  ExpectSound(story, "flat");
}

TEST(MemoryOverSteps, AStaircaseOfAllocatedMemoryIsALeak) {
  Story story("pretrain", "torch");
  story.Series("mem_allocated", 300, [](int s) { return 20 + 0.5 * (s / 10); });
  const model::RunReport report = ExpectFound(story, "memory/growth");
  EXPECT_THAT(NamedFor(report, "memory/growth"), Contains(AnyOf("graph-retained", "memory-leak-host-ref")))
      << Describe(report);
}

TEST(MemoryOverSteps, ASlopeOfAllocatedMemoryIsALeakToo) {
  Story story("pretrain", "torch");
  story.Series("mem_allocated", 300, [](int s) { return 20 + 0.03 * s; });
  ExpectFound(story, "memory/growth");
}

TEST(MemoryOverSteps, AClimbOfTheHostIsWhatTheProgramKeeps) {
  Story story("pretrain", "torch");
  story.Series("host_memory", 300, [](int s) { return 4 + 0.01 * s; });
  ExpectCause(story, "memory/leak", "memory-leak-host-ref");
}

TEST(MemoryOverSteps, ReservedThatGrowsWhileAllocatedDoesNotIsFragmentation) {
  Story story("pretrain", "torch");
  story.Series("mem_allocated", 300, [](int) { return 20.0; });
  story.Series("mem_reserved", 300, [](int s) { return 22 + 0.05 * s; });
  ExpectCause(story, "memory/fragmentation", "allocator-fragmentation");
}

TEST(MemoryOverSteps, APeakNearTheCapacityIsPressureAndASlopeGivesTheTimeThatIsLeft) {
  Story story("pretrain", "torch");
  story.Fact("device_name", "NVIDIA A100-SXM4-80GB");
  story.Series("mem_reserved", 300, [](int s) { return 60 + 0.045 * s; });
  const model::RunReport report = ExpectFound(story, "memory/pressure");
  ASSERT_FALSE(Find(report, "memory/pressure")->evidence.empty()) << Describe(report);
  EXPECT_THAT(report::Sentence(Find(report, "memory/pressure")->evidence.front().says), HasSubstr("full in about"));
  Story unknown("pretrain", "torch");
  unknown.Series("mem_reserved", 300, [](int) { return 79.0; });
  EXPECT_EQ(Find(unknown.Report(), "memory/pressure"), nullptr) << "no capacity, no share of it";
  Story share("pretrain", "torch");
  share.Series("mem_share", 300, [](int) { return 96.0; });
  ExpectFound(share, "memory/pressure");
}

// ---- throughput

TEST(Throughput, ThatHalvesWhileStepsWaitForDataIsTheInput) {
  Story story("pretrain", "torch");
  story.Series("step_time_s", 200, [&](int s) { return (s < 100 ? 0.5 : 1.0) * story.Factor(0.03); });
  story.Series("data_time_s", 200, [&](int s) { return (s < 100 ? 0.01 : 0.5) * story.Factor(0.05); });
  ExpectCause(story, "throughput/regression", "input-pipeline");
}

TEST(Throughput, ThatHalvesInTheWorkItselfIsTheWork) {
  Story story("pretrain", "torch");
  story.Series("step_time_s", 200, [&](int s) { return (s < 100 ? 0.5 : 1.0) * story.Factor(0.03); });
  story.Series("data_time_s", 200, [&](int) { return 0.01 * story.Factor(0.05); });
  story.Series("compute_time_s", 200, [&](int s) { return (s < 100 ? 0.45 : 0.95) * story.Factor(0.03); });
  ExpectCause(story, "throughput/regression", "recompute-or-kernel-change");
}

TEST(Throughput, WhoseShareOfCommunicationClimbsIsTheNetwork) {
  Story story("pretrain", "torch");
  story.run.ranks = 8;
  story.Series("step_time_s", 200, [&](int s) { return (s < 100 ? 1.0 : 1.3) * story.Factor(0.01); });
  story.Series("comm_time_s", 200, [&](int s) { return (s < 100 ? 0.1 : 0.45) * story.Factor(0.02); });
  ExpectCause(story, "throughput/comm-bound", "network");
}

TEST(Throughput, OfAUtilisationFarBelowWhatModelsReachIsNoted) {
  Story story("pretrain", "torch");
  story.Series("mfu", 100, [](int) { return 6.0; });
  EXPECT_NE(Find(story.Report(), "throughput/low-mfu"), nullptr);
}

TEST(Throughput, SpentOnPaddingIsPadding) {
  Story story("sft", "hf-trainer");
  story.Series("loss", 200, [&](int s) { return story.TunedLoss(s); });
  story.Series("padding_share", 200, [&](int) { return 0.62 + story.Noise(0.02); });
  ExpectCause(story, "data/padding", "padding-waste");
  Story little("sft", "hf-trainer");
  little.Series("loss", 200, [&](int s) { return little.TunedLoss(s); });
  little.Series("padding_share", 200, [&](int) { return 0.1 + little.Noise(0.01); });
  EXPECT_EQ(Find(little.Report(), "data/padding"), nullptr);
}

TEST(Throughput, OfOneRankThatIsSlowerIsAStraggler) {
  Story story("pretrain", "torch");
  story.run.ranks = 4;
  for (int rank = 0; rank < 4; ++rank)
    story.Series("compute_time_s", 200, [&](int s) { return (rank == 2 && s > 100 ? 0.5 : 0.3) * story.Factor(0.03); },
                 1, {{"rank", std::to_string(rank)}});
  const model::RunReport report = ExpectFound(story, "throughput/straggler");
  EXPECT_THAT(Find(report, "throughput/straggler")->ranks, ::testing::ElementsAre(2));
}

// ---- a point counts for the steps it averages

TEST(APointCountsForTheStepsItAverages, ThreePointsOfTenStepsAtNearlyAllTruncatedAreEnough) {
  Story story("grpo", "trl");
  story.Fact("max_completion_length", "256");
  story.Series("truncated_share", 30, [](int) { return 0.95; }, 10);
  story.Series("completion_length", 30, [](int) { return 254.0; }, 10);
  story.Series("reward", 30, [&](int) { return 0.02 + std::abs(story.Noise(0.01)); }, 10);
  ExpectCause(story, "rl/truncated", "max-length-too-short");
}

TEST(APointCountsForTheStepsItAverages, ThreePointsOfOneStepAreNot) {
  Story story("grpo", "trl");
  story.Series("truncated_share", 3, [](int) { return 0.95; });
  EXPECT_EQ(Find(story.Report(), "rl/truncated"), nullptr);
}

TEST(APointCountsForTheStepsItAverages, SixtyPointsAtNearlyThreeTimesTheStepTimeAreEnough) {
  Story story("pretrain", "torch");
  story.Series("step_time_s", 600, [&](int s) { return (s < 300 ? 0.5 : 1.4) * story.Factor(0.08); }, 10);
  ExpectFound(story, "throughput/regression", model::Severity::kError);
}

// ---- restarts

TEST(Restart, WithoutTheOptimizersStateThrowsTheModelBack) {
  Story story("pretrain", "torch");
  story.Planned(400).Resumed(200);
  const auto burst = [](int s) { return s > 200 && s < 240 ? 1 + 2 * std::exp(-(s - 201) / 8.0) : 1.0; };
  story.Series("loss", 400, [&](int s) { return 0.5 * burst(s) * story.Factor(0.03); });
  story.Series("lr", 400, [](int) { return 1e-3; });
  story.Series("grad_norm", 400, [&](int s) { return 0.4 * burst(s) * story.Factor(0.05); });
  const model::RunReport report = story.Report();
  ASSERT_FALSE(report.diagnoses.empty()) << Describe(report);
  EXPECT_EQ(report.diagnoses.front().cause, "optimizer-not-saved") << Describe(report);
}

TEST(Restart, WithoutTheSchedulersStateBeginsTheScheduleAgain) {
  Story story("pretrain", "torch");
  story.Planned(400).Resumed(200);
  story.Series("loss", 400, [&](int s) { return (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.01); });
  story.Series("lr", 400, [](int s) { return Story::Cosine(1e-3, s <= 200 ? s : s - 200, 20, 400); });
  ExpectCause(story, "resume/schedule-restart", "scheduler-not-saved");
}

TEST(Restart, WithoutTheSamplersPositionReadsTheDataAgain) {
  Story story("pretrain", "torch");
  story.Planned(400).Resumed(130);
  story.Series("loss", 400, [&](int s) { return (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.01); });
  story.Series("data_position", 400, [](int s) { return 32.0 * (s <= 130 ? s : s - 130); });
  ExpectCause(story, "resume/data-restart", "sampler-not-saved");
}

TEST(Restart, ThatRestoresAllIsHealthy) {
  Story story("pretrain", "torch");
  story.Planned(400).Resumed(200).Fact("lr", "3e-4");
  story.Series("loss", 400, [&](int s) { return (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.01); });
  story.Series("lr", 400, [](int s) { return Story::Cosine(3e-4, s, 20, 400); });
  story.Series("data_position", 400, [](int s) { return 32.0 * s; });
  ExpectSound(story, "a restart that goes on where it was");
}

TEST(Restart, FromCheckpointsOfWeightsOnlyIsIncomplete) {
  Story story("sft");
  story.Planned(400).Resumed(200).Fact("save_only_model", "true");
  story.Series("loss", 400, [&](int s) { return story.TunedLoss(s); });
  ExpectFound(story, "resume/incomplete-checkpoint", model::Severity::kError);
}

TEST(Ranks, WhoseEqualValuesGoApartNoLongerShareTheirGradients) {
  Story story("pretrain", "torch");
  story.run.ranks = 2;
  const auto norm = [](int s) { return 1 + 0.1 * std::sin(s); };
  story.Series("loss", 200, [&](int s) { return (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.01); });
  story.Series("grad_norm", 200, norm, 1, {{"rank", "0"}});
  story.Series("grad_norm", 200, [&](int s) { return norm(s) * (s < 120 ? 1 : 1.2); }, 1, {{"rank", "1"}});
  ExpectCause(story, "numerics/rank-desync", "gradient-sync");
}

// ---- runs beside each other

std::vector<model::RunReport> Compared(std::vector<Story> stories) {
  std::vector<model::RunReport> reports;
  for (const Story& story : stories) reports.push_back(story.Report());
  diagnose::CompareRuns(reports, catalogue::Thresholds());
  return reports;
}

Story Seeded(const std::string& name, const std::string& seed, double end, std::uint32_t noise) {
  Story story("pretrain", "torch", noise);
  story.run.name = name;
  story.Fact("seed", seed).Fact("lr", "3e-4").Fact("batch_size", "32").Fact("optimizer", "adamw");
  story.Fact("max_steps", "400").Fact("weight_decay", "0.1");
  story.Series("loss", 400, [&, end](int s) { return (end + 3 / std::sqrt(1 + s / 4.0)) * story.Factor(0.005); });
  return story;
}

TEST(RunsBesideEachOther, ThatDifferInTheirSeedAndEndApartAreNoted) {
  const auto apart = Compared({Seeded("a", "1", 2.0, 1), Seeded("b", "2", 2.4, 2), Seeded("c", "3", 2.1, 3)});
  for (const auto& report : apart) EXPECT_NE(Find(report, "loss/seed-variance"), nullptr) << report.run.name;
  const auto alike = Compared({Seeded("a", "1", 2.0, 1), Seeded("b", "2", 2.0, 2)});
  for (const auto& report : alike) EXPECT_EQ(Find(report, "loss/seed-variance"), nullptr) << Describe(report);
}

TEST(RunsBesideEachOther, OfTheSameSeedThatDifferAreNotReproducible) {
  const auto differ = Compared({Seeded("a", "1", 2.0, 1), Seeded("b", "1", 2.0, 2)});
  EXPECT_NE(Find(differ[1], "repro/nondeterminism"), nullptr) << Describe(differ[1]);
  const auto same = Compared({Seeded("a", "1", 2.0, 1), Seeded("b", "1", 2.0, 1)});
  for (const auto& report : same) EXPECT_EQ(Find(report, "repro/nondeterminism"), nullptr);
  auto other = Seeded("b", "1", 2.4, 2);
  other.run.facts[1].value = "1e-3";
  for (const auto& report : Compared({Seeded("a", "1", 2.0, 1), other})) {
    EXPECT_EQ(Find(report, "repro/nondeterminism"), nullptr) << "another learning rate";
    EXPECT_EQ(Find(report, "loss/seed-variance"), nullptr);
  }
}

}  // namespace
}  // namespace vigil::rules
