#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(NonFiniteLoss, IsFatalWhenTheRunNeverComesBack) {
  RunMaker maker;
  maker.Series("loss", 100, [&](int step) { return step >= 60 ? kNan : 2.0; });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/non-finite");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, model::Severity::kFatal);
  EXPECT_EQ(finding->first.value(), 60);
}

TEST(NonFiniteLoss, IsAWarningWhenTheStepWasSkippedAndTheRunWentOn) {
  RunMaker maker;
  maker.Series("loss", 200, [&](int step) { return step == 60 ? kNan : 2.0 + maker.Gauss(0.05) - 0.005 * step; });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/non-finite");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, model::Severity::kWarning);
}

TEST(NonFiniteLoss, IsSeenWhereTheLoggerWritesZero) {
  RunMaker maker;
  maker.Series("loss", 100, [&](int step) { return step >= 70 ? 0.0 : maker.Level(2.5, 0.03)(step); });
  maker.Series("grad_norm", 100, [&](int step) { return step >= 70 ? kNan : 1.0; });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/non-finite");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->first.value(), 70);
  EXPECT_EQ(finding->MeasureOr("hidden", 0), 1);
  EXPECT_EQ(Get(findings, "loss/collapse"), nullptr) << "one incident is reported once";
}

TEST(NonFiniteLoss, ATrueZeroWithAGradientIsNotHidden) {
  RunMaker maker;
  maker.Series("loss", 100, [&](int step) { return step % 10 == 0 ? 0.0 : 0.5; })
      .Series("grad_norm", 100, maker.Level(0.3, 0.2));
  EXPECT_EQ(Get(maker.Find(), "loss/non-finite"), nullptr);
}

TEST(LossSpike, FlagsASpikeAndTheOneAfterIt) {
  RunMaker maker(3);
  const Value level = maker.Falling(4, 2, 0.02);
  maker.Series("loss", 400, [&](int step) { return level(step) * (step == 200 || step == 206 ? 3.0 : 1.0); });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/spike");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->MeasureOr("count", 0), 2);
  EXPECT_EQ(finding->first.value(), 200);
  EXPECT_EQ(Get(findings, "loss/divergence"), nullptr);
}

TEST(LossSpike, ReadsTheBestDocumentedPublicSpike) {
  // The first loss spike of a 176 B model: gradient norm leaves its band four steps before the loss doubles.
  constexpr double kLoss[] = {2.198845, 2.220424, 2.595213, 2.241558, 2.345279, 5.098124, 3.492029, 3.213059, 2.804948};
  constexpr double kGrad[] = {0.242, 0.947, 2.390, 15.886, 145.119, 960.351, 353.201, 379.330, 650.246};
  RunMaker maker(5);
  const auto row = [](int step) { return step - 200; };
  maker.Series("loss", 260, [&](int step) {
    return step >= 200 && step < 209 ? kLoss[row(step)] : 2.21 * std::exp(maker.Gauss(0.01));
  });
  maker.Series("grad_norm", 260, [&](int step) {
    return step >= 200 && step < 209 ? kGrad[row(step)] : 0.25 * std::exp(maker.Gauss(0.1));
  });
  const auto findings = maker.Find();
  const auto* loss = Get(findings, "loss/spike");
  ASSERT_NE(loss, nullptr) << Describe(findings);
  EXPECT_EQ(loss->MeasureOr("peak_step", 0), 205);
  const auto* grad =
      Get(findings, "grad/spike") != nullptr ? Get(findings, "grad/spike") : Get(findings, "grad/explosion");
  ASSERT_NE(grad, nullptr) << Describe(findings);
  EXPECT_LE(grad->first.value(), 201);
  EXPECT_EQ(CountAtLeast({*loss}, model::Severity::kError), 0);
}

TEST(Divergence, IsFoundWhenTheLossRisesAndStaysUp) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    RunMaker maker(seed);
    const Value before = maker.Falling(5, 2, 0.04);
    maker.Series("loss", 400, [&](int step) {
      return step < 250 ? before(step) : std::min(9.0, 2.0 + 0.1 * (step - 250)) * std::exp(maker.Gauss(0.1));
    });
    const auto findings = maker.Find();
    const auto* finding = Get(findings, "loss/divergence");
    ASSERT_NE(finding, nullptr) << seed;
    EXPECT_EQ(finding->severity, model::Severity::kError);
    EXPECT_NEAR(static_cast<double>(finding->first.value()), 255, 20);
  }
}

