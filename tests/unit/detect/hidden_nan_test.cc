// Every way in which loggers hide a loss that is not finite, and healthy logs that look alike.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "detect/detect.h"
#include "formats/formats.h"
#include "identify/identify.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "runs.h"

namespace vigil::detect {
namespace {

using ::testing::HasSubstr;
using testing::Words;

constexpr int kSteps = 40;
constexpr int kBadFrom = 25;

// The finding loss/non-finite of a log, or one without an id.
model::Finding NonFiniteIn(const std::string& text) {
  for (const ingest::Format& format : formats::Formats()) {
    if (format.id != "log-text") continue;
    auto run = ingest::ReadBytes("train.log", text, format);
    if (!run) return {};
    identify::Classify(*run);
    for (const model::Finding& finding : Detect(*run, {})) {
      if (finding.id == "loss/non-finite") return finding;
    }
  }
  return {};
}

double LossAt(int step) { return 3.0 - 0.02 * step; }

// A log of forty lines: `healthy` writes a line of a step, `bad` those from step 25 on.
template <class Healthy, class Bad>
std::string Log(Healthy healthy, Bad bad) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step) text += step < kBadFrom ? healthy(step) : bad(step);
  return text;
}

std::string HfRow(int step, std::string_view loss, std::string_view norm) {
  return fmt::format("{{'loss': '{}', 'grad_norm': '{}', 'learning_rate': '1e-4', 'epoch': '{}', 'step': {}}}\n", loss,
                     norm, step * 0.01, step);
}
std::string HealthyHfRow(int step) { return HfRow(step, fmt::format("{:.4f}", LossAt(step)), "0.71"); }

std::string Megatron(int step, std::string_view middle, int skipped, int nan) {
  return fmt::format(
      " iteration {:8}/  250000 | learning rate: 2.999E-04 | {} | loss scale: 1.0 | number of skipped iterations: {:3} "
      "| "
      "number of nan iterations: {:3} |\n",
      step, middle, skipped, nan);
}
std::string HealthyMegatron(int step) {
  return Megatron(step, fmt::format("lm loss: {:.6E} | grad norm: 0.812", LossAt(step)), 0, 0);
}

TEST(HiddenNan, BehindAZeroOfTheNanFilterIsFound) {
  const auto finding = NonFiniteIn(Log(HealthyHfRow, [](int step) { return HfRow(step, "0", "nan"); }));
  EXPECT_EQ(finding.first.value(), kBadFrom);
  EXPECT_THAT(Words(finding), HasSubstr("NaN but logged as 0"));
}

TEST(HiddenNan, InQuotesIsFound) {
  const auto finding = NonFiniteIn(Log(HealthyHfRow, [](int step) { return HfRow(step, "nan", "nan"); }));
  EXPECT_EQ(finding.first.value(), kBadFrom);
}

TEST(HiddenNan, LeftOutOfMegatronsLineIsFound) {
  const auto finding =
      NonFiniteIn(Log(HealthyMegatron, [](int step) { return Megatron(step, "grad norm: nan", 0, 0); }));
  EXPECT_EQ(finding.first.value(), kBadFrom);
  EXPECT_THAT(Words(finding), HasSubstr("left out of its line"));
}

TEST(HiddenNan, CountedAsNanIterationsIsFound) {
  const auto finding =
      NonFiniteIn(Log(HealthyMegatron, [](int step) { return Megatron(step, "global batch size: 8", 1, 1); }));
  EXPECT_EQ(finding.first.value(), kBadFrom);
}

TEST(HiddenNan, ThatWasSkippedOnceIsAWarning) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step)
    text += step == 5 ? Megatron(step, "global batch size: 8", 1, 1) : HealthyMegatron(step);
  EXPECT_EQ(NonFiniteIn(text).severity, model::Severity::kWarning);
}

TEST(HiddenNan, WrittenAsNullIsFound) {
  const auto row = [](int step, const std::string& loss) {
    return fmt::format("2025-01-01 10:00:00 INFO metrics {{\"step\": {}, \"train_loss\": {}, \"lr\": 0.001}}\n", step,
                       loss);
  };
  const auto finding = NonFiniteIn(Log([&](int step) { return row(step, fmt::format("{:.3f}", LossAt(step))); },
                                       [&](int step) { return row(step, "null"); }));
  EXPECT_EQ(finding.first.value(), kBadFrom);
  EXPECT_THAT(Words(finding), HasSubstr("left out"));
}

