#include "formats/csv/csv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "report/report.h"

namespace vigil::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ingest::Format kCsv = {"csv", "table of metrics", RecogniseCsv, OpenCsv};

model::Run Read(std::string_view text, const std::string& path = "metrics.csv", std::size_t piece = 0) {
  auto part = ingest::ReadBytes(path, text, kCsv, piece);
  EXPECT_TRUE(part) << part.error().Text();
  return part ? std::move(*part) : model::Run();
}

int Sureness(std::string_view text, std::string_view path = "some.csv") {
  return RecogniseCsv({path, text, text.size()});
}

const model::Series& Named(const model::Run& run, std::string_view raw) {
  for (const model::Series& series : run.series) {
    if (series.raw == raw) return series;
  }
  static const model::Series none;
  ADD_FAILURE() << "no series " << raw;
  return none;
}

std::vector<std::string> Names(const model::Run& run) {
  std::vector<std::string> names;
  for (const model::Series& series : run.series) names.push_back(series.raw);
  return names;
}

// ---- the common shape

TEST(Csv, ReadsColumnsAgainstTheStepWithTheirLines) {
  const auto run = Read("step,train/loss,lr\n10,2.5,1e-4\n20,2.25,5e-05\n");
  const model::Series& loss = Named(run, "train/loss");
  EXPECT_EQ(loss.signal, "loss");
  EXPECT_EQ(loss.axis, model::Axis::kStep);
  EXPECT_THAT(loss.steps, ElementsAre(10, 20));
  EXPECT_THAT(loss.values, ElementsAre(2.5, 2.25));
  EXPECT_THAT(loss.lines, ElementsAre(2, 3));
  EXPECT_THAT(Named(run, "lr").values, ElementsAre(1e-4, 5e-5));
  EXPECT_EQ(run.sources[0].state, model::SourceState::kRead);
  EXPECT_EQ(report::NoteText(run.sources[0]), "");
}

TEST(Csv, TakesEmptyCellsAsMissingAndNonFiniteWordsAsValues) {
  const auto run = Read("step,loss,val_loss\n1,nan,\n2,,3\n3,inf,\n4,-Infinity,None\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 3, 4));
  EXPECT_TRUE(std::isnan(Named(run, "loss").values[0]));
  EXPECT_EQ(Named(run, "loss").values[1], HUGE_VAL);
  EXPECT_EQ(Named(run, "loss").values[2], -HUGE_VAL);
  EXPECT_THAT(Named(run, "val_loss").steps, ElementsAre(2));
}

struct Spelling {
  const char* name;
  std::string text;
};
class CsvSpelling : public ::testing::TestWithParam<Spelling> {};

TEST_P(CsvSpelling, SaysTheSame) {
  const auto run = Read(GetParam().text);
  EXPECT_THAT(Names(run), ElementsAre("loss", "grad_norm"));
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2));
  EXPECT_THAT(Named(run, "loss").values, ElementsAre(2.5, 1.25));
  EXPECT_THAT(Named(run, "grad_norm").values, ElementsAre(1234.5, 0.5));
  EXPECT_EQ(report::NoteText(run.sources[0]), "");
}

