// The live engine: whatever way a run grows, its findings are those of the finished run at the same place.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "pipeline/pipeline.h"
#include "report/sentence.h"
#include "runs.h"
#include "support/paths.h"

namespace vigil::detect {
namespace {

using testing::RunMaker;

void AddText(const model::Finding& finding, std::string& all) {
  all += fmt::format("{} [{}] {} {} {}-{}: {}{}\n", finding.id, Name(finding.severity), finding.signal, finding.labels,
                     finding.first.value(), finding.last.value(), Name(finding.first.axis()),
                     report::Sentence(finding.says));
  for (const model::Evidence& evidence : finding.evidence)
    all += fmt::format("  {} {}:{} {}{}\n", evidence.at.value(), evidence.path, evidence.line, Name(evidence.at.axis()),
                       report::Sentence(evidence.says));
  for (const model::Measure& measure : finding.measures) all += fmt::format("  {} = {}\n", measure.name, measure.value);
}

// All that a finding says, so that a difference is seen.
std::string TextOf(const std::vector<model::Finding>& findings) {
  std::string all;
  for (const model::Finding& finding : findings) AddText(finding, all);
  return all;
}

enum class Order { kByRows, kByChance, kSeriesAfterSeries };

// Gives a finished run bit by bit, as its files might.
class Growth {
 public:
  Growth(const model::Run& whole, Order order, std::uint32_t seed) : whole_(whole), order_(order), random_(seed) {
    now_ = whole;
    now_.events.clear();
    for (model::Series& series : now_.series) {
      series.ClearPoints();
    }
  }

  const model::Run& now() const { return now_; }
  bool done() const { return now_.events.size() == whole_.events.size() && Left() == 0; }

  void Grow(std::size_t points) {
    if (now_.events.size() < whole_.events.size() && Chance(3))
      now_.events.push_back(whole_.events[now_.events.size()]);
    while (points-- > 0 && Left() > 0) Append(Pick());
    if (Left() == 0) now_.events = whole_.events;
  }

 private:
  bool Chance(unsigned of) { return random_() % of == 0; }
  std::size_t Left() const {
    std::size_t left = 0;
    for (std::size_t i = 0; i < whole_.series.size(); ++i) left += whole_.series[i].size() - now_.series[i].size();
    return left;
  }
  std::size_t Pick() {
    std::size_t best = whole_.series.size();
    for (std::size_t i = 0; i < whole_.series.size(); ++i) {
      if (now_.series[i].size() == whole_.series[i].size()) continue;
      if (order_ == Order::kSeriesAfterSeries) return i;
      if (order_ == Order::kByChance && Chance(3)) return i;
      // The share of a series that is there stands for the time at which its next point came.
      const auto share = [&](std::size_t of) {
        return static_cast<double>(now_.series[of].size()) / static_cast<double>(whole_.series[of].size());
      };
      if (best == whole_.series.size() || share(i) < share(best)) best = i;
    }
    return best;
  }
  void Append(std::size_t at) {
    const model::Series& from = whole_.series[at];
    const std::size_t i = now_.series[at].size();
    now_.series[at].Append(from.steps[i], from.values[i], from.times.empty() ? model::kNoValue : from.times[i],
                           from.lines.empty() ? 0 : from.lines[i]);
  }

