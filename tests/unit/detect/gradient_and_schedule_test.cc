#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(NonFiniteGrad, SaysWhoWasFirst) {
  RunMaker maker;
  maker.Series("grad_norm", 100, [](int step) { return step >= 50 ? kNan : 1.0; }).Series("loss", 100, [](int step) {
    return step >= 51 ? kNan : 2.0;
  });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "grad/non-finite");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->first.value(), 50);
  EXPECT_EQ(finding->MeasureOr("first_bad_loss_step", 0), 51);
  EXPECT_NE(Words(finding->evidence.front()).find("gradient norm was non-finite first"), std::string::npos);
}

TEST(NonFiniteGrad, TheSearchForTheFirstLossScaleIsNoFinding) {
  RunMaker maker;
  maker.Fact("fp16", "true");
  maker.Series("grad_norm", 200, [&](int step) { return step <= 4 ? kInf : 1.0; })
      .Series("loss", 200, maker.Falling(3, 1, 0.02));
  EXPECT_EQ(Get(maker.Find(), "grad/non-finite"), nullptr);
}

TEST(NonFiniteGrad, ARareSkippedOverflowIsNoFindingWithALossScaler) {
  RunMaker maker;
  maker.Fact("fp16", "True");
  maker.Series("grad_norm", 1000, [](int step) { return step == 400 || step == 800 ? kInf : 1.0; })
      .Series("loss", 1000, maker.Falling(3, 1, 0.02));
  EXPECT_EQ(Get(maker.Find(), "grad/non-finite"), nullptr);
}

TEST(LossScaleCollapse, IsFoundAtTheFloorAndNotInTheFirstSearch) {
  RunMaker healthy;
  healthy.Series("loss_scale", 100, [](int step) { return step < 10 ? std::pow(2.0, 32 - step) : std::pow(2.0, 22); });
  EXPECT_EQ(Get(healthy.Find(), "numerics/loss-scale-collapse"), nullptr);
  RunMaker broken;
  broken.Series("loss_scale", 100,
                [](int step) { return step < 60 ? 65536.0 : std::max(1.0, 65536.0 / std::pow(2.0, step - 59)); });
  EXPECT_NE(Get(broken.Find(), "numerics/loss-scale-collapse"), nullptr);
}

TEST(LossScaleCollapse, AScaleThatSwingsBelowItsHighestIsSound) {
  RunMaker maker;
  maker.Series("loss_scale", 2000, [](int step) { return std::pow(2.0, step < 500 ? 22 : 16 - step / 50 % 2); });
  EXPECT_EQ(Get(maker.Find(), "numerics/loss-scale-collapse"), nullptr) << Describe(maker.Find());
}

TEST(NonFiniteGrad, Bfloat16HasNoLossScaler) {
  RunMaker maker;
  maker.Fact("precision", "bfloat16");
  maker.Series("grad_norm", 1000, [](int step) { return step == 400 || step == 800 ? kInf : 1.0; })
      .Series("loss", 1000, maker.Falling(3, 1, 0.02));
  EXPECT_NE(Get(maker.Find(), "grad/non-finite"), nullptr) << "nothing skips such a step";
}

TEST(GradExplosion, InReinforcementLearningTheBeginningOfASignalIsNone) {
  RunMaker maker(3);
  maker.Method("grpo").Series("grad_norm", 200,
                              [&](int step) { return (step < 120 ? 1e-3 : 0.2) * std::exp(maker.Gauss(0.4)); });
  maker.Series("reward", 200, [&](int step) { return step < 120 ? 0.01 : 0.4 + maker.Gauss(0.02); });
  EXPECT_EQ(Get(maker.Find(), "grad/explosion"), nullptr) << Describe(maker.Find());
}

TEST(GradVanishing, SmallNormsFromTheStartAreTheScaleOfTheModel) {
  RunMaker maker(4);
  maker.Series("grad_norm", 200, maker.Level(5e-5, 0.2)).Series("loss", 200, [&](int step) {
    return (1 - 0.00125 * step) * std::exp(maker.Gauss(0.01));
  });
  EXPECT_EQ(Get(maker.Find(), "grad/vanishing"), nullptr) << Describe(maker.Find());
  RunMaker broken(4);
  broken.Series("grad_norm", 200, [&](int step) { return std::max(1e-7, std::pow(0.9, step)); })
      .Series("loss", 200, broken.Level(2.3, 0.01));
  EXPECT_NE(Get(broken.Find(), "grad/vanishing"), nullptr) << Describe(broken.Find());
}

