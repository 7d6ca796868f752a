// Data that come again: after a restart, step after step, on several ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect {
namespace {

using testing::Describe;
using testing::Get;
using ::testing::HasSubstr;
using testing::RunMaker;
using testing::Words;

// Data of their own for every number of a batch.
std::uint64_t HashOf(int batch) { return 0x9E3779B97F4A7C15U * static_cast<std::uint64_t>(batch + 1); }

// Steps first..last read the batches from `batch` on.
void Read(RunMaker& maker, int first, int last, int batch, std::int32_t rank = 0) {
  for (int step = first; step <= last; ++step) maker.Batch(step, HashOf(batch + step - first), rank);
}

TEST(DataRestart, IsSeenWhereTheDataBeginAgainAtARestart) {
  RunMaker maker;
  maker.Resumed(60);
  Read(maker, 1, 60, 0);
  Read(maker, 61, 100, 0);
  const auto findings = maker.Find();
  const auto* found = Get(findings, "resume/data-restart");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->first.value(), 61);
  EXPECT_EQ(found->severity, model::Severity::kError);
  EXPECT_THAT(Words(*found), HasSubstr("steps 61-100 had the batches of steps 1-40, from the first on"));
}

TEST(DataRestart, IsSeenWhereStepsWereLostToo) {
  RunMaker maker;
  maker.Series("loss", 60, [](int) { return 2.0; }).Again(51, 80, [](int) { return 2.0; });
  Read(maker, 1, 60, 0);
  Read(maker, 51, 80, 0);
  const auto findings = maker.Find();
  const auto* found = Get(findings, "resume/data-restart");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->first.value(), 51);
}

TEST(DataRestart, IsNotSeenWhereDataComeAgainForAReason) {
  const auto silent = [](RunMaker& maker, const std::string& why) {
    EXPECT_EQ(Get(maker.Find(), "resume/data-restart"), nullptr) << why;
  };
  RunMaker goes_on;
  goes_on.Resumed(60);
  Read(goes_on, 1, 100, 0);
  silent(goes_on, "the restart goes on in the data");
  RunMaker made_again;
  made_again.Series("loss", 60, [](int) { return 2.0; }).Again(51, 80, [](int) { return 2.0; });
  Read(made_again, 1, 60, 0);
  Read(made_again, 51, 80, 50);
  silent(made_again, "lost steps made again with the same data");
  RunMaker epochs;
  epochs.Resumed(60);
  Read(epochs, 1, 40, 0);
  Read(epochs, 41, 80, 0);
  Read(epochs, 81, 120, 0);
  silent(epochs, "epochs without shuffling, a restart within one");
  RunMaker at_an_end;
  at_an_end.Resumed(40).Series("epoch", 80, [](int step) { return (step - 1) / 40.0; });
  Read(at_an_end, 1, 40, 0);
  Read(at_an_end, 41, 80, 0);
  silent(at_an_end, "a restart where an epoch ends");
  RunMaker twice;
  twice.Resumed(60);
  Read(twice, 1, 100, 0);
  twice.Batch(61, HashOf(7)).Batch(62, HashOf(3));
  silent(twice, "samples drawn with replacement");
}

TEST(DataRepeated, IsOneBatchAtStepAfterStep) {
  RunMaker maker;
  Read(maker, 1, 20, 0);
  for (int step = 21; step <= 40; ++step) maker.Batch(step, HashOf(500));
  const auto findings = maker.Find();
  const auto* found = Get(findings, "data/repeated");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->first.value(), 21);
  EXPECT_EQ(found->last.value(), 40);
}

TEST(DataRepeated, IsTheSameBatchOnTwoRanks) {
  RunMaker maker;
  Read(maker, 1, 30, 0, 0);
  Read(maker, 1, 30, 1000, 1);
  Read(maker, 1, 30, 0, 2);
  const auto findings = maker.Find();
  const auto* found = Get(findings, "data/repeated");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_THAT(Words(*found), HasSubstr("ranks 0 and 2 had the same batch at 30 of 30 steps"));
  maker.Fact("tensor_parallel", "2");
  EXPECT_EQ(Get(maker.Find(), "data/repeated"), nullptr) << "ranks of one model read the same data on purpose";
}

TEST(DataRepeated, IsNotSaidOfRanksWithTheirOwnData) {
  RunMaker maker;
  Read(maker, 1, 30, 0, 0);
  Read(maker, 1, 30, 1000, 1);
  EXPECT_EQ(Get(maker.Find(), "data/repeated"), nullptr);
}

}  // namespace
}  // namespace vigil::detect