INSTANTIATE_TEST_SUITE_P(
    Ways, CsvSpelling,
    ::testing::Values(
        Spelling{"commas", "step,loss,grad_norm\n1,2.5,1234.5\n2,1.25,0.5\n"},
        Spelling{"carriage_returns", "step,loss,grad_norm\r\n1,2.5,1234.5\r\n2,1.25,0.5\r\n"},
        Spelling{"no_last_line_feed", "step,loss,grad_norm\n1,2.5,1234.5\n2,1.25,0.5"},
        Spelling{"tabs", "step\tloss\tgrad_norm\n1\t2.5\t1234.5\n2\t1.25\t0.5\n"},
        Spelling{"semicolons", "step;loss;grad_norm\n1;2.5;1234.5\n2;1.25;0.5\n"},
        Spelling{"decimal_commas", "step;loss;grad_norm\n1;2,5;1234,5\n2;1,25;0,5\n"},
        Spelling{"spaces", "   step,   loss, grad_norm\n   1,  2.5 ,  1234.5\n   2,   1.25 , 0.5  \n"},
        Spelling{"quotes", "\"step\",\"loss\",\"grad_norm\"\n\"1\",\"2.5\",\"1,234.5\"\n2,\"1.25\",0.5\n"},
        Spelling{"byte_order_mark", "\xef\xbb\xbfstep,loss,grad_norm\n1,2.5,1234.5\n2,1.25,0.5\n"},
        Spelling{"comments", "# made by hand\nstep,loss,grad_norm\n# first\n1,2.5,1234.5\n\n2,1.25,0.5\n"},
        Spelling{"header_in_a_comment", "# step,loss,grad_norm\n1,2.5,1234.5\n2,1.25,0.5\n"},
        Spelling{"index_column", ",step,loss,grad_norm\n0,1,2.5,1234.5\n1,2,1.25,0.5\n"},
        Spelling{"text_column", "step,phase,loss,grad_norm\n1,train,2.5,1234.5\n2,train,1.25,0.5\n"},
        Spelling{"line_feed_in_quotes", "step,note,loss,grad_norm\n1,\"a\n\"\"b\"\", c\",2.5,1234.5\n2,,1.25,0.5\n"},
        Spelling{"float_steps", "loss,iteration,grad_norm\n2.5,1.0,1234.5\n1.25,2.0,0.5\n"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Csv, ReadsSparseRows) {
  const auto run = Read("epoch,lr-AdamW,step,train_loss,val_loss\n,0.001,9,,\n0,,9,2.5,\n0,,19,,2.75\n1,,29,2,\n");
  EXPECT_THAT(Named(run, "train_loss").steps, ElementsAre(9, 29));
  EXPECT_THAT(Named(run, "val_loss").steps, ElementsAre(19));
  EXPECT_THAT(Named(run, "lr-AdamW").steps, ElementsAre(9));
  EXPECT_THAT(Named(run, "epoch").values, ElementsAre(0, 0, 1));
}

// ---- what is counted against

TEST(Csv, PrefersTheBetterOfTwoCounters) {
  const auto run = Read("_step,iter,loss,_runtime\n0,0,3,1\n1,10,2,2\n2,20,1,3\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(0, 10, 20));
  EXPECT_THAT(Names(run), ElementsAre("loss"));
}

TEST(Csv, CountsAgainstEpochsWhereThereIsNoStep) {
  const auto run = Read("epoch, train/box_loss, lr/pg1\n0, 3.5, 0.1\n1, 3.25, 0.2\n");
  EXPECT_EQ(Named(run, "train/box_loss").axis, model::Axis::kEpoch);
  EXPECT_THAT(Named(run, "train/box_loss").steps, ElementsAre(0, 1));
}

TEST(Csv, CountsRowsWhereNothingElseCounts) {
  const auto plain = Read("val_loss,loss\n3,2.5\n2.75,2.25\n");
  EXPECT_EQ(Named(plain, "loss").axis, model::Axis::kRow);
  EXPECT_THAT(Named(plain, "loss").steps, ElementsAre(0, 1));
  const auto batches = Read("epoch,loss\n0,3\n0,2\n0,1\n1,1\n1,1\n");
  EXPECT_EQ(Named(batches, "loss").axis, model::Axis::kRow);
  EXPECT_THAT(Named(batches, "loss").segment_starts, ElementsAre(0));
  const auto fractions = Read("epoch,loss\n0.25,3\n0.5,2\n");
  EXPECT_EQ(Named(fractions, "loss").axis, model::Axis::kRow);
}

TEST(Csv, CountsOnWhenStepsBeginAgainWithEachEpoch) {
  const auto run = Read("epoch,step,loss\n0,0,5\n0,50,4\n1,0,3\n1,50,2\n2,0,1\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(0, 50, 51, 101, 102));
  EXPECT_THAT(Named(run, "loss").segment_starts, ElementsAre(0));
}

TEST(Csv, OpensASegmentWhenTheStepGoesBackInTheSameEpoch) {
  const auto run = Read("epoch,step,loss\n0,1,5\n0,2,4\n0,3,3\n0,2,4\n0,3,3\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2, 3, 2, 3));
  EXPECT_THAT(Named(run, "loss").segment_starts, ElementsAre(0, 3));
}

TEST(Csv, OpensASegmentAtARepeatedHeader) {
  const auto run = Read("step,loss\n1,5\n2,4\nstep,loss\n3,3\n4,2\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Named(run, "loss").segment_starts, ElementsAre(0, 2));
  const auto back = Read("step,loss\n1,5\n2,4\nstep,loss\n2,3\n3,2\n");
  EXPECT_THAT(Named(back, "loss").segment_starts, ElementsAre(0, 2));
}

TEST(Csv, FollowsAHeaderThatChanges) {
  const auto run = Read("step,loss\n1,5\nstep,grad_norm,loss\n2,0.5,4\n");
  EXPECT_THAT(Named(run, "loss").values, ElementsAre(5, 4));
  EXPECT_THAT(Named(run, "grad_norm").steps, ElementsAre(2));
}

TEST(Csv, GivesRowsWithoutAStepTheOneBeforeThem) {
  const auto run = Read("iter,loss,val_loss\n10,3,\n,,2.5\n20,2,\n,9,\n");
  EXPECT_THAT(Named(run, "val_loss").steps, ElementsAre(10));
  EXPECT_THAT(Named(run, "loss").values, ElementsAre(3, 2)) << "a second value at a step is no restart";
}

TEST(Csv, TakesARepeatedValueOnce) {
  const auto run = Read("epoch,step,train_loss,val_loss\n0,49,2.5,\n0,49,,2.75\n1,99,2.25,\n1,99,,2.5\n");
  EXPECT_THAT(Named(run, "epoch").steps, ElementsAre(49, 99));
  EXPECT_THAT(Named(run, "epoch").segment_starts, ElementsAre(0));
  EXPECT_THAT(Named(run, "val_loss").steps, ElementsAre(49, 99));
}

TEST(Csv, TakesTimesWhereTheyAreUnixTimes) {
  const auto run = Read("Wall time,Step,loss\n1700000000.5,1,2\n1700000001,2,1\n");
  EXPECT_THAT(Named(run, "loss").times, ElementsAre(1700000000.5, 1700000001));
  const auto elapsed = Read("step,time,loss\n1,0.5,2\n2,0.75,1\n");
  EXPECT_THAT(Named(elapsed, "time").values, ElementsAre(0.5, 0.75));
  EXPECT_THAT(Named(elapsed, "loss").times, IsEmpty());
}

// ---- shapes of their own

TEST(Csv, ReadsALongTable) {
  const auto run = Read("step,metric,value\n1,loss,3\n1,lr,0.1\n2,loss,2\n2,lr,0.05\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2));
  EXPECT_THAT(Named(run, "loss").values, ElementsAre(3, 2));
  EXPECT_THAT(Named(run, "lr").values, ElementsAre(0.1, 0.05));
  const auto counted = Read("tag,value\nloss,3\nlr,0.1\nloss,2\n");
  EXPECT_THAT(Named(counted, "loss").steps, ElementsAre(0, 1));
  EXPECT_EQ(Named(counted, "loss").axis, model::Axis::kRow);
}

TEST(Csv, ReadsAMonitorOfEpisodes) {
  const auto run = Read("#{\"t_start\": 1600000000.25, \"env_id\": \"Ant-v3\"}\nr,l,t\n-13.5,11,1.25\n0.5,29,2.5\n",
                        "0.monitor.csv");
  const model::Series& reward = Named(run, "r");
  EXPECT_EQ(reward.signal, "reward");
  EXPECT_EQ(reward.axis, model::Axis::kRow);
  EXPECT_THAT(reward.values, ElementsAre(-13.5, 0.5));
  EXPECT_THAT(reward.times, ElementsAre(1600000001.5, 1600000002.75));
  EXPECT_EQ(Named(run, "l").signal, "episode_length");
  EXPECT_EQ(run.FindFact("env_id")->value, "Ant-v3");
  EXPECT_EQ(run.series.size(), 2);
}

TEST(Csv, NamesTensorboardsDownloadByItsFile) {
  const auto run = Read("Wall time,Step,Value\n1700000000.5,1,2\n1700000001,2,1\n", "a/run-x-tag-train_loss.csv");
  EXPECT_EQ(Named(run, "train_loss").signal, "loss");
  EXPECT_THAT(Named(run, "train_loss").values, ElementsAre(2, 1));
}

TEST(Csv, ReadsADownloadedChart) {
  const auto one = Read(
      "\"Step\",\"run-1 - train/loss\",\"run-1 - train/loss__MIN\",\"run-1 - train/loss__MAX\"\n"
      "\"1\",\"3\",\"3\",\"3\"\n\"2\",\"2\",\"2\",\"2\"\n");
  ASSERT_EQ(one.series.size(), 1);
  EXPECT_EQ(one.series[0].signal, "loss");
  EXPECT_THAT(one.series[0].labels, IsEmpty());
  const auto two = Read("Step,a - loss,b - loss\n1,3,4\n2,2,3\n");
  ASSERT_EQ(two.series.size(), 2);
  EXPECT_EQ(model::FindLabel(two.series[1].labels, "run"), "b");
  EXPECT_THAT(two.series[1].values, ElementsAre(4, 3));
}

TEST(Csv, KnowsThatDeepSpeedCountsSamples) {
  const auto run = Read("step,train_loss\n512,3\n1024,2\n", "logs/Train_Samples_train_loss.csv");
  EXPECT_EQ(run.series.at(0).axis, model::Axis::kSamples);
}

TEST(Csv, NamesColumnsWithoutAHeaderByTheFileOrByNumber) {
  const auto values = Read("2.5\n2.25\n2\n", "runs/train_loss.csv");
  EXPECT_EQ(Named(values, "train_loss").signal, "loss");
  EXPECT_THAT(values.series[0].steps, ElementsAre(0, 1, 2));
  const auto pairs = Read("10,2.5\n20,2.25\n30,2\n", "loss.csv");
  EXPECT_THAT(Named(pairs, "loss").steps, ElementsAre(10, 20, 30));
  const auto more = Read("10,2.5,1\n20,2.25,1\n", "log.csv");
  EXPECT_THAT(Names(more), ElementsAre("column 2", "column 3"));
}

TEST(Csv, FindsTheLossOfATableWithoutAHeader) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += fmt::format("{},{},0.0003,{}\n", 10 * i, 2 + 6.0 / (i + 1) + 0.01 * (i % 3), 0.5 * i);
  EXPECT_EQ(Sureness(text, "nh4.csv"), 30);
  const auto run = Read(text, "nh4.csv");
  const model::Series& loss = Named(run, "column 2");
  EXPECT_EQ(loss.signal, "loss");
  EXPECT_EQ(loss.steps.back(), 390);
  EXPECT_EQ(Named(run, "column 3").signal, "column 3");
  EXPECT_EQ(report::NoteText(run.sources[0]), "no header: column 2, which falls, is taken for the loss");
}

TEST(Csv, TakesNoOtherTableWithoutAHeaderForMetrics) {
  std::string rising;
  std::string falling_twice;
  std::string uneven;
  for (int i = 0; i < 40; ++i) {
    rising += fmt::format("{},{}\n", i, 0.1 + 0.01 * i);
    falling_twice += fmt::format("{},{},{}\n", i, 5 - 0.1 * i, 9 - 0.1 * i);
    uneven += fmt::format("{},{}\n", i * i, 5 - 0.1 * i);
  }
  EXPECT_EQ(Sureness(rising, "some.csv"), 0) << "an accuracy, or anything";
  EXPECT_EQ(Sureness(falling_twice, "some.csv"), 0);
  EXPECT_EQ(Sureness(uneven, "some.csv"), 0);
}

// ---- numbers that the writer could not spell

std::string TableWithGaps(int rows, int from, int until, std::string_view gap) {
  std::string text = "step,loss,lr\n";
  for (int i = 0; i < rows; ++i) {
    const bool missing = i >= from && i < until;
    text += fmt::format("{},{},0.1\n", i, missing ? std::string(gap) : std::to_string(2.5 + i % 3));
  }
  return text;
}

TEST(Csv, ACellWithoutItsNumberIsNanInAColumnThatHasOneInEveryRow) {
  for (const char* gap : {"", "NA", "None", "null", "N/A", "nan", "#NUM!", "-1.#IND", "1.#QNAN0"}) {
    const auto run = Read(TableWithGaps(40, 20, 25, gap));
    const model::Series& loss = Named(run, "loss");
    ASSERT_EQ(loss.size(), 40) << gap;
    EXPECT_EQ(loss.values[19], 3.5) << gap;
    for (std::size_t i = 20; i < 25; ++i) EXPECT_TRUE(std::isnan(loss.values[i])) << gap << " at " << i;
    EXPECT_EQ(loss.values[25], 3.5) << gap;
  }
  const auto infinite = Read(TableWithGaps(40, 20, 25, "-1.#INF"));
  EXPECT_EQ(Named(infinite, "loss").values[20], -HUGE_VAL);
}

TEST(Csv, TheLastCellOfAnUnterminatedRowMayBeCut) {
  const auto run = Read("step,loss\n1,3\n2,3\n3,3\n4,3\n5,3\n6,");
  EXPECT_EQ(Named(run, "loss").size(), 5);
}

TEST(Csv, ACellWithoutANumberIsNothingWhereRowsAreOfSeveralKinds) {
  std::string text = "epoch,step,lr,train_loss,val_loss\n";
  for (int i = 0; i < 200; ++i) {
    text += i % 50 == 49 ? fmt::format("{},{},,,2.5\n", i / 50, i) : fmt::format("{},{},0.1,2.5,\n", i / 50, i);
  }
  const auto run = Read(text);
  EXPECT_EQ(Named(run, "train_loss").size(), 196);
  EXPECT_EQ(Named(run, "val_loss").size(), 4);
  const auto words = Read(TableWithGaps(40, 20, 25, "warm-up"));
  EXPECT_EQ(Named(words, "loss").size(), 35);
}

TEST(Csv, ColumnsOfAnotherRunInTheSameTableAreNotNan) {
  std::string text = "step,loss,accuracy\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{},2.5,0.5\n", i);
  for (int i = 0; i < 20; ++i) text += fmt::format("{},2.5,\n", i);
  EXPECT_EQ(Named(Read(text), "accuracy").size(), 20);
}

TEST(Csv, ARowOfALongTableWithoutItsNumberIsNan) {
  std::string text = "step,metric,value\n";
  for (int i = 0; i < 20; ++i)
    text += fmt::format("{},loss,{}\n{},val_loss,{}\n", i, i < 15 ? "2" : "", i, i % 5 == 0 ? "3" : "");
  const auto run = Read(text);
  ASSERT_EQ(Named(run, "loss").size(), 20);
  EXPECT_TRUE(std::isnan(Named(run, "loss").values[15]));
  EXPECT_EQ(Named(run, "val_loss").size(), 4);
}

// ---- trouble

TEST(Csv, ReportsRowsWithTooFewOrTooManyCells) {
  const auto run = Read("step,loss,lr\n1,5\n2,4,0.1\n3,3,0.1,99\n4,2,0.1\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Named(run, "lr").steps, ElementsAre(2, 3, 4));
  EXPECT_EQ(report::NoteText(run.sources[0]), "line 2: 2 cells for 3 columns (and 1 more)");
}

TEST(Csv, ReportsLinesThatAreNoRows) {
  const auto run = Read("step,loss\n1,5\nTraceback (most recent call last):\n2,4\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2));
  EXPECT_EQ(run.sources[0].state, model::SourceState::kPartial);
  EXPECT_EQ(report::NoteText(run.sources[0]), "line 3: not a row of the table, skipped");
}

TEST(Csv, DoesNotBelieveACellThatMayBeCut) {
  const auto zero = Read("step,loss,lr\n1,5,0.0003\n2,4,0.0");
  EXPECT_THAT(Named(zero, "lr").steps, ElementsAre(1));
  EXPECT_THAT(Named(zero, "loss").steps, ElementsAre(1, 2));
  const auto exponent = Read("step,loss,lr\n1,5,9e-05\n2,4,8");
  EXPECT_THAT(Named(exponent, "lr").steps, ElementsAre(1));
  const auto row = Read("step,loss,lr\n1,5,9e-05\n2,4");
  EXPECT_THAT(Named(row, "loss").steps, ElementsAre(1)) << "the row is cut, so its last cell may be, too";
  EXPECT_EQ(row.sources[0].state, model::SourceState::kPartial);
  EXPECT_EQ(report::NoteText(row.sources[0]), "line 3: the last row is cut");
}

TEST(Csv, SkipsALineOfManyMegabytes) {
  const std::string text = "step,loss\n1,5\n" + std::string(5 << 20, '7') + "\n2,4\n";
  for (const std::size_t piece : {std::size_t{0}, std::size_t{1} << 19U, std::size_t{100'000}}) {
    const auto run = Read(text, "m.csv", piece);
    EXPECT_THAT(Named(run, "loss").values, ElementsAre(5, 4));
    EXPECT_EQ(report::NoteText(run.sources[0]), "line 3: longer than 1.0 MiB, skipped");
  }
  EXPECT_THAT(report::NoteText(Read("step,loss\n1,5\n" + std::string(5 << 20, '7')).sources[0]),
              HasSubstr("line 3: longer"));
}

TEST(Csv, PassesOverAQuoteThatNeverCloses) {
  std::string text = "step,loss\n1,5\n2,\"4\n";
  for (int i = 3; i < 200'000; ++i) text += std::to_string(i) + ",3.5\n";
  for (const std::size_t piece : {std::size_t{0}, std::size_t{1} << 19U}) {
    const auto run = Read(text, "m.csv", piece);
    EXPECT_EQ(Named(run, "loss").size(), 1 + 200'000 - 3);
    EXPECT_EQ(report::NoteText(run.sources[0]), "line 3: not a row of the table, skipped");
  }
}

TEST(Csv, ReadsANumberTooLargeAsInfinite) {
  const auto run = Read("step,loss\n1,1e999\n2,-1e999\n3,123456789012345678901234567890\n4,1e-999\n");
  EXPECT_THAT(Named(run, "loss").values, ElementsAre(HUGE_VAL, -HUGE_VAL, 123456789012345678901234567890.0, 0));
}

TEST(Csv, FailsOnAHeaderAlone) {
  const auto part = ingest::ReadBytes("m.csv", "step,loss\n", kCsv);
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error().Text(), HasSubstr("m.csv: table of metrics without any value"));
}

std::string EveryShape() {
  return "# hi\nstep,epoch,\"text, quoted\",loss,lr\n1,0,\"a\n\"\"b\"\"\",2.5,1e-4\n2,0,,nan,\n3,0,x\nbroken line\n"
         "step,epoch,\"text, "
         "quoted\",loss,lr\n3,0,y,2.25,9.99e-05\n0,1,z,inf,0.00009\n1,1,z,-3.5,0.00008,7\n2,1,,2.0,0.0";
}

TEST(Csv, GivesTheSamePartInPiecesOfAnySize) {
  const std::string text = EveryShape();
  const model::Run whole = Read(text);
  for (const std::size_t piece : std::vector<std::size_t>{1, 7, 13, 64}) {
    const model::Run pieces = Read(text, "metrics.csv", piece);
    ASSERT_EQ(Names(pieces), Names(whole));
    for (std::size_t i = 0; i < whole.series.size(); ++i) {
      EXPECT_EQ(pieces.series[i].steps, whole.series[i].steps);
      EXPECT_EQ(pieces.series[i].lines, whole.series[i].lines);
      EXPECT_EQ(pieces.series[i].segment_starts, whole.series[i].segment_starts);
    }
    EXPECT_EQ(report::NoteText(pieces.sources[0]), report::NoteText(whole.sources[0]));
  }
}

TEST(Csv, CutAtAnyByteGivesNoValueThatWasNotThere) {
  const std::string text = "step,loss,lr\n10,2.5,0.0003\n20,2.25,1.5e-04\n30,2.125,0.00012\n";
  const model::Run all = Read(text);
  for (std::size_t length = 1; length < text.size(); ++length) {
    const auto part = ingest::ReadBytes("m.csv", std::string_view(text).substr(0, length), kCsv);
    if (!part) continue;
    for (const model::Series& series : part->series) {
      const model::Series& sound = Named(all, series.raw);
      ASSERT_LE(series.size(), sound.size());
      for (std::size_t i = 0; i < series.size(); ++i) {
        EXPECT_EQ(series.steps[i], sound.steps[i]) << length;
        EXPECT_NEAR(series.values[i], sound.values[i], 0.5 * std::abs(sound.values[i])) << length;
      }
    }
  }
}

// ---- rows gathered in batches, against one point after the other

// A table of three metrics with gaps, restarts and, from a line on, a column that was empty before.
struct Expected {
  std::string text = "step,loss,lr,note,late\n";
  std::vector<model::Series> columns = std::vector<model::Series>(3);
};
Expected RandomTable(unsigned seed) {
  std::mt19937 random(seed);
  Expected table;
  std::int64_t step = 0;
  const auto gap_in = 2 + random() % 900;
  for (std::uint32_t line = 2; line < 1500; ++line) {
    step = random() % 400 == 0 ? step / 2 : step + 1 + static_cast<std::int64_t>(random() % 3);
    table.text += std::to_string(step);
    for (std::size_t i = 0; i < 3; ++i) {
      if (i == 2) table.text += ",words";
      table.text += ',';
      const bool missing = random() % gap_in == 0 || (i == 2 && line < 700);
      if (missing) {
        table.text += '?';
        continue;
      }
      const auto value = random() % 100000;
      table.text += std::to_string(value);
      table.columns[i].Append(step, static_cast<double>(value), model::kNoValue, line);
    }
    table.text += '\n';
  }
  return table;
}

TEST(Csv, GatheredRowsAreTheRowsOneByOne) {
  for (unsigned seed = 1; seed < 60; ++seed) {
    const Expected table = RandomTable(seed);
    const auto run = Read(table.text, "metrics.csv", seed % 3 == 0 ? 8192 : 0);
    const std::vector<std::string> names = {"loss", "lr", "late"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const model::Series& read = Named(run, names[i]);
      EXPECT_EQ(read.steps, table.columns[i].steps) << names[i] << ", seed " << seed;
      EXPECT_EQ(read.values, table.columns[i].values) << names[i] << ", seed " << seed;
      EXPECT_EQ(read.lines, table.columns[i].lines) << names[i] << ", seed " << seed;
      EXPECT_EQ(read.segment_starts, table.columns[i].segment_starts) << names[i] << ", seed " << seed;
    }
  }
}

// ---- recognition

TEST(RecogniseCsv, IsSureOfTablesOfMetrics) {
  EXPECT_GE(Sureness("step,train/loss\n1,2\n"), 80);
  EXPECT_GE(Sureness("#{\"t_start\": 1.0}\nr,l,t\n1,2,3\n"), 90);
  EXPECT_GE(Sureness("val_loss,loss\n1,2\n"), 50);
  EXPECT_GE(Sureness("step,metric,value\n1,a,2\n"), 50);
  EXPECT_GE(Sureness("iteration,foo\n1,2\n2,3\n"), 30);
  EXPECT_GE(Sureness("2.5\n2\n", "loss.csv"), 30);
}

TEST(RecogniseCsv, LeavesEverythingElseAlone) {
  EXPECT_EQ(Sureness(""), 0);
  EXPECT_EQ(Sureness(std::string(70'000, '\0')), 0);
  EXPECT_EQ(Sureness("id,text,label\n1,hello,0\n2,bye,1\n"), 0) << "a dataset";
  EXPECT_EQ(Sureness("model,lr,accuracy\nbert,0.1,0.5\ngpt,0.1,0.6\n"), 0) << "a table of experiments";
  EXPECT_EQ(Sureness("1.5,2.5\n3.5,4.5\n", "features.csv"), 0) << "numbers of any kind";
  EXPECT_EQ(Sureness("{\"loss\": 1, \"step\": 2}\n{\"loss\": 1, \"step\": 3}\n"), 0) << "JSON lines";
  EXPECT_EQ(Sureness("{'loss': '2.5', 'epoch': '0.1'}\n"), 0) << "a log of the Trainer";
  EXPECT_EQ(Sureness("step 1, loss 2.5\nstep 2, loss 2.25\n"), 0) << "a log with commas";
  EXPECT_EQ(Sureness("Loading model, loss follows\nstep: 1 loss: 2\nand, so, on\n"), 0);
  EXPECT_EQ(Sureness("import torch\n\nloss, step = 1, 2\n"), 0) << "source code";
}

// ---- cells that read nan

TEST(Csv, RowsOfAnotherFormThanTheirHeaderAreNoTable) {
  EXPECT_EQ(
      Sureness("# step, loss_train, loss_test\n0.0e+00 4.3e+01 3.0e-01 4.7e+01\n1.0e+02 1.0e+00 3.0e-01 9.1e-01\n",
               "loss.dat"),
      0);
}

TEST(NonFiniteValuesAreValues, ALossThatNeverWasANumberIsKept) {
  const auto run = Read("step,loss,acc\n1,nan,0.1\n2,nan,0.1\n3,nan,0.1\n4,nan,0.2\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2, 3, 4));
}

TEST(NonFiniteValuesAreValues, AFileOfOneMetricHasNoBlanks) {
  const auto run =
      Read("step,timestamp,value\n10,1794865945173,nan\n20,1794865945182,nan\n30,1794865945191,nan\n", "valid_mae.csv");
  EXPECT_THAT(Named(run, "valid_mae").steps, ElementsAre(10, 20, 30));
}

TEST(NonFiniteValuesAreValues, BlanksThatReadNanAreNone) {
  const auto run = Read(
      "step,loss,lr,val_loss\n1,2.5,0.1,nan\n2,2.4,0.1,nan\n2,nan,nan,2.6\n3,2.3,0.1,nan\n4,nan,0.1,nan\n"
      "4,nan,nan,2.5\n5,nan,0.1,nan\n");
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_TRUE(std::isnan(Named(run, "loss").values[3])) << "beside a learning rate it is a loss";
  EXPECT_THAT(Named(run, "val_loss").values, ElementsAre(2.6, 2.5));
}

TEST(NonFiniteValuesAreValues, RowsOfAnEvaluationHaveNoLoss) {
  const auto run = Read("step,loss,val_loss\n1,nan,3.5\n2,2.5,nan\n3,nan,3.25\n4,2.25,nan\n5,nan,3\n6,2,nan\n");
  EXPECT_THAT(Named(run, "loss").values, ElementsAre(2.5, 2.25, 2));
  EXPECT_THAT(Named(run, "val_loss").values, ElementsAre(3.5, 3.25, 3));
}

// As Lightning's CSVLogger writes: the learning rate in rows of its own, and cells without a value empty.
TEST(NonFiniteValuesAreValues, NanIsAValueWhereBlanksAreEmptyCells) {
  const auto run = Read(
      "epoch,grad_norm,lr,step,train_loss,val_loss\n,,0.003,9,,\n0,8.5,,9,4.5,\n,,0.003,19,,\n0,nan,,19,nan,\n"
      ",,0.003,29,,\n0,nan,,29,nan,\n0,,,30,,nan\n");
  EXPECT_THAT(Named(run, "train_loss").steps, ElementsAre(9, 19, 29));
  EXPECT_TRUE(std::isnan(Named(run, "train_loss").values[1]));
  EXPECT_THAT(Named(run, "grad_norm").steps, ElementsAre(9, 19, 29));
  EXPECT_THAT(Named(run, "val_loss").steps, ElementsAre(30));
  EXPECT_THAT(Named(run, "lr").steps, ElementsAre(9, 19, 29));
}

TEST(NonFiniteValuesAreValues, OneRowThatIsCutDoesNotMakeBlanksValues) {
  const auto run =
      Read("step,loss,val_loss,acc\n1,nan,3.5,0.1\n2,2.5,nan,nan\n3,nan,3.25,0.2\n4,2.25,nan,nan\n5,nan,3,\n");
  EXPECT_THAT(Named(run, "loss").values, ElementsAre(2.5, 2.25));
}

TEST(Csv, RowsOfTwoRunsAreTwoRuns) {
  const auto runs = ingest::ReadRunsInBytes(
      "all.csv", "run_id,step,loss\na,1,3.5\na,2,3.25\na,3,3\nb,1,2.5\nb,2,2.25\na,4,2.75\n", kCsv);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_THAT((*runs)[0].Find("loss")->steps, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT((*runs)[1].Find("loss")->values, ElementsAre(2.5, 2.25));
  EXPECT_EQ((*runs)[0].series.size(), 1U);
}

TEST(Csv, TheLastNumberIsNotBelievedWhereDigitsMayBeMissing) {
  const auto cut = Read("step,lr,loss\n1,0.1,2.5123\n2,0.1,2.4871\n3,0.1,2.4");
  EXPECT_THAT(Named(cut, "loss").steps, ElementsAre(1, 2));
  EXPECT_THAT(Named(cut, "lr").steps, ElementsAre(1, 2, 3));
  const auto whole = Read("step,lr,loss\n1,0.1,2.5123\n2,0.1,2.4871\n3,0.1,2.4312");
  EXPECT_THAT(Named(whole, "loss").steps, ElementsAre(1, 2, 3));
}

TEST(Csv, NamesTheLimitOfItsColumns) {
  std::string head = "step,loss";
  for (int i = 0; i < 20'000; ++i) head += fmt::format(",m{}", i);
  const auto part = ingest::ReadBytes("wide.csv", head + "\n1,2\n", kCsv);
  ASSERT_FALSE(part);
  ASSERT_EQ(part.error().notes.size(), 1U);
  EXPECT_EQ(part.error().notes[0].id, "damage/wide-table");
}

}  // namespace
}  // namespace vigil::formats
