// Joining among many runs finds what comparing each with each finds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <random>

#include "assemble/assemble.h"
#include "assemble/candidates.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support/scratch.h"

namespace vigil::assemble {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

model::Run Part(const std::string& path, const std::string& format, int seed, int every, int digits) {
  model::Run part;
  part.sources.push_back({path, format, model::SourceState::kRead, {}});
  model::Series series;
  series.signal = series.raw = "loss";
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> noise(0, 0.05);
  for (int step = 1; step <= 200; ++step) {
    const double value = 3.0 / (1 + 0.05 * step) + noise(random);
    if (step % every == 0) series.Append(step, std::round(value * std::pow(10, digits)) / std::pow(10, digits));
  }
  part.series.push_back(std::move(series));
  return part;
}

TEST(CandidateIndex, FindsTheRoundedAndSparserTwinAmongMany) {
  CandidateIndex index(1'000'000, 1e-3);
  for (int i = 0; i < 2000; ++i)
    index.Add(static_cast<std::uint32_t>(i), DistinctiveCurves(Part("a", "jsonl", i, 1, 8)));
  for (const int wanted : {0, 17, 1999}) {
    const auto found = index.Find(DistinctiveCurves(Part("b", "log-text", wanted, 10, 3)));
    EXPECT_THAT(found, Contains(static_cast<std::uint32_t>(wanted)));
    EXPECT_LT(found.size(), 100U);
  }
}

// A tracker that writes a file for each metric, in a folder of one run.
std::vector<model::Run> OneMetricEach(int count, const std::string& format) {
  std::vector<model::Run> parts;
  for (int i = 0; i < count; ++i) {
    model::Run part = Part(fmt::format("run/{}/metrics/m{}", std::string(32, 'a'), i), format, i, 20, 8);
    part.series.front().signal = part.series.front().raw = fmt::format("m{}", i);
    part.facts.push_back({fmt::format("k{}", i), "1", fmt::format("k{}", i), {}});
    parts.push_back(std::move(part));
  }
  return parts;
}

double JoinSeconds(std::vector<model::Run> parts, std::size_t series) {
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  const std::vector<model::Run> runs = JoinParts(std::move(parts), formats::Formats());
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  EXPECT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs.front().series.size(), series);
  return static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
}

TEST(JoinParts, CostsWhatThePartsCostAndNotTheirSquare) {
  for (const char* format : {"mlflow-files", "csv"}) {
    const double few = JoinSeconds(OneMetricEach(500, format), 500);
    const double many = JoinSeconds(OneMetricEach(4000, format), 4000);
    EXPECT_LT(many, 30 * few) << format << ": eight times as many; the square would be 64 times";
  }
}

TEST(JoinParts, JoinsEachOfManyRunsWithItsLogKeptElsewhere) {
  std::vector<model::Run> parts;
  constexpr int kRuns = 800;
  for (int i = 0; i < kRuns; ++i) parts.push_back(Part(fmt::format("runs/r{}/metrics.jsonl", i), "jsonl", i, 1, 8));
  for (int i = 0; i < kRuns; ++i) parts.push_back(Part(fmt::format("slurm/{}/out.log", i), "log-text", i, 10, 4));
  const auto runs = JoinParts(std::move(parts), formats::Formats());
  EXPECT_THAT(runs, SizeIs(kRuns));
  for (const model::Run& run : runs) EXPECT_EQ(run.sources.size(), 2U) << run.name;
}

TEST(JoinParts, KeepsManyRunsInOneFolderApartAndTheirCopiesTogether) {
  std::vector<model::Run> parts;
  for (int i = 0; i < 500; ++i) parts.push_back(Part(fmt::format("logs/run-{}.log", i), "log-text", i, 10, 4));
  for (int i = 0; i < 500; i += 50) parts.push_back(Part(fmt::format("logs/copy-{}.jsonl", i), "jsonl", i, 10, 8));
  EXPECT_THAT(JoinParts(std::move(parts), formats::Formats()), SizeIs(500));
}

TEST(JoinParts, AttachesSettingsToTheOneRunThatTheyCanBelongTo) {
  std::vector<model::Run> parts;
  for (int i = 0; i < 400; ++i) {
    parts.push_back(Part(fmt::format("runs/r{}/metrics.jsonl", i), "jsonl", i, 10, 8));
    model::Run settings;
    settings.sources.push_back(
        {fmt::format("runs/r{}/deep/config.json", i), "config-json", model::SourceState::kRead, {}});
    settings.facts.push_back({"lr", fmt::format("{}", i), "lr", {}});
    parts.push_back(std::move(settings));
  }
  model::Run common;
  common.sources.push_back({"runs/defaults.json", "config-json", model::SourceState::kRead, {}});
  common.facts.push_back({"warmup_steps", "5", "warmup_steps", {}});
  parts.push_back(std::move(common));
  const auto runs = JoinParts(std::move(parts), formats::Formats());
  ASSERT_THAT(runs, SizeIs(400));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].FactNumber("lr"), static_cast<double>(i));
    EXPECT_EQ(runs[i].FindFact("warmup_steps"), nullptr) << "whose it is cannot be known";
  }
}

TEST(JoinParts, TakesTheFoldersOfALauncherAsRanks) {
  std::vector<model::Run> parts;
  for (const int rank : {0, 1}) {
    model::Run part = Part(fmt::format("logs/none_x/attempt_0/{}/stdout.log", rank), "log-text", 5, 10, 4);
    parts.push_back(std::move(part));
  }
  const auto runs = JoinParts(std::move(parts), formats::Formats());
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].ranks, 2);
  EXPECT_THAT(runs[0].series, SizeIs(1)) << "what both ranks print is one series";
}

class ManyPaths : public ScratchTest {};

TEST_F(ManyPaths, OneThatHoldsNothingIsNamedBesideOneThatDoes) {
  Write("run/metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n");
  Write("weights/model.safetensors", "....");
  Write("notes/list", "shopping list");
  const pipeline::Imported imported =
      pipeline::ImportPaths({Folder() + "/run", Folder() + "/weights", Folder() + "/notes"});
  ASSERT_THAT(imported.unread, SizeIs(2));
  EXPECT_THAT(imported.unread[0].path, HasSubstr("weights"));
  EXPECT_THAT(imported.unread[0].reason, HasSubstr("nothing that vigil can read"));
}

TEST_F(ManyPaths, AFolderGivenTwiceOrInsideAnotherIsNotMissed) {
  const std::string file = Write("run/metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n");
  EXPECT_THAT(pipeline::ImportPaths({Folder() + "/run", file, Folder() + "/run/"}).unread, IsEmpty());
}

TEST_F(ManyPaths, LinksThatLeadNowhereOrInCirclesAreUnread) {
  Write("run/metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n");
  std::filesystem::create_symlink("absent.log", folder_ / "run/merged_away.log");
  std::filesystem::create_symlink("loop", folder_ / "run/loop");
  std::filesystem::create_directory_symlink(folder_, folder_ / "run/up");
  const pipeline::Imported imported = pipeline::ImportPaths({Folder()});
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(imported.unread, SizeIs(2));
}

TEST_F(ManyPaths, WhatVigilWroteItselfIsNotARun) {
  Write("run/metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n");
  Write("run/events.out.tfevents.0000000001.run.vigil", "whatever");
  const pipeline::Imported imported = pipeline::ImportPaths({Folder()});
  EXPECT_THAT(imported.unread, IsEmpty());
  ASSERT_THAT(imported.ignored, SizeIs(1));
  EXPECT_EQ(imported.ignored[0].reason, "written by vigil");
}

}  // namespace
}  // namespace vigil::assemble
