// Parts of one run may count steps, epochs or rows: counts of two axes are never compared, and every point keeps its
// axis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "assemble/assemble.h"
#include "assemble/merge.h"
#include "formats/formats.h"

namespace vigil::assemble {
namespace {

using model::Axis;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Values that no other seed gives.
double ValueAt(std::int64_t count, int seed) {
  const auto at = static_cast<double>(count);
  return 3.0 / (1.0 + 0.01 * at) + std::sin(at * 7919.0 + seed * 104729.0) * 0.1;
}

class Part {
 public:
  Part(const std::string& path, const std::string& format) {
    run_.name = path;
    run_.sources.push_back({path, format, model::SourceState::kRead, {}});
  }

  // The values of `seed` from `first` to `last`, those of `other_seed` from `fork` on.
  Part& Points(std::string_view signal, Axis axis, std::int64_t first, std::int64_t last, int seed = 1,
               std::int64_t every = 1, std::int64_t fork = 1'000'000, int other_seed = 0) {
    model::Series series;
    series.signal = series.raw = signal;
    series.axis = axis;
    for (std::int64_t at = first; at <= last; at += every)
      series.Append(at, ValueAt(at, at < fork ? seed : other_seed));
    run_.series.push_back(std::move(series));
    return *this;
  }
  Part& Rows(const std::vector<double>& values) {
    model::Series series;
    series.signal = series.raw = "loss";
    series.axis = Axis::kRow;
    for (const double value : values) series.Append(static_cast<std::int64_t>(series.size()) + 1, value);
    run_.series.push_back(std::move(series));
    return *this;
  }
  // The metric that says which epoch a step is of.
  Part& Epochs(std::int64_t steps_per_epoch, std::int64_t last) {
    model::Series series;
    series.signal = series.raw = "epoch";
    for (std::int64_t step = 0; step <= last; step += 10)
      series.Append(step, static_cast<double>(step) / static_cast<double>(steps_per_epoch));
    run_.series.push_back(std::move(series));
    return *this;
  }
  Part& Event(model::EventKind kind, model::Position at) {
    model::Event event;
    event.kind = kind;
    event.text = "RuntimeError: boom";
    event.at = at;
    run_.events.push_back(std::move(event));
    return *this;
  }
  model::Run run() const { return run_; }