TEST(Divergence, IsFoundWhenItGoesWrongFromTheFirstSteps) {
  RunMaker maker(2);
  maker.Series("loss", 60, [&](int step) { return (4.2 + std::min(20.0, 1.0 * step)) * std::exp(maker.Gauss(0.3)); });
  EXPECT_NE(Get(maker.Find(), "loss/divergence"), nullptr);
}

TEST(Divergence, AStepUpToANewDataPhaseThatFallsAgainIsNoError) {
  RunMaker maker(4);
  maker.Series("loss", 600, [&](int step) {
    const double level = step < 300 ? 1.5 + 3.0 / std::sqrt(step) : 2.2 + 1.5 / std::sqrt(step - 299.0);
    return level * std::exp(maker.Gauss(0.02));
  });
  EXPECT_EQ(CountAtLeast(maker.Find(), model::Severity::kError), 0) << Describe(maker.Find());
}

TEST(NotDecreasing, IsFoundOnAFlatLoss) {
  RunMaker maker(6);
  maker.Series("loss", 200, maker.Level(4.16, 0.02)).Series("lr", 200, maker.Level(1e-3, 0));
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/not-decreasing");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->severity, model::Severity::kError);
}

TEST(NotDecreasing, ASlowGainInNoiseIsLearning) {
  RunMaker maker(8);
  maker.Series("loss", 400, [&](int step) { return (2.0 - 0.0008 * step) * std::exp(maker.Gauss(0.08)); });
  EXPECT_EQ(Get(maker.Find(), "loss/not-decreasing"), nullptr);
}

TEST(Plateau, IsFoundWhenLearningStopsAfterAFirstGain) {
  RunMaker maker(9);
  maker.Series("loss", 400,
               [&](int step) { return (3.85 + 0.4 * std::exp(-step / 12.0)) * std::exp(maker.Gauss(0.01)); });
  const auto findings = maker.Find();
  EXPECT_NE(Get(findings, "loss/plateau"), nullptr) << Describe(findings);
  EXPECT_EQ(Get(findings, "loss/not-decreasing"), nullptr);
}

TEST(Plateau, AConvergedRunIsNoPlateau) {
  RunMaker maker(9);
  maker.Series("loss", 400,
               [&](int step) { return (0.8 + 3.4 * std::exp(-step / 20.0)) * std::exp(maker.Gauss(0.02)); });
  EXPECT_EQ(Get(maker.Find(), "loss/plateau"), nullptr);
}

TEST(Collapse, IsFoundWhenTheLossJumpsToExactlyZero) {
  RunMaker maker(1);
  maker.Series("loss", 60, [&](int step) { return step > 20 ? 0.0 : maker.Level(3, 0.05)(step); })
      .Series("grad_norm", 60, [&](int step) { return step > 20 ? 0.0 : 1.0; });
  EXPECT_NE(Get(maker.Find(), "loss/collapse"), nullptr) << Describe(maker.Find());
}

TEST(Collapse, ALossThatFadesBelowTheLastPrintedDigitIsNone) {
  RunMaker maker(1);
  maker.Series("loss", 200, [](int step) { return std::round(1e4 * 2.0 * std::exp(-step / 12.0)) / 1e4; });
  EXPECT_EQ(Get(maker.Find(), "loss/collapse"), nullptr);
}

TEST(Overfit, IsFoundWithTheStepOfTheTurn) {
  RunMaker maker(1);
  maker.Series("loss", 1000, maker.Falling(3, 0.1, 0.05, 0.6));
  maker.Series(
      "eval_loss", 1000,
      [&](int step) {
        return 1.5 + 0.9 * std::pow((step - 400) / 500.0, 2) * (step > 400 ? 0.6 : 1.0) + maker.Gauss(0.01);
      },
      50, 50);
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/overfit");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_NEAR(static_cast<double>(finding->first.value()), 400, 100);
}