  const model::Run& whole_;
  Order order_;
  std::mt19937 random_;
  model::Run now_;
};

// Follows the run as it grows, and compares at every look. Returns how often a detector was fed again.
std::uint64_t ExpectTheSame(const model::Run& whole, Order order, std::uint32_t seed, int looks) {
  const catalogue::Thresholds thresholds;
  Growth growth(whole, order, seed);
  Engine engine(thresholds);
  std::size_t points = 0;
  for (const model::Series& series : whole.series) points += series.size();
  std::mt19937 random(seed);
  while (!growth.done()) {
    growth.Grow(1 + random() % (2 * points / static_cast<std::size_t>(looks) + 1));
    const std::string live = TextOf(engine.Findings(growth.now()));
    const std::string finished = TextOf(Detect(growth.now(), thresholds, false));
    EXPECT_EQ(live, finished) << "order " << static_cast<int>(order) << ", seed " << seed;
    if (live != finished) break;
  }
  EXPECT_EQ(TextOf(engine.Findings(whole, true)), TextOf(Detect(whole, thresholds))) << "another object";
  return engine.replays();
}

void ExpectTheSameInAllOrders(const model::Run& whole, std::uint32_t seed, int looks = 12) {
  for (const Order order : {Order::kByRows, Order::kByChance, Order::kSeriesAfterSeries})
    ExpectTheSame(whole, order, seed, looks);
}

// A run with companions of other intervals, a NaN, a spike, and steps that go back.
model::Run Troubled(std::uint32_t seed) {
  RunMaker maker(seed);
  std::mt19937 random(seed);
  const int spike = 100 + static_cast<int>(random() % 200);
  const int bad = 300 + static_cast<int>(random() % 100);
  const auto falling = maker.Falling(8, 2, 0.03);
  maker.Method(seed % 3 == 0 ? "pretrain" : "other").Planned(1000);
  maker.Series("loss", 400, [&](int step) {
    if (step >= bad && step < bad + 5) return std::nan("");
    return falling(step) * (step == spike ? 4 : 1);
  });
  if (seed % 2 == 0) maker.Again(250, 500, falling);
  if (seed % 5 == 0) maker.Again(500, 600, falling);
  maker.Series("grad_norm", 400, [&](int step) { return step == bad ? std::nan("") : std::exp(maker.Gauss(0.2)); });
  if (seed % 4 == 0) maker.Again(250, 520, maker.Level(1, 0.2));
  maker.Series("lr", seed % 7 == 0 ? 200 : 500, [](int step) { return step < 20 ? 1e-5 * step : 2e-4; });
  maker.Series(
      "eval_loss", 500, [](int step) { return step < 250 ? 3 - 0.004 * step : 2 + 0.003 * (step - 250); }, 25, 25);
  if (seed % 3 == 1) maker.Series("entropy", 400, maker.Level(0.05, 0.1));
  maker.Series("step_time_s", 400, [&](int step) { return (step > 200 ? 2.0 : 1.0) * std::exp(maker.Gauss(0.05)); });
  maker.Series("tokens_per_s", 400, maker.Level(1000, 0.02), 10, 10);
  if (seed % 2 == 1) maker.Resumed(200);
  return maker.run();
}

TEST(Engine, FindsTheSameAtEveryLook) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) ExpectTheSameInAllOrders(Troubled(seed), seed);
}

TEST(Engine, FindsTheSameWhereEveryStepIsWrittenTwice) {
  RunMaker maker(3);
  const auto falling = maker.Falling(8, 2, 0.03);
  maker.Series("loss", 1, falling);
  for (int step = 2; step <= 200; ++step) maker.Again(step, step, falling).Again(step, step, falling);
  maker.Series("eval_loss", 200, maker.Level(2, 0.01), 20, 20);
  ExpectTheSameInAllOrders(maker.run(), 3, 30);
}

TEST(Engine, FindsTheSameInRunsOfRealTrainers) {
  namespace fs = std::filesystem;
  int count = 0;
  for (const auto& trainer : fs::directory_iterator(fs::path(testing_support::kSourceDir) / "tests/fixtures/runs")) {
    std::vector<std::string> folders;
    for (const auto& folder : fs::directory_iterator(trainer)) folders.push_back(folder.path().string());
    std::sort(folders.begin(), folders.end());
    for (std::size_t i = 0; i < folders.size(); i += 6, ++count) {
      for (const model::Run& run : pipeline::ImportPaths({folders[i]}).runs) {
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, folders[i]);
        ExpectTheSameInAllOrders(run, 7, 6);
      }
    }
  }
  EXPECT_GT(count, 10);
}

// A training loss by steps, an evaluation by epochs of 100 steps.
model::Run ByEpochs() {
  RunMaker maker(1);
  maker.Series("loss", 1000, [](int step) { return 1 + 3.0 / step; });
  maker.Series("eval_loss", 10, [](int epoch) { return epoch < 5 ? 3.0 - 0.3 * epoch : 1.0 + 0.3 * epoch; });
  model::Run run = maker.run();
  run.series[1].axis = model::Axis::kEpoch;
  return run;
}

