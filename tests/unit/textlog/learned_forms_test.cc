// Forms of lines that no rule knows and that hold no word of metric lines: they are read by repetition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "log_support.h"

namespace vigil::textlog {
namespace {

double LossAt(int i) { return 3.0 / i + (i % 3) * 0.05 + 0.2; }

std::string Lines(const std::function<std::string(int i)>& line, int count = 20) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += line(i) + "\n";
  return text;
}

std::size_t PointsOfSignal(const model::Run& run, std::string_view signal) {
  const model::Series* const series = run.Find(signal);
  return series == nullptr ? 0 : series->size();
}

TEST(ReadWhatIsThere, ACountBehindALetterIsTheStep) {
  const model::Run run = ReadLog(Lines([](int i) { return fmt::format("(tune) s{} ce={:.4f}", 4 * i, LossAt(i)); }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(run.Find("loss")->steps[1], 8);
}

TEST(ReadWhatIsThere, EvaluationsBetweenSuchLinesAreReadToo) {
  const model::Run run = ReadLog(Lines([](int i) {
    const std::string train = fmt::format("(tune) s{} ce={:.4f}", 4 * i, LossAt(i));
    return i % 5 == 0 ? train + fmt::format("\n(tune) s{} dev_ce={:.4f}", 4 * i, LossAt(i)) : train;
  }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_GE(PointsOfSignal(run, "eval_loss"), 2U);
}

TEST(ReadWhatIsThere, WhatGoesLikeALossIsTheLossWhateverItsName) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("it {:4} || total {:.4f} || part/a {:.4f} w=1.0", 10 * i, LossAt(i), LossAt(i));
  }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_NEAR(run.Find("loss")->values[0], LossAt(1), 1e-3);
}

TEST(ReadWhatIsThere, ALineThatCountsPlacesTheLinesBelowIt) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format(
        "######\n   Learning iteration {}/80\n  Value function loss: {:.4f}\n  Mean reward: {:.2f}\n----\n", i,
        LossAt(i), -30.0 + i);
  }));
  ASSERT_EQ(PointsOfSignal(run, "reward"), 20U);
  EXPECT_EQ(run.Find("reward")->steps[3], 4);
}

TEST(ReadWhatIsThere, ABarOfAnyNameWithALossBehindItIsATraining) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("Episode [1/1]:  {}%|#   | {}/120 [00:45<00:00, 0.02s/it, policy_loss={:.4f}, reward=0.{}]", i,
                       i, LossAt(i), 30 + i);
  }));
  EXPECT_EQ(PointsOfSignal(run, "reward"), 20U);
}

TEST(GuardsAgainstFalseReadings, TextWithNumbersIsNoTraining) {
  const std::vector<std::function<std::string(int)>> texts = {
      [](int i) { return fmt::format("2026-11-18 09:15:{:02d} connected to 10.0.0.{}", i, i); },
      [](int i) { return fmt::format("  File \"a.py\", line {}, in run", 3 * i); },
      [](int i) { return fmt::format("copying file {} of 20", i); },
      [](int i) { return fmt::format("Downloading shard-{} 4.2MB", i % 3); },
      [](int) { return std::string("value 0.5"); },
  };
  for (const auto& text : texts) EXPECT_TRUE(ReadLog(Lines(text)).series.empty()) << text(1);
}

}  // namespace
}  // namespace vigil::textlog