TEST(ScheduleBreak, AResumeThatRestoresTheRateIsNone) {
  RunMaker maker;
  const auto linear = [](int step) { return 1e-3 * (1000 - step) / 1000.0; };
  maker.Series("lr", 950, linear).Again(801, 1000, linear);
  EXPECT_EQ(Get(maker.Find(), "lr/schedule-break"), nullptr) << Describe(maker.Find());
}

TEST(ScheduleBreak, AStatedWarmRestartIsNone) {
  const auto two_cycles = [](int step) { return 1e-3 * (1 + std::cos(3.14159 * (step % 500) / 500.0)) / 2; };
  RunMaker stated;
  stated.Fact("lr_schedule", "cosine_with_restarts").Series("lr", 999, two_cycles);
  EXPECT_EQ(Get(stated.Find(), "lr/schedule-break"), nullptr);
  RunMaker unstated;
  unstated.Series("lr", 999, two_cycles);
  EXPECT_NE(Get(unstated.Find(), "lr/schedule-break"), nullptr) << "one rise alone may be a mistake";
}

TEST(GradExplosion, IsFoundByExponentialGrowth) {
  RunMaker maker;
  maker.Series("grad_norm", 80,
               [&](int step) { return step < 70 ? std::exp(maker.Gauss(0.3)) : std::pow(4.0, step - 69); });
  maker.Series("loss", 80, [&](int step) { return step < 74 ? 2.0 : 2.0 + step - 73; });
  EXPECT_NE(Get(maker.Find(), "grad/explosion"), nullptr) << Describe(maker.Find());
}

TEST(GradExplosion, TheFixedLimitHoldsOnlyForAKnownMethod) {
  RunMaker known;
  known.Method("sft").Series("grad_norm", 60, known.Level(300, 0.2)).Series("loss", 60, known.Level(12, 0.02));
  EXPECT_NE(Get(known.Find(), "grad/explosion"), nullptr);
  RunMaker unknown;
  unknown.Series("grad_norm", 60, unknown.Level(300, 0.2)).Series("loss", 60, unknown.Falling(12, 1, 0.02));
  EXPECT_EQ(Get(unknown.Find(), "grad/explosion"), nullptr);
}

TEST(GradZero, IsFoundUnlessTheLossFallsAllTheSame) {
  RunMaker stuck;
  stuck.Series("grad_norm", 40, [](int) { return 0.0; }).Series("loss", 40, stuck.Level(3, 0.01));
  EXPECT_NE(Get(stuck.Find(), "grad/zero"), nullptr);
  RunMaker unmeasured;
  unmeasured.Series("grad_norm", 40, [](int) { return 0.0; }).Series("loss", 40, unmeasured.Falling(3, 1, 0.01));
  EXPECT_EQ(Get(unmeasured.Find(), "grad/zero"), nullptr);
}

Value Cosine(double peak, int steps, int warmup) {
  return [=](int step) {
    if (step < warmup) return peak * step / warmup;
    return peak * 0.5 * (1 + std::cos(3.14159265 * (step - warmup) / (steps - warmup)));
  };
}

TEST(Schedules, InCommonUseHaveNoBreak) {
  const std::vector<std::pair<const char*, Value>> schedules = {
      {"cosine", Cosine(1e-3, 400, 40)},
      {"linear", [](int step) { return 1e-3 * (1 - step / 401.0); }},
      {"constant", [](int) { return 3e-4; }},
      {"steps", [](int step) { return 1e-2 * std::pow(0.1, step / 100); }},
      {"inverse root", [](int step) { return 1e-2 / std::sqrt(std::max(step, 20)); }},
      {"triangle", [](int step) { return 1e-4 + 1e-3 * std::abs((step % 100) - 50) / 50.0; }},
      {"warm restarts", [](int step) { return 1e-3 * 0.5 * (1 + std::cos(3.14159265 * (step % 100) / 100.0)); }},
      {"stable, then decay", [](int step) { return step < 300 ? 1e-3 : 1e-3 * (1 - (step - 300) / 101.0); }},
  };
  for (const auto& [name, schedule] : schedules) {
    for (const int interval : {1, 5, 10}) {
      RunMaker maker;
      maker.Series("lr", 400, schedule, 1, interval);
      EXPECT_EQ(Get(maker.Find(), "lr/schedule-break"), nullptr)
          << name << " every " << interval << ": " << Describe(maker.Find());
      EXPECT_EQ(Get(maker.Find(), "lr/zero"), nullptr) << name;
    }
  }
}

