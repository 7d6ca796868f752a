// False alarms on healthy runs: the rate that the design promises, on noise of many kinds.
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect::testing {
namespace {

struct Kind {
  const char* name;
  double sigma;
  double freedom;  // of the heavy tail, 0: Gaussian on the logarithm
  double correlation;
};

class HealthyRuns : public ::testing::TestWithParam<Kind> {};

TEST_P(HealthyRuns, RaiseNoErrorsAndFewWarningsIn100000Steps) {
  constexpr int kRuns = 100;
  constexpr int kSteps = 1000;
  const Kind kind = GetParam();
  int errors = 0;
  int warnings = 0;
  std::string said;
  for (int i = 0; i < kRuns; ++i) {
    RunMaker maker(static_cast<std::uint32_t>(i + 1));
    double carried = 0;
    const auto noise = [&](double sigma) {
      const double fresh = kind.freedom > 0 ? maker.Heavy(sigma, kind.freedom) : maker.Gauss(sigma);
      return carried = kind.correlation * carried + std::sqrt(1 - kind.correlation * kind.correlation) * fresh;
    };
    // Heavy tails are on the value itself, as a bad batch adds to a mean; light ones on its logarithm.
    const auto around = [&](double level, double sigma) {
      return kind.freedom > 0 ? level * std::max(0.05, 1 + noise(sigma)) : level * std::exp(noise(sigma));
    };
    const double floor = 0.3 + 0.02 * i;
    maker.Method("sft").Planned(kSteps);
    maker.Series("loss", kSteps, [&](int step) { return around(floor + 3 * std::pow(step, -0.4), kind.sigma); });
    carried = 0;
    maker.Series("grad_norm", kSteps, [&](int step) { return around(0.5 + std::pow(step, -0.3), 4 * kind.sigma); });
    maker.Series("lr", kSteps, [](int step) { return 1e-4 * std::min(1.0, step / 50.0) * (1 - 0.9 * step / kSteps); });
    const auto findings = maker.Find();
    errors += CountAtLeast(findings, model::Severity::kError);
    warnings += CountAtLeast(findings, model::Severity::kWarning);
    if (CountAtLeast(findings, model::Severity::kWarning) > 0) said += Describe(findings);
  }
  EXPECT_EQ(errors, 0) << said;
  EXPECT_LE(warnings - errors, 10) << said;
}

INSTANTIATE_TEST_SUITE_P(Noise, HealthyRuns,
                         ::testing::Values(Kind{"Gauss", 0.05, 0, 0}, Kind{"GaussWide", 0.2, 0, 0},
                                           Kind{"Correlated", 0.05, 0, 0.9}, Kind{"Tail5", 0.05, 5, 0},
                                           Kind{"Tail3", 0.05, 3, 0}),
                         [](const auto& tested) { return tested.param.name; });

TEST(HealthyRuns, ShortRunsAndAveragedLogsAreNotJudgedAsIfTheyWereLong) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    RunMaker maker(seed);
    maker.Method("sft")
        .Series("loss", 15, maker.Falling(2.0, 1.5, 0.15))
        .Series("grad_norm", 15, maker.Level(1.0, 0.4));
    EXPECT_EQ(CountAtLeast(maker.Find(), model::Severity::kError), 0) << Describe(maker.Find());
    RunMaker averaged(seed);
    averaged.Method("sft").Series("loss", 500, averaged.Falling(2.0, 1.2, 0.05), 10, 10);
    EXPECT_EQ(CountAtLeast(averaged.Find(), model::Severity::kError), 0) << Describe(averaged.Find());
  }
}

TEST(HealthyRuns, WideNoiseAloneIsNoDivergenceHoweverShortTheRun) {
  int alarms = 0;
  for (const int points : {8, 12, 30, 60, 128, 400}) {
    for (const double sigma : {0.05, 0.15, 0.3, 0.5}) {
      for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        RunMaker maker(seed);
        maker.Series("loss", points, maker.Level(2.0, sigma));
        const auto findings = maker.Find();
        const auto* divergence = Get(findings, "loss/divergence");
        alarms += divergence != nullptr && divergence->severity >= model::Severity::kError ? 1 : 0;
      }
    }
  }
  EXPECT_LE(alarms, 5) << "of 2,400 flat runs";
}

TEST(HealthyRuns, AFallingLossGoesOnFallingAcrossARestart) {
  int alarms = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    RunMaker maker(seed);
    const Value falling = [&](int step) { return 5 * std::exp(-0.01 * step + maker.Gauss(0.02)); };
    maker.Series("loss", 120, falling).Again(121 - 20, 200, falling);
    alarms += Get(maker.Find(), "loss/resume-jump") != nullptr ? 1 : 0;
    RunMaker apart(seed);
    const Value slow = [&](int step) { return 5 * std::exp(-0.005 * step + apart.Gauss(0.02)); };
    apart.Series("loss", 120, slow).Again(119, 200, slow);
    alarms += Get(apart.Find(), "loss/resume-jump") != nullptr ? 1 : 0;
  }
  EXPECT_LE(alarms, 6) << "of 200 restarts";
}

TEST(HealthyRuns, AStepThatIsWrittenTwiceIsNoRestart) {
  RunMaker maker;
  maker.Series("loss", 1, maker.Level(4, 0));
  model::Run run = maker.run();
  run.series[0] = model::Series();
  run.series[0].signal = "loss";
  for (int step = 1; step <= 600; ++step) {
    const double level = (1 + 3 / std::sqrt(step)) * std::exp(maker.Gauss(0.02));
    run.series[0].Append(step, level);
    run.series[0].Append(step, level);
  }
  EXPECT_EQ(CountAtLeast(Detect(run, catalogue::Thresholds()), model::Severity::kWarning), 0);
}

TEST(HealthyRuns, PolicyLossesAroundZeroAreNotJudgedByTheirShape) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    RunMaker maker(seed);
    maker.Method("grpo");
    maker.Series("loss", 300, [&](int) { return maker.Gauss(0.02); });
    maker.Series("reward", 300, [&](int step) { return 0.8 * (1 - std::exp(-step / 60.0)) + maker.Gauss(0.1); });
    maker.Series("grad_norm", 300, [&](int step) { return step % 11 == 0 ? 0.0 : 0.2 * std::exp(maker.Gauss(0.5)); });
    maker.Series("entropy", 300, [&](int step) { return 0.4 - 0.0008 * step + maker.Gauss(0.01); });
    maker.Series("kl", 300, [&](int step) { return 0.0005 * step + std::abs(maker.Gauss(0.01)); });
    maker.Series("zero_std_share", 300, [&](int step) { return std::min(0.9, 0.1 + 0.002 * step); });
    EXPECT_EQ(CountAtLeast(maker.Find(), model::Severity::kError), 0) << Describe(maker.Find());
  }
}

}  // namespace
}  // namespace vigil::detect::testing
