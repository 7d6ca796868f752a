// Series that no trainer should write, and no verdict may come from: gaps, duplicates, steps that go back, mixed units,
// constants, NaN alone, one point, ten million points, settings that contradict the run.
#include <gmock/gmock.h>

#include "story.h"

namespace vigil::rules {
namespace {

double Healthy(int s) { return 2 + 3 / std::sqrt(1 + s / 10.0); }

Story Sound() {
  Story story("pretrain", "torch");
  story.Planned(2000).Fact("lr", "3e-4");
  story.Series("lr", 2000, [](int s) { return Story::Cosine(3e-4, s, 100, 2000); });
  return story;
}

// Appends points of the loss by hand.
model::Series& Loss(Story& story) {
  model::Series series;
  series.signal = series.raw = "loss";
  story.run.series.push_back(std::move(series));
  return story.run.series.back();
}

TEST(BadSeries, GapsAreNoEvents) {
  Story story = Sound();
  model::Series& loss = Loss(story);
  for (int s = 1; s <= 2000; ++s) {
    if ((s > 400 && s < 900) || s % 7 == 3) continue;
    loss.Append(s, Healthy(s) * story.Factor(0.01));
  }
  ExpectSound(story, "a gap of 500 steps and a missing point in seven");
}

TEST(BadSeries, DuplicatedPointsAreNoRestartsAndNoConstants) {
  Story story = Sound();
  model::Series& loss = Loss(story);
  for (int s = 1; s <= 2000; ++s) {
    const double value = Healthy(s) * story.Factor(0.01);
    loss.Append(s, value);
    loss.Append(s, value);
  }
  ExpectSound(story, "every point twice");
}

TEST(BadSeries, StepsThatGoBackAndRepeatWhatWasThereAreSound) {
  Story story = Sound();
  model::Series& loss = Loss(story);
  for (int s = 1; s <= 900; ++s) loss.Append(s, Healthy(s) * story.Factor(0.01));
  for (int s = 700; s <= 2000; ++s) loss.Append(s, Healthy(s) * story.Factor(0.01));
  ExpectSound(story, "a restart from step 700");
}

TEST(BadSeries, MixedUnitsAreNoSpeedAndNoMemory) {
  Story story = Sound();
  Loss(story).ClearPoints();
  for (int s = 1; s <= 2000; ++s) story.run.series.back().Append(s, Healthy(s) * story.Factor(0.01));
  // Every tenth value is in milliseconds, and every tenth in bytes.
  story.Series("step_time_s", 2000, [&](int s) { return (s % 10 == 0 ? 500 : 0.5) * story.Factor(0.02); });
  story.Series("mem_allocated", 2000, [&](int s) { return s % 10 == 0 ? 2.1e10 : 20.0; });
  const model::RunReport report = story.Report();
  EXPECT_LT(WorstOf(report), model::Severity::kError) << Describe(report);
  EXPECT_EQ(Find(report, "memory/growth"), nullptr) << Describe(report);
}

TEST(BadSeries, ConstantsBesideARunThatLearnsAreNoTrouble) {
  Story story = Sound();
  story.Series("loss", 2000, [&](int s) { return Healthy(s) * story.Factor(0.01); });
  for (const char* signal :
       {"grad_norm", "entropy", "kl", "mem_allocated", "step_time_s", "tokens_per_s", "perplexity"})
    story.Series(signal, 2000, [](int) { return 1.0; });
  ExpectSound(story, "metrics that are never updated");
}

TEST(BadSeries, AllNanIsOneFailureAndNamesNoCourse) {
  Story story("pretrain", "torch");
  for (const char* signal : {"loss", "grad_norm", "lr", "eval_loss", "step_time_s", "mem_allocated"})
    story.Series(signal, 300, [](int) { return kNan; });
  const model::RunReport report = story.Report();
  EXPECT_NE(Find(report, "loss/non-finite"), nullptr) << Describe(report);
  for (const char* id : {"loss/divergence", "loss/plateau", "loss/not-decreasing", "loss/spike",
                         "throughput/regression", "memory/growth", "lr/zero"})
    EXPECT_EQ(Find(report, id), nullptr) << id << "\n" << Describe(report);
}

TEST(BadSeries, OnePointIsNoVerdict) {
  for (const double value : {0.0, 3.2, 1e9, -4.0}) {
    Story story("pretrain", "torch");
    for (const char* signal : {"loss", "grad_norm", "lr", "eval_loss", "reward", "entropy", "kl", "mem_reserved"})
      story.Series(signal, 1, [=](int) { return value; });
    const model::RunReport report = story.Report();
    // A first loss far above any guess is wrong by itself.
    for (const model::Finding& finding : report.findings)
      EXPECT_TRUE(finding.severity <= model::Severity::kInfo || finding.id == "loss/bad-start")
          << value << Describe(report);
  }
}

TEST(BadSeries, TenMillionPointsGiveTheVerdictOfTheirShape) {
  Story story("pretrain", "torch");
  story.Series("loss", 10'000'000, [&](int s) { return 2 + 3 / std::sqrt(1 + s / 1e5) + story.Noise(0.02); });
  EXPECT_LE(WorstOf(story.Report()), model::Severity::kWarning);
  Story broken("pretrain", "torch");
  broken.Series("loss", 10'000'000, [&](int s) { return s > 9'000'000 ? kNan : 2 + broken.Noise(0.02); });
  const model::RunReport report = broken.Report();
  ASSERT_NE(Find(report, "loss/non-finite"), nullptr);
  EXPECT_EQ(Find(report, "loss/non-finite")->first.value(), 9'000'001);
}

TEST(BadSeries, SettingsThatContradictTheRunDecideNothing) {
  // The file says a rate of 10 and no clipping; the log shows a usual rate and a run that learns.
  Story story("sft");
  story.Planned(50).Fact("lr", "10").Fact("max_grad_norm", "0").Fact("fp16", "true").Fact("warmup_steps", "0");
  story.Series("lr", 800, [](int s) { return Story::Cosine(2e-5, s, 40, 800); });
  story.Series("loss", 800, [&](int s) { return story.TunedLoss(s); });
  story.Series("grad_norm", 800, [&](int) { return 0.8 * story.Factor(0.1); });
  const model::RunReport report = story.Report();
  EXPECT_LT(WorstOf(report), model::Severity::kError) << Describe(report);
  for (const model::Diagnosis& diagnosis : report.diagnoses)
    EXPECT_NE(diagnosis.cause, "lr-too-high") << "the log shows another rate\n" << Describe(report);
}

TEST(BadSeries, NumbersAtTheEndsOfTheirTypeAreSurvived) {
  Story story("pretrain", "torch");
  story.Series("loss", 200, [](int s) { return s % 2 == 0 ? 1.7e308 : 5e-324; });
  story.Series("grad_norm", 200, [](int s) { return s % 2 == 0 ? -1.7e308 : 1.7e308; });
  const model::RunReport report = story.Report();
  for (const model::Diagnosis& diagnosis : report.diagnoses) EXPECT_LE(diagnosis.confidence, 0.99);
}

}  // namespace
}  // namespace vigil::rules