TEST(Overfit, EvaluationNoiseAtItsFloorIsNone) {
  RunMaker maker(1);
  maker.Series("loss", 1000, maker.Falling(3, 1, 0.05));
  maker.Series("eval_loss", 1000, [&](int step) { return 1.2 + 2.0 / std::sqrt(step) + maker.Gauss(0.01); }, 50, 50);
  EXPECT_EQ(Get(maker.Find(), "loss/overfit"), nullptr);
}

TEST(ResumeJump, IsFoundWhenTheLevelChangesAtARestart) {
  RunMaker maker(1);
  maker.Series("loss", 200, maker.Level(2.0, 0.02)).Again(150, 250, maker.Level(2.4, 0.02));
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/resume-jump");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->first.value(), 150);
}

TEST(ResumeJump, AnExactContinuationIsNone) {
  RunMaker maker(1);
  maker.Series("loss", 200, maker.Level(2.0, 0.02)).Again(150, 250, maker.Level(2.0, 0.02));
  EXPECT_EQ(Get(maker.Find(), "loss/resume-jump"), nullptr);
}

TEST(ResumeJump, IsFoundWhereNoStepWasLost) {
  RunMaker maker(1);
  maker.Series("loss", 300, [&](int step) { return (step > 150 ? 2.4 : 2.0) * std::exp(maker.Gauss(0.02)); });
  EXPECT_EQ(Get(maker.Find(), "loss/resume-jump"), nullptr) << "no restart was logged";
  maker.Resumed(150);
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/resume-jump");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->first.value(), 151);
}

TEST(ResumeJump, ManySoundRestartsOfAFallingLossGiveNone) {
  int found = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    RunMaker maker(seed);
    maker.Series("loss", 1000, maker.Falling(10, 1.5, 0.05));
    for (int after = 60; after < 1000; after += 60) maker.Resumed(after);
    found += Get(maker.Find(), "loss/resume-jump") != nullptr ? 1 : 0;
  }
  EXPECT_LE(found, 2) << "1,600 restarts";
}

TEST(ResumeJump, ComparesTheStepsThatTheRestartOverwrote) {
  // A loss that falls fast: against the line before it anything could be a jump, against the same steps it is none.
  RunMaker maker(3);
  const auto fast = [&](int step) { return (1 + 4 * std::exp(-step / 60.0)) * std::exp(maker.Gauss(0.01)); };
  maker.Series("loss", 120, fast).Again(60, 200, fast);
  EXPECT_EQ(Get(maker.Find(), "loss/resume-jump"), nullptr);
}

TEST(LossSpike, OneThatIsWideAndComesBackIsKept) {
  RunMaker maker(2);
  maker.Series("loss", 2000,
               [&](int step) { return 2.0 * std::exp(maker.Gauss(0.02)) * (step > 800 && step <= 900 ? 3.0 : 1.0); });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/spike");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->first.value(), 801);
  EXPECT_NEAR(finding->MeasureOr("width", 0), 100, 5);
}

TEST(LossSpike, OneThatTheLogEndsInIsReported) {
  RunMaker maker(2);
  maker.Series("loss", 300, [&](int step) { return 2.0 * std::exp(maker.Gauss(0.02)) * (step > 298 ? 6.0 : 1.0); });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/spike");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_NE(Words(*finding).find("not back"), std::string::npos) << Words(*finding);
}

TEST(NonFiniteEval, IsFoundBesideASoundTrainingLoss) {
  RunMaker maker(2);
  maker.Series("loss", 200, maker.Falling(5, 1, 0.02));
  maker.Series("eval_loss", 200, [](int) { return kNan; }, 20, 20);
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/eval-non-finite");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->severity, model::Severity::kError);
  EXPECT_EQ(finding->first.value(), 20);
}

TEST(NonFiniteEval, SaysNothingNewOfALostModel) {
  RunMaker maker(2);
  maker.Series("loss", 200, [](int step) { return step >= 50 ? kNan : 2.0; });
  maker.Series("eval_loss", 200, [](int step) { return step >= 50 ? kNan : 2.0; }, 20, 20);
  const auto findings = maker.Find();
  EXPECT_EQ(Get(findings, "loss/eval-non-finite"), nullptr) << Describe(findings);
  EXPECT_NE(Get(findings, "loss/non-finite"), nullptr);
}

