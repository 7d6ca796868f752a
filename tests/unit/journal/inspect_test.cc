// Journals that are checked and repaired: what is whole in a damaged one is in the repaired one, and is sound.
#include "journal/inspect.h"

#include <gmock/gmock.h>

#include "journal/mover.h"
#include "journal/ring.h"
#include "support.h"

namespace vigil::journal {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A journal of many blocks with a bit of everything; returns its path.
std::string WriteJournal(const std::string& folder) {
  Ring ring = Ring::Create({}).value();
  MoverOptions options;
  options.folder = folder;
  options.begin = SampleBegin();
  const auto mover = Mover::Create(ring, std::move(options)).value();
  EXPECT_TRUE(ring.ReserveLane(1));
  EXPECT_TRUE(ring.AddDefinition(EncodeEntry(SampleDefinition(0))));
  LaneWriter samples = ring.Writer(1);
  LaneWriter texts = ring.Writer(kTextLane);
  for (std::int64_t step = 0; step < 1000; ++step) {
    EXPECT_TRUE(samples.AddScalar(0, step, 1.0 / static_cast<double>(step + 1), 1'000'000));
    if (step % 100 != 99) continue;
    EXPECT_TRUE(samples.AddBatch(step, 7, 1'000'000));
    EXPECT_TRUE(texts.AddText(Section::kHyperparameters, EncodeEntry(Hyperparameter{1, "lr", "0.1"})));
    EXPECT_TRUE(mover->Move(true));
  }
  EXPECT_TRUE(texts.AddText(Section::kEnd, EncodeEntry(End{0, 2})));
  EXPECT_TRUE(mover->Move(true));
  return mover->path();
}

void Overwrite(const std::string& path, std::size_t at, std::string_view bytes) {
  std::string content = ReadAll(path);
  content.replace(at, bytes.size(), bytes);
  std::ofstream(path, std::ios::binary) << content;
}

TEST(Inspect, ASoundJournalIsCounted) {
  const TemporaryFolder folder;
  const auto survey = SurveyFile(WriteJournal(folder.path()));
  ASSERT_TRUE(survey) << survey.error().Text();
  EXPECT_TRUE(survey->is_sound());
  EXPECT_EQ(survey->samples, 1000U);
  EXPECT_EQ(survey->batches, 10U);
  EXPECT_EQ(survey->hyperparameters, 10U);
  EXPECT_EQ(survey->series, 1U);
  EXPECT_EQ(survey->begin.rank, SampleBegin().rank);
  ASSERT_TRUE(survey->end);
  EXPECT_EQ(survey->end->status, 0);
}

TEST(Inspect, ARepairedJournalIsSoundAndHoldsWhatWasWhole) {
  const TemporaryFolder folder;
  const std::string path = WriteJournal(folder.path());
  Overwrite(path, fs::file_size(path) / 2, "nothing that was written");
  const auto before = SurveyFile(path);
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->is_sound());
  EXPECT_THAT(before->damages, SizeIs(1));
  const std::string fixed = folder.path() + "/fixed.vigil";
  const auto repaired = Repair(path, fixed);
  ASSERT_TRUE(repaired) << repaired.error().Text();
  const auto after = SurveyFile(fixed);
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->is_sound());
  EXPECT_EQ(after->samples, before->samples);
  EXPECT_GE(after->samples, 800U);
  EXPECT_EQ(after->hyperparameters, before->hyperparameters);
  EXPECT_EQ(after->events, before->events + 1) << "what was damaged is noted";
  EXPECT_EQ(Decode(ReadAll(fixed)).size(), Decode(ReadAll(path)).size());
}

TEST(Inspect, EveryCutIsSurveyedAndRepaired) {
  const TemporaryFolder folder;
  const std::string whole = ReadAll(WriteJournal(folder.path()));
  for (std::size_t size = 16; size < whole.size(); size += 97) {
    const std::string cut = folder.path() + "/cut.vigil";
    const std::string fixed = folder.path() + "/fixed.vigil";
    std::ofstream(cut, std::ios::binary) << whole.substr(0, size);
    const auto before = SurveyFile(cut);
    if (!before) {
      EXPECT_LT(size, 500U) << "the first block is not whole";
      continue;
    }
    const auto repaired = Repair(cut, fixed);
    ASSERT_TRUE(repaired) << size;
    const auto after = SurveyFile(fixed);
    ASSERT_TRUE(after) << size;
    EXPECT_TRUE(after->is_sound());
    EXPECT_EQ(after->samples, before->samples);
    fs::remove(fixed);
  }
}

TEST(Inspect, WhatExistsIsNotOverwritten) {
  const TemporaryFolder folder;
  const std::string path = WriteJournal(folder.path());
  const std::string before = ReadAll(path);
  const auto repaired = Repair(path, path);
  ASSERT_FALSE(repaired);
  EXPECT_THAT(repaired.error().Text(), HasSubstr("exists already"));
  EXPECT_EQ(ReadAll(path), before);
}

TEST(Inspect, WhatIsNoJournalIsRefusedAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  std::ofstream(path) << "step 1 loss 2\n";
  EXPECT_FALSE(SurveyFile(path));
  EXPECT_FALSE(Repair(path, folder.path() + "/b"));
  EXPECT_FALSE(fs::exists(folder.path() + "/b"));
}

}  // namespace
}  // namespace vigil::journal