TEST(Engine, ACompanionOnAnotherAxisIsLeftOutWhereNothingLeadsThere) {
  const model::Run run = ByEpochs();
  const auto findings = Detect(run, {});
  const auto* overfit = testing::Get(findings, "loss/overfit");
  ASSERT_NE(overfit, nullptr);
  EXPECT_EQ(overfit->first.axis(), model::Axis::kEpoch);
  EXPECT_EQ(overfit->MeasureOr("train_known", -1), 0) << "step 5 is not epoch 5";
}

TEST(Engine, ACompanionOnAnotherAxisIsMapped) {
  model::Run run = ByEpochs();
  run.axes.Learn(model::Axis::kEpoch, model::Axis::kStep, {{1, 100}, {10, 1000}});
  const auto findings = Detect(run, {});
  const auto* overfit = testing::Get(findings, "loss/overfit");
  ASSERT_NE(overfit, nullptr);
  EXPECT_EQ(overfit->MeasureOr("train_known", -1), 1);
  ExpectTheSameInAllOrders(run, 1);
}

TEST(Engine, FeedsNothingTwiceWhereRowsAreAppended) {
  RunMaker maker(1);
  maker.Series("loss", 2000, maker.Falling(8, 2, 0.03));
  maker.Series("grad_norm", 2000, maker.Level(1, 0.2));
  maker.Series("eval_loss", 2000, maker.Level(2, 0.01), 100, 100);
  const model::Run& whole = maker.run();
  Growth growth(whole, Order::kByRows, 1);
  Engine engine{catalogue::Thresholds()};
  growth.Grow(1000);
  engine.Findings(growth.now());
  while (!growth.done()) {
    growth.Grow(100);
    engine.Findings(growth.now());
  }
  EXPECT_EQ(engine.replays(), 0U);
}

TEST(Engine, FeedsNothingAgainWhenACompanionAppearsBehindWhatWasFed) {
  RunMaker maker(3);
  maker.Series("loss", 2000, maker.Falling(8, 2, 0.03));
  model::Run run = maker.run();
  const catalogue::Thresholds thresholds;
  Engine engine(thresholds);
  engine.Findings(run);
  model::Series evaluation;
  evaluation.signal = evaluation.raw = "eval_loss";
  run.series.push_back(evaluation);
  for (std::int64_t step = run.series[0].steps.back() + 1; step < 2100; ++step) {
    run.series[1].Append(step, 2.5);
    run.series[0].Append(step, step == 2090 ? std::nan("") : 2.25);
    EXPECT_EQ(TextOf(engine.Findings(run)), TextOf(Detect(run, thresholds, false))) << step;
  }
  EXPECT_EQ(engine.replays(), 0U);
}

TEST(Engine, FeedsAgainWhenACompanionComesFarTooLate) {
  RunMaker maker(1);
  maker.Series("loss", 2000, maker.Falling(8, 2, 0.03));
  maker.Series("grad_norm", 2000, maker.Level(1, 0.2));
  EXPECT_GT(ExpectTheSame(maker.run(), Order::kSeriesAfterSeries, 1, 20), 0U);
}

TEST(Engine, FeedsAgainWhenTheTrainingMethodBecomesKnown) {
  RunMaker maker(1);
  maker.Series("entropy", 400, [](int step) { return step < 100 ? 1.0 : 1e-4; });
  model::Run run = maker.run();
  Engine engine{catalogue::Thresholds()};
  EXPECT_EQ(TextOf(engine.Findings(run)), "");
  run.method = {"grpo", 0.9};
  EXPECT_NE(TextOf(engine.Findings(run)), "");
  EXPECT_GT(engine.replays(), 0U);
}

TEST(Engine, FeedsAgainWhenColumnsWereThinned) {
  RunMaker maker(1);
  maker.Series("loss", 2000, maker.Falling(8, 2, 0.03));
  model::Run run = maker.run();
  const catalogue::Thresholds thresholds;
  Engine engine(thresholds);
  engine.Findings(run);
  model::Series thin;
  for (std::size_t i = 0; i < run.series[0].size(); i += 2)
    thin.Append(run.series[0].steps[i], run.series[0].values[i]);
  run.series[0].steps = thin.steps;
  run.series[0].values = thin.values;
  EXPECT_EQ(TextOf(engine.Findings(run)), TextOf(Detect(run, thresholds, false)));
  EXPECT_GT(engine.replays(), 0U);
}

}  // namespace
}  // namespace vigil::detect