TEST(LossSpike, IsSeenWhileTheLossStillFalls) {
  // The window of the baseline is as wide as the fall before it.
  RunMaker maker(4);
  maker.Series("loss", 300, [&](int step) {
    const double fall = 3.0 + 8.0 * std::exp(-step / 45.0);
    const double since = step - 180;
    return (fall + (since >= 0 ? 3.0 * std::exp(-since / 4.0) : 0)) * std::exp(maker.Gauss(0.01));
  });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/spike");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->first.value(), 180);
}

TEST(EvalBreak, IsFoundWhereTrainingGoesOn) {
  RunMaker maker(4);
  maker.Series("loss", 2000, maker.Falling(2.3, 0.4, 0.02, 0.3));
  maker.Series(
      "eval_loss", 2000, [&](int step) { return (step < 1500 ? 0.5 : 2.3) * std::exp(maker.Gauss(0.02)); }, 50, 50);
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/eval-break");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->first.value(), 1500);
}

TEST(EvalBreak, OfATrainingThatJumpedTooIsNone) {
  RunMaker maker(4);
  const auto level = [&](int step) { return (step < 1500 ? 0.5 : 2.3) * std::exp(maker.Gauss(0.02)); };
  maker.Series("loss", 2000, level);
  maker.Series("eval_loss", 2000, level, 50, 50);
  EXPECT_EQ(Get(maker.Find(), "loss/eval-break"), nullptr);
}

TEST(Overfit, IsFoundByThePerplexityAlone) {
  RunMaker maker(4);
  maker.Series("loss", 1200, maker.Falling(3, 1, 0.01, 0.2));
  maker.Series("eval_perplexity", 1200, [](int step) { return 12 + 8 * std::pow((step - 500) / 700.0, 2); }, 50, 50);
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/overfit");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_NEAR(static_cast<double>(finding->first.value()), 500, 60);
}

TEST(NoWarmup, OfALossThatFellAtOnceIsANote) {
  RunMaker maker(4);
  maker.Series("lr", 3000, [](int) { return 1e-4; });
  maker.Series("loss", 3000, [&](int step) { return (step < 4 ? 1.0 : 0.12) * std::exp(maker.Gauss(0.1)); });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "lr/no-warmup");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->severity, model::Severity::kInfo);
}

TEST(Divergence, ThatCameBackLateIsAWarning) {
  RunMaker maker(4);
  maker.Series("loss", 200, [&](int step) {
    const double away = step < 10 ? 0 : std::max(0.0, 3.5 * (1 - std::abs(step - 50) / 60.0));
    return 4.0 * std::exp(away - 0.001 * step + maker.Gauss(0.05));
  });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/divergence");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->severity, model::Severity::kWarning);
}

TEST(Plateau, AtTheFrequenciesOfTokensIsFoundInARunFromScratch) {
  const auto curve = [](RunMaker& maker, double floor) {
    return [&maker, floor](int step) {
      return (floor + (4.16 - floor) * std::exp(-step / 8.0)) * std::exp(maker.Gauss(0.01));
    };
  };
  RunMaker stuck(4);
  stuck.Fact("vocab_size", "64").Series("loss", 200, curve(stuck, 3.05));
  EXPECT_NE(Get(stuck.Find(), "loss/plateau"), nullptr);
  RunMaker learned(4);
  learned.Fact("vocab_size", "64").Series("loss", 200, curve(learned, 2.3));
  EXPECT_EQ(Get(learned.Find(), "loss/plateau"), nullptr);
}

TEST(Collapse, OfARunningMeanIsNone) {
  model::Run run;
  model::Series series;
  series.signal = series.raw = "loss";
  for (int step = 1; step <= 200; ++step) series.Append(step, step < 100 ? 2.0 + 1.0 / step : 2.0123);
  run.series.push_back(series);
  EXPECT_NE(Get(Detect(run, catalogue::Thresholds()), "loss/collapse"), nullptr);
  run.series[0].aggregation = model::Aggregation::kRunningMean;
  EXPECT_EQ(Get(Detect(run, catalogue::Thresholds()), "loss/collapse"), nullptr);
}