TEST(HiddenNan, InABarIsFound) {
  const auto bar = [](int step, const std::string& loss) {
    return fmt::format("\rEpoch 0:  50%|##   | {}/40 [00:05<00:05,  9.81it/s, v_num=3, train_loss={}]", step, loss);
  };
  const auto finding = NonFiniteIn(Log([&](int step) { return bar(step, fmt::format("{:.3f}", LossAt(step))); },
                                       [&](int step) { return bar(step, "nan.0"); }) +
                                   "\n");
  EXPECT_EQ(finding.first.value(), kBadFrom);
}

TEST(HiddenNan, MissingBesideAGradientThatIsNotFiniteIsFound) {
  const auto finding = NonFiniteIn(
      Log([](int step) { return fmt::format("step {} | loss {:.4f} | grad_norm 0.5\n", step, LossAt(step)); },
          [](int step) { return fmt::format("step {} | grad_norm nan\n", step); }));
  EXPECT_EQ(finding.first.value(), kBadFrom);
}

std::string PlainRow(int step, double loss) { return fmt::format("step {} | loss {}\n", step, loss); }

TEST(HiddenNan, ReplacedByCodeThatTheLogShowsIsFound) {
  const std::string code = "    loss = torch.nan_to_num(loss, nan=0.0)\n";
  const auto bad = [](int step) { return PlainRow(step, 0); };
  const auto healthy = [](int step) { return PlainRow(step, LossAt(step)); };
  const auto finding = NonFiniteIn(code + Log(healthy, bad));
  EXPECT_EQ(finding.first.value(), kBadFrom);
  EXPECT_THAT(Words(finding.evidence.at(0)), HasSubstr("nan_to_num"));
}

TEST(HiddenNan, AFallToExactlyZeroAtOnceIsFoundAndALossThatGetsThereIsNot) {
  const auto fallen = NonFiniteIn(
      Log([](int step) { return PlainRow(step, LossAt(step)); }, [](int step) { return PlainRow(step, 0); }));
  EXPECT_EQ(fallen.first.value(), kBadFrom);
  EXPECT_THAT(Words(fallen), HasSubstr("a NaN that was replaced by 0"));
  const auto rounded = [](int step) { return PlainRow(step, std::round(1e4 * 2 * std::exp(-0.8 * step)) / 1e4); };
  EXPECT_EQ(NonFiniteIn(Log(rounded, rounded)).id, "") << "learned to the last digit that is printed";
}

TEST(HiddenNan, InfinityMadeTheLargestNumberIsFound) {
  const auto finding = NonFiniteIn(Log([](int step) { return PlainRow(step, LossAt(step)); },
                                       [](int step) { return fmt::format("step {} | loss 3.4028235e+38\n", step); }));
  EXPECT_EQ(finding.first.value(), kBadFrom);
  EXPECT_THAT(Words(finding), HasSubstr("infinite but logged as"));
}

// ---- healthy look-alikes

TEST(HiddenNan, IsNotSeenInStepsThatALossScalerSkipped) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step)
    text += step <= 3 ? Megatron(step, "global batch size: 8", 1, 0) : HealthyMegatron(step);
  EXPECT_EQ(NonFiniteIn(text).id, "");
}

TEST(HiddenNan, IsNotSeenInALossOfZeroWithAGradient) {
  EXPECT_EQ(NonFiniteIn(Log(HealthyHfRow, [](int step) { return HfRow(step, "0", "0.02"); })).id, "");
}

TEST(HiddenNan, IsNotSeenInAValueThatWasNeverMeasured) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step)
    text += fmt::format("INFO {{\"step\": {}, \"loss\": {:.3f}, \"eval_loss\": null, \"train_loss\": null}}\n", step,
                        LossAt(step));
  EXPECT_EQ(NonFiniteIn(text).id, "");
}

TEST(HiddenNan, IsNotSeenInLinesWithoutALossThatAreOfAnotherKind) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step) {
    text += fmt::format("step {} | loss {:.4f} | grad_norm 0.5\n", step, LossAt(step));
    text += fmt::format("step {} | lr 0.001 | tok/s 5000\n", step);
    text += fmt::format("validate step: {}  accuracy: 0.5\n", step);
  }
  EXPECT_EQ(NonFiniteIn(text).id, "");
}

TEST(HiddenNan, IsNotSeenWhereOnlyAScalerFoundItsScale) {
  std::string text;
  for (int step = 1; step <= kSteps; ++step) text += step <= 2 ? HfRow(step, "3.1", "inf") : HealthyHfRow(step);
  EXPECT_EQ(NonFiniteIn(text).id, "");
}

}  // namespace
}  // namespace vigil::detect
