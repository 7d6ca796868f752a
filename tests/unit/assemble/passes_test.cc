// The table of passes, and the reason that every joined source keeps.
#include "assemble/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "assemble/assemble.h"
#include "formats/formats.h"
#include "report/sentence.h"

namespace vigil::assemble {
namespace {

using ::testing::SizeIs;

model::Run Part(const std::string& path, const std::string& format, int steps) {
  ingest::PartBuilder builder(path, format);
  const auto loss = builder.OpenSeries("loss");
  for (int step = 1; step <= steps; ++step) builder.Add(loss, step, 3.0 / step + 0.0001 * (step * 7919 % 101));
  return builder.Finish();
}

TEST(Passes, HaveNamesOfTheirOwnReasonsAndAPlaceThatIsExplained) {
  std::set<std::string_view> names;
  for (const Pass& pass : Passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(report::Sentence(pass.because()).empty()) << pass.name;
    EXPECT_FALSE(report::Sentence(pass.why_here()).empty()) << pass.name;
    const bool in_groups = pass.key != nullptr && pass.join_group != nullptr && pass.join_all == nullptr;
    const bool all = pass.key == nullptr && pass.join_group == nullptr && pass.join_all != nullptr;
    EXPECT_NE(in_groups, all) << pass.name;
  }
}

TEST(JoinReason, IsKeptWithTheSourceAndSaysHowManyValuesAgreed) {
  const auto runs = JoinParts(
      {Part("out/checkpoint-60/trainer_state.json", "trainer-state", 60),
       Part("out/checkpoint-57/trainer_state.json", "trainer-state", 57), Part("out/metrics.jsonl", "jsonl", 60)},
      formats::Formats());
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].sources, SizeIs(3));
  EXPECT_EQ(runs[0].sources[0].joined.pass, "") << "the others are joined to it";
  EXPECT_EQ(runs[0].sources[1].joined.pass, "checkpoint-states");
  EXPECT_EQ(runs[0].sources[1].joined.agreeing, 57U);
  EXPECT_EQ(runs[0].sources[1].joined.common, 57U);
  EXPECT_EQ(runs[0].sources[2].joined.pass, "run-directory");
  EXPECT_EQ(runs[0].sources[2].joined.agreeing, 60U);
}

TEST(JoinReason, OfFilesWithoutMetricsIsTheRunNearby) {
  ingest::PartBuilder settings("out/config.json", "config-json");
  settings.AddFact("learning_rate", "0.1");
  const auto runs = JoinParts({Part("out/metrics.jsonl", "jsonl", 60), settings.Finish()}, formats::Formats());
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].sources, SizeIs(2));
  EXPECT_EQ(runs[0].sources[1].joined.pass, "attach");
  EXPECT_EQ(runs[0].sources[1].joined.common, 0U);
}

}  // namespace
}  // namespace vigil::assemble