 private:
  model::Run run_;
};

Part Log(const std::string& path) { return {path, "hf-log"}; }

template <class... Parts>
std::vector<model::Run> Joined(const Parts&... parts) {
  return JoinParts({parts.run()...}, formats::Formats());
}

// ---- a fork

constexpr std::int64_t kStepsPerEpoch = 50;

// Two branches that part behind step 150, which is the end of epoch 3.
Part Branch(std::int64_t last_epoch, int seed) {
  Part part = Log("out/a.log");
  part.Points("loss", Axis::kStep, 10, last_epoch * kStepsPerEpoch, 1, 10, 151, seed);
  part.Points("eval_loss", Axis::kEpoch, 1, last_epoch, 1, 1, 4, seed);
  return part;
}

TEST(Fork, CutsASeriesOfAnotherAxisByTheMapOfTheRun) {
  model::Run run = Branch(6, 2).Epochs(kStepsPerEpoch, 300).run();
  AppendRun(run, Branch(8, 3).Epochs(kStepsPerEpoch, 400).run(), model::StepAt(150));
  EXPECT_THAT(run.Find("eval_loss")->steps, ElementsAre(1, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8));
  EXPECT_EQ(run.Find("loss")->size(), 30U + 25U);
}

TEST(Fork, CutsASeriesThatNothingLeadsToBehindWhatBothBeginWith) {
  model::Run run = Branch(6, 2).run();
  AppendRun(run, Branch(8, 3).run(), model::StepAt(150));
  EXPECT_THAT(run.Find("eval_loss")->steps, ElementsAre(1, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8));
}

TEST(Fork, SeenInEpochsDoesNotCutSteps) {
  model::Run run = Branch(6, 2).run();
  AppendRun(run, Branch(8, 3).run(), model::EpochAt(3));
  EXPECT_EQ(run.Find("loss")->size(), 30U + 25U) << "step 10 is not behind epoch 3";
}

TEST(Fork, OfRunsThatCountEpochsEndsWithTheBranchThatWentOn) {
  for (const std::int64_t of_log : {40, 60}) {
    const std::int64_t of_table = 100 - of_log;
    const auto runs = Joined(Log("out/run.log").Points("loss", Axis::kEpoch, 1, of_log, 1, 1, 21, 2),
                             Part("out/metrics.csv", "csv").Points("loss", Axis::kEpoch, 1, of_table, 1, 1, 21, 3));
    ASSERT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs[0].Find("loss")->steps.back(), 60) << "the log ends at epoch " << of_log;
  }
}

// ---- events

TEST(MergedEvents, AtOneCountOfTwoAxesAreTwo) {
  using model::EventKind;
  model::Run run = Log("out/a.log").Event(EventKind::kException, model::EpochAt(5)).run();
  MergeRun(run, Log("out/b.log").Event(EventKind::kException, model::StepAt(5)).run());
  EXPECT_THAT(run.events, SizeIs(2));
  MergeRun(run, Log("out/c.log").Event(EventKind::kException, model::StepAt(5)).run());
  EXPECT_THAT(run.events, SizeIs(2)) << "the same step is the same event";
}

TEST(AppendedResume, IsPlacedWhereTheRunEndsOnTheAxisOfTheRun) {
  using model::EventKind;
  model::Run steps = Log("out/a.log").Points("loss", Axis::kStep, 10, 300, 1, 10).run();
  AppendRun(steps, Log("out/b.log").Event(EventKind::kResume, model::EpochAt(0)).run());
  EXPECT_TRUE(model::SamePosition(steps.events[0].at, model::StepAt(300)));
  model::Run epochs = Log("out/a.log").Points("loss", Axis::kEpoch, 1, 7).run();
  AppendRun(epochs, Log("out/b.log").Event(EventKind::kResume, {}).run());
  EXPECT_TRUE(model::SamePosition(epochs.events[0].at, model::EpochAt(7)));
}

// ---- series

TEST(HoldsAlready, NeedsTheSameAxisAndAPlaceInCommon) {
  const model::Run run = Log("a.log").Points("loss", Axis::kStep, 1, 20).run();
  const auto holds = [&](Axis axis, std::int64_t first, std::int64_t last) {
    return HoldsAlready(run, Log("b.log").Points("loss", axis, first, last).run().series[0]);
  };
  EXPECT_TRUE(holds(Axis::kStep, 1, 20));
  EXPECT_FALSE(holds(Axis::kEpoch, 1, 20));
  EXPECT_FALSE(holds(Axis::kStep, 21, 40)) << "nothing that was compared";
}

TEST(Echoes, OnTwoAxesAreTwoSeries) {
  Part part = Log("run/train.log").Points("loss", Axis::kStep, 1, 20).Points("loss", Axis::kEpoch, 1, 20);
  model::Run run = part.run();
  run.series[1].labels = {{"rank", "1"}};
  EXPECT_THAT(JoinParts({run}, formats::Formats()).at(0).series, SizeIs(2));
}

// ---- continuations

TEST(Continuation, IsNotNearerBecauseAnotherCurveCountsTokens) {
  const auto part = [](const std::string& path, std::int64_t first, std::int64_t last) {
    return Log(path)
        .Points("loss", Axis::kStep, first, last, 1, 10)
        .Points("eval_loss", Axis::kTokens, first * 1'000'000, last * 1'000'000, 1, 10'000'000);
  };
  EXPECT_THAT(Joined(part("r/first.log", 10, 300), part("r/second.log", 5000, 5300)), SizeIs(2));
  EXPECT_THAT(Joined(part("r/first.log", 10, 300), part("r/second.log", 310, 600)), SizeIs(1));
}

TEST(Continuation, NeedsACurveThatBothHaveOnOneAxis) {
  const Part steps = Log("r/first.log").Points("loss", Axis::kStep, 10, 300, 1, 10);
  const Part epochs =
      Log("r/second.log").Points("loss", Axis::kEpoch, 1, 30, 2).Points("reward", Axis::kStep, 310, 600, 1, 10);
  EXPECT_THAT(Joined(steps, epochs), SizeIs(2));
}

// ---- rows

TEST(Rows, ThatMatchACurveOfEpochsArePlacedInEpochs) {
  std::vector<double> values;
  for (std::int64_t epoch = 1; epoch <= 30; ++epoch) values.push_back(ValueAt(epoch, 1));
  const auto runs =
      Joined(Part("out/metrics.csv", "csv").Points("loss", Axis::kEpoch, 1, 30), Log("out/run.log").Rows(values));
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].series, SizeIs(1));
  EXPECT_EQ(runs[0].series[0].axis, Axis::kEpoch);
  EXPECT_EQ(runs[0].series[0].size(), 30U);
}

}  // namespace
}  // namespace vigil::assemble