TEST(Divergence, IsFoundHoweverLongTheRunAndShortTheEnd) {
  for (const int points : {1000, 10'000, 200'000}) {
    for (const int late : {3, 10, 40, 200, 1000}) {
      if (late * 3 > points) continue;
      RunMaker maker(static_cast<std::uint32_t>(late));
      maker.Series("loss", points, [&, points, late](int step) {
        const double level = 2.0 + 2.0 * std::exp(-step / (0.1 * points));
        return level * std::exp(maker.Gauss(0.03)) * (step > points - late ? 4.0 : 1.0);
      });
      const auto findings = maker.Find();
      const bool found = Get(findings, "loss/divergence") != nullptr || Get(findings, "loss/spike") != nullptr;
      EXPECT_TRUE(found) << points << " points, the last " << late << ": " << Describe(findings);
    }
  }
}

TEST(NotDecreasing, LearningInTheFirstStepsIsLearning) {
  RunMaker maker(4);
  maker.Series("loss", 2000,
               [&](int step) { return (2.0 + 3.0 * std::exp(-step / 8.0)) * std::exp(maker.Gauss(0.02)); });
  const auto findings = maker.Find();
  EXPECT_EQ(Get(findings, "loss/not-decreasing"), nullptr) << Describe(findings);
  EXPECT_EQ(Get(findings, "loss/plateau"), nullptr) << Describe(findings);
}

TEST(Collapse, OverwrittenByARestartInTheMiddleIsOver) {
  RunMaker maker(2);
  maker.Series("loss", 600, [&](int step) { return step >= 500 ? 0.0 : 2.0 * std::exp(maker.Gauss(0.02)); });
  maker.Again(400, 600, maker.Level(2.0, 0.02));
  const auto findings = maker.Find();
  EXPECT_EQ(Get(findings, "loss/collapse"), nullptr) << Describe(findings);
}

TEST(Collapse, OfASmoothedAndRoundedLossIsNone) {
  RunMaker maker(2);
  double mean = 5;
  maker.Series("loss", 2000, [&](int step) {
    mean += 0.02 * ((1.26 + 4.0 * std::exp(-step / 100.0)) * std::exp(maker.Gauss(0.02)) - mean);
    return std::round(mean * 100) / 100;
  });
  const auto findings = maker.Find();
  EXPECT_EQ(Get(findings, "loss/collapse"), nullptr) << Describe(findings);
}

TEST(NonFiniteLoss, AfterARestartIsAnotherOne) {
  RunMaker maker(2);
  maker.Series("loss", 130, [](int step) { return step >= 100 ? kNan : 2.0; });
  maker.Again(50, 340, [](int step) { return step >= 300 ? kNan : 2.0; });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/non-finite");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->first.value(), 300) << Words(*finding);
}

TEST(Detectors, OneEvaluationSetDoesNotHideAnother) {
  RunMaker maker(2);
  maker.Series("loss", 1000, maker.Falling(3, 1, 0.01, 0.2));
  const auto overfit = [](int step) { return 2.0 + 1e-6 * (step - 400) * (step - 400); };
  maker.Series("eval_loss", 1000, overfit, 50, 50);
  model::Run run = maker.run();
  run.series.back().labels = {{"dataset", "b"}};
  model::Series broken = run.series.back();
  broken.labels = {{"dataset", "a"}};
  const std::span<double> values = broken.values.Mutable();
  for (std::size_t i = 0; i < broken.size(); ++i) values[i] = broken.steps[i] < 600 ? 1.0 : 3.0;
  run.series.push_back(broken);
  const auto findings = Detect(run, catalogue::Thresholds());
  EXPECT_NE(Get(findings, "loss/eval-break"), nullptr) << Describe(findings);
  EXPECT_NE(Get(findings, "loss/overfit"), nullptr) << Describe(findings);
}

TEST(NonFiniteLoss, IsSuspectedWhereTheLossEndsAndTheRateGoesOn) {
  RunMaker maker;
  maker.Series("loss", 590, maker.Falling(7, 2, 0.02), 10, 10).Series("lr", 990, [](int) { return 1e-4; }, 10, 10);
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "loss/non-finite");
  ASSERT_NE(finding, nullptr) << Describe(findings);
  EXPECT_EQ(finding->severity, model::Severity::kError);
  EXPECT_EQ(finding->first.value(), 590);
}