TEST(ScheduleBreak, IsFoundWhenTheScheduleStartsOver) {
  RunMaker maker;
  const Value cosine = Cosine(1e-3, 400, 0);
  maker.Series("lr", 400, [&](int step) { return step < 200 ? cosine(step) : cosine(step - 200); });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "lr/schedule-break");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->first.value(), 200);
}

TEST(ScheduleBreak, IsFoundWhenARestartForgotTheSchedule) {
  RunMaker maker;
  maker.Series("lr", 200, Cosine(1e-3, 400, 0)).Again(150, 300, [](int step) {
    return 1e-3 * (1 - (step - 150) / 400.0);
  });
  const auto findings = maker.Find();
  const auto* finding = Get(findings, "lr/schedule-break");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->MeasureOr("at_restart", 0), 1);
}

TEST(LrZero, IsFoundBySettingAndByAScheduleThatEndedEarly) {
  RunMaker always;
  always.Series("lr", 100, [](int) { return 0.0; }).Series("loss", 100, always.Level(4, 0.02));
  EXPECT_NE(Get(always.Find(), "lr/zero"), nullptr);
  RunMaker early;
  early.Series("lr", 200, [](int step) { return std::max(0.0, 1e-3 * (1 - step / 100.0)); });
  const auto findings = early.Find();
  const auto* finding = Get(findings, "lr/zero");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->first.value(), 100);
}

TEST(LrZero, ARateRoundedAwayByTheLogIsNotZero) {
  RunMaker maker;
  maker.Series("lr", 100, [](int) { return 0.0; }).Series("loss", 100, maker.Falling(4, 1, 0.02));
  EXPECT_EQ(Get(maker.Find(), "lr/zero"), nullptr);
}

TEST(NoWarmup, IsAWarningOnlyWhereTheStartWentWrong) {
  RunMaker fine;
  fine.Series("lr", 500, [](int step) { return 1e-4 * (1 - step / 501.0); })
      .Series("loss", 500, fine.Falling(3, 1, 0.02));
  const auto calm = fine.Find();
  ASSERT_NE(Get(calm, "lr/no-warmup"), nullptr);
  EXPECT_EQ(Get(calm, "lr/no-warmup")->severity, model::Severity::kInfo);
  RunMaker rough;
  rough.Series("lr", 500, [](int step) { return 1e-2 * (1 - step / 501.0); });
  rough.Series("loss", 500, [](int step) { return step < 5 ? 4.0 : step < 30 ? 9.0 : 6.0; });
  const auto wild = rough.Find();
  ASSERT_NE(Get(wild, "lr/no-warmup"), nullptr);
  EXPECT_EQ(Get(wild, "lr/no-warmup")->severity, model::Severity::kWarning);
}

TEST(ScheduleBreak, ASchedulerThatWasCreatedAgainTwiceIsNoCycle) {
  RunMaker maker(1);
  const auto cosine = [](double at) { return 1e-3 * 0.5 * (1 + std::cos(3.14159 * at)); };
  maker.Series(
      "lr", 2400,
      [&](int step) {
        return cosine(step < 1000 ? step / 2400.0 : step < 1700 ? (step - 1000) / 2400.0 : (step - 1700) / 2400.0);
      },
      1, 10);
  EXPECT_NE(Get(maker.Find(), "lr/schedule-break"), nullptr);
}

TEST(ScheduleBreak, WarmRestartsAreNone) {
  RunMaker maker(1);
  maker.Series("lr", 1500, [&](int step) {
    const double at = step < 100   ? step / 100.0
                      : step < 300 ? (step - 100) / 200.0
                      : step < 700 ? (step - 300) / 400.0
                                   : (step - 700) / 800.0;
    return 0.1 * 0.5 * (1 + std::cos(3.14159 * at));
  });
  EXPECT_EQ(Get(maker.Find(), "lr/schedule-break"), nullptr);
}

TEST(LrZero, OverwrittenByARestartIsOver) {
  RunMaker maker(1);
  maker.Series("lr", 400, [](int step) { return step >= 200 ? 0.0 : 1e-4; });
  maker.Again(180, 600, [](int) { return 1e-4; });
  EXPECT_EQ(Get(maker.Find(), "lr/zero"), nullptr);
}

}  // namespace
}  // namespace vigil::detect::testing
