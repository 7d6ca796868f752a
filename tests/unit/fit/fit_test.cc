// The fit: what it is given, and that it finds what is there.
#include <gtest/gtest.h>

#include "diagnose/diagnose.h"
#include "fit/samples.h"

namespace vigil::fit {
namespace {

model::Run RunOf(int points) {
  model::Run run;
  for (const char* signal : {"loss", "eval_loss", "grad_norm"}) {
    model::Series& series = run.series.emplace_back();
    series.signal = signal;
    series.raw = signal;
    for (int i = 1; i <= points; ++i) series.Append(i, 4.0 / i);
  }
  run.facts.push_back({"lr", "1e-3", "lr", {}});
  return run;
}

TEST(Views, OfEpochsAreTheMeansOfAFewPartsWithoutSettings) {
  const model::Run seen = SeenAs(RunOf(80), View::kEpochs);
  EXPECT_TRUE(seen.facts.empty());
  ASSERT_EQ(seen.series.size(), 2U);
  EXPECT_EQ(seen.series[0].size(), 8U);
  EXPECT_EQ(seen.series[0].steps.back(), 80);
  EXPECT_GT(seen.series[0].values.front(), seen.series[0].values.back());
}

TEST(Views, OfTheBeginningKeepTheFirstThirdAndTheSettings) {
  const model::Run seen = SeenAs(RunOf(90), View::kBeginning);
  EXPECT_EQ(seen.series[0].size(), 30U);
  EXPECT_EQ(seen.facts.size(), 1U);
}

Example ExampleWith(std::uint32_t column, const std::string& cause, std::size_t run) {
  Example example;
  example.run = run;
  example.columns = {column};
  example.offsets.assign(FittedCauses().size(), 0);
  if (!cause.empty()) example.causes = {cause};
  return example;
}

TEST(Samples, LeaveOutACauseThatTheViewDoesNotShow) {
  const std::vector<std::string> all = FittedCauses();
  const auto place = static_cast<std::size_t>(std::find(all.begin(), all.end(), "fp16-overflow") - all.begin());
  ASSERT_LT(place, all.size());
  Example hidden = ExampleWith(3, "fp16-overflow", 0);
  hidden.offsets[place] = static_cast<float>(diagnose::kNotShown);
  const Example shown = ExampleWith(3, "fp16-overflow", 1);
  const auto samples = SamplesOf({hidden, shown}, {"fp16-overflow", "lr-too-high"}, {true, true});
  EXPECT_EQ(samples.size(), 1U);
}

TEST(Samples, LeaveOutTheRunsThatAreHeldOut) {
  const auto samples =
      SamplesOf({ExampleWith(3, "lr-too-high", 0), ExampleWith(3, "lr-too-high", 1)}, {"lr-too-high"}, {true, false});
  EXPECT_EQ(samples.size(), 1U);
}

TEST(Optimise, GivesWeightToTheColumnThatDistinguishesTwoCauses) {
  std::vector<Example> examples;
  for (std::size_t i = 0; i < 40; ++i)
    examples.push_back(ExampleWith(i % 2 == 0 ? 1 : 2, i % 2 == 0 ? "lr-too-high" : "lr-too-low", i));
  const std::vector<std::string> classes = {"lr-too-high", "lr-too-low"};
  const auto samples = SamplesOf(examples, classes, std::vector<bool>(examples.size(), true));
  FitOptions options;
  options.rounds = 100;
  const Solution solution = Optimise(samples, 4, classes.size(), options);
  EXPECT_GT(solution.weights[1 * 2 + 0], solution.weights[1 * 2 + 1]);
  EXPECT_LT(solution.weights[2 * 2 + 0], solution.weights[2 * 2 + 1]);
  EXPECT_EQ(solution.weights[3 * 2 + 0], 0) << "a column that never holds says nothing";
}

TEST(Optimise, SeparatesTroubleFromNone) {
  std::vector<Example> examples;
  for (std::size_t i = 0; i < 40; ++i)
    examples.push_back(ExampleWith(i % 2 == 0 ? 1 : 2, i % 2 == 0 ? "lr-too-high" : "", i));
  const auto samples = TroubleSamplesOf(examples, std::vector<bool>(examples.size(), true));
  FitOptions options;
  options.rounds = 100;
  const Solution solution = Optimise(samples, 4, 1, options);
  EXPECT_GT(solution.weights[1], 0);
  EXPECT_LT(solution.weights[2], solution.weights[1]);
}

}  // namespace
}  // namespace vigil::fit