TEST(NonFiniteLoss, IsNotSuspectedWhereTheRateIsLoggedMoreOften) {
  RunMaker maker;
  maker.Series("loss", 2000, maker.Falling(7, 2, 0.02), 100, 100).Series("lr", 2900, [](int) { return 1e-4; }, 10, 10);
  EXPECT_EQ(Get(maker.Find(), "loss/non-finite"), nullptr);
}

TEST(NotDecreasing, IsNotSaidOfARunThatHasJustBegun) {
  RunMaker maker(4);
  maker.Planned(10'000).Series("loss", 200, maker.Level(5.0, 0.01));
  EXPECT_NE(Get(Detect(maker.run(), catalogue::Thresholds(), true), "loss/not-decreasing"), nullptr);
  EXPECT_EQ(Get(Detect(maker.run(), catalogue::Thresholds(), false), "loss/not-decreasing"), nullptr);
}

TEST(Collapse, OfAnAttemptThatWasBegunAgainIsOver) {
  RunMaker maker(2);
  maker.Series("loss", 60, [](int step) { return step > 10 ? 0.0 : 2.0; });
  maker.Again(1, 300, maker.Falling(5, 1, 0.02));
  const auto findings = maker.Find();
  EXPECT_EQ(Get(findings, "loss/collapse"), nullptr) << Describe(findings);
}

model::Severity SeverityOf(const std::vector<model::Finding>& findings, std::string_view id) {
  const model::Finding* finding = Get(findings, id);
  return finding == nullptr ? model::Severity::kInfo : finding->severity;
}

TEST(Severity, AskedForByTheUserDoesNotRaiseWhatIsLess) {
  const auto parsed = catalogue::Thresholds::Parse("[\"loss/non-finite\"]\nseverity = \"error\"\n", "vigil.toml");
  ASSERT_TRUE(parsed);
  const catalogue::Thresholds& thresholds = *parsed;
  RunMaker lost;
  lost.Series("loss", 100, [](int step) { return step >= 60 ? kNan : 2.0; });
  EXPECT_EQ(SeverityOf(Detect(lost.run(), thresholds), "loss/non-finite"), model::Severity::kError);
  RunMaker skipped;
  skipped.Series("loss", 200, [&](int step) { return step == 60 ? kNan : 2.0 + skipped.Gauss(0.05) - 0.005 * step; });
  EXPECT_EQ(SeverityOf(Detect(skipped.run(), thresholds), "loss/non-finite"), model::Severity::kWarning);
}

TEST(Divergence, IsFoundWhenOnlyTheLastPointsShowIt) {
  for (const int points : {120, 2000, 100'000}) {
    RunMaker maker(5);
    maker.Series("loss", points, [&, points](int step) {
      const int late = step - (points - 5);
      return 2.0 * std::exp(maker.Gauss(0.02)) * (late > 0 ? std::pow(1.3, late) : 1);
    });
    const auto findings = maker.Find();
    const model::Finding* found = Get(findings, "loss/divergence");
    ASSERT_NE(found, nullptr) << points << " points: " << Describe(findings);
    EXPECT_GT(found->first.value(), points - 6);
    EXPECT_EQ(found->severity, model::Severity::kError);
  }
}

TEST(Divergence, NoiseAtTheEndIsNone) {
  int found = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    RunMaker maker(seed);
    maker.Series("loss", 400, [&](int) { return 2.0 * std::exp(maker.Heavy(0.05, 3)); });
    found += Get(maker.Find(), "loss/divergence") != nullptr ? 1 : 0;
  }
  EXPECT_LE(found, 1) << "heavy tails, three deviations of freedom";
}

TEST(NotDecreasing, IsNotSaidDuringTheWarmUp) {
  RunMaker maker(6);
  maker.Series("loss", 40, maker.Level(10.8, 0.003)).Series("lr", 40, [](int step) { return 3e-4 * step / 2000.0; });
  EXPECT_EQ(Get(maker.Find(), "loss/not-decreasing"), nullptr) << Describe(maker.Find());
}

TEST(NotDecreasing, OfALogThatBeginsLateIsAWarning) {
  RunMaker maker(7);
  maker.Series("loss", 100'000, maker.Level(2.1, 0.01), 90'000, 100);
  const auto findings = maker.Find();
  const model::Finding* found = Get(findings, "loss/not-decreasing");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, model::Severity::kWarning);
}

TEST(NonFiniteLoss, OverwrittenByARestartIsOver) {
  RunMaker maker(8);
  maker.Series("loss", 600, [&](int step) { return step < 500 ? 2.0 : kNan; }).Again(400, 460, maker.Level(2.0, 0.01));
  const auto findings = maker.Find();
  const model::Finding* found = Get(findings, "loss/non-finite");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->severity, model::Severity::kWarning) << Words(*found);
}

TEST(Detectors, LookBehindAThousandStepsBack) {
  RunMaker maker(9);
  maker.Series("loss", 10, maker.Level(2.0, 0.01));
  for (int i = 0; i < 1100; ++i) maker.Again(9 + i, 11 + i, maker.Level(2.0, 0.01));
  maker.Again(1112, 1200, [](int step) { return step < 1150 ? 2.0 : kNan; });
  EXPECT_NE(Get(maker.Find(), "loss/non-finite"), nullptr);
}

TEST(Detectors, HandleAHundredThousandRanks) {
  model::Run run;
  for (int rank = 0; rank < 100'000; ++rank) {
    model::Series series;
    series.signal = "loss";
    series.labels = {{"rank", std::to_string(rank)}};
    for (int step = 1; step <= 3; ++step) series.Append(step, kNan);
    run.series.push_back(std::move(series));
  }
  const auto findings = Detect(run, catalogue::Thresholds());
  EXPECT_NE(Get(findings, "loss/non-finite"), nullptr);
  EXPECT_LT(findings.size(), 1000U);
}

TEST(Detectors, SurviveAnyThresholds) {
  std::string extremes[2];
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.thresholds.empty()) continue;
    for (std::string& text : extremes) text += "[\"" + std::string(row.id) + "\"]\n";
    for (const catalogue::ThresholdRow& threshold : row.thresholds) {
      extremes[0] += std::string(threshold.name) + " = 0\n";
      extremes[1] += std::string(threshold.name) + " = 1e9\n";
    }
  }
  for (const std::string& text : extremes) {
    const auto thresholds = catalogue::Thresholds::Parse(text, "extremes");
    ASSERT_TRUE(thresholds) << thresholds.error().Text();
    for (const std::size_t points : {0U, 1U, 2U, 3U, 40U}) {
      for (const double value : {0.0, 1.0, kNan}) {
        model::Run run;
        for (const catalogue::SignalRow& signal : catalogue::Signals()) {
          model::Series series;
          series.signal = std::string(signal.id);
          for (std::size_t i = 0; i < points; ++i) series.Append(static_cast<std::int64_t>(i), value);
          run.series.push_back(std::move(series));
        }
        Detect(run, *thresholds);
      }
    }
  }
}

TEST(Detectors, SurviveDegenerateSeries) {
  for (const std::size_t points : {0U, 1U, 2U, 3U, 5U, 40U}) {
    for (const double value : {0.0, 1.0, -1.0, kNan, 1e308, -1e308, 5e-324}) {
      model::Run run;
      run.method = {"grpo", 0.9};
      for (const catalogue::SignalRow& signal : catalogue::Signals()) {
        model::Series series;
        series.signal = std::string(signal.id);
        for (std::size_t i = 0; i < points; ++i) series.Append(static_cast<std::int64_t>(i), value);
        run.series.push_back(std::move(series));
      }
      Detect(run, catalogue::Thresholds());
      run.method = {"sft", 0.9};
      std::erase_if(run.series, [](const model::Series& series) { return series.signal.starts_with("reward"); });
      Detect(run, catalogue::Thresholds());
    }
  }
}

TEST(Detectors, GiveTheSameFindingsForTheSameSamples) {
  RunMaker maker(12);
  maker.Series("loss", 300, maker.Falling(4, 1, 0.1)).Series("grad_norm", 300, maker.Level(1, 0.5));
  EXPECT_EQ(Describe(maker.Find()), Describe(maker.Find()));
}

}  // namespace
}  // namespace vigil::detect::testing
