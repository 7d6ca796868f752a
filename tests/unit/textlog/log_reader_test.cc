// The reader as a whole: the same result however the bytes come, and sound whatever they are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "log_support.h"
#include "report/report.h"
#include "textlog/textlog.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A bit of everything.
constexpr std::string_view kMixed =
    "TrainingArguments(\nlearning_rate=5e-05,\nlogging_steps=1,\n)\n"
    "[rank0]: step 1 | loss 2.5 | lr 1e-4\n"
    "\r  0%|     | 0/3 [00:00<?, ?it/s]\r                        \r{'loss': '2.5', 'epoch': '0.5'}\n"
    "\r 33%|#    | 1/3 [00:01<00:02,  1.0it/s]\r                        \r{'loss': 'nan', 'epoch': '1.0'}\n"
    "\r 66%|##   | 2/3 [00:01<00:02,  1.0it/s]\n"
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
    "Saving model checkpoint to out/checkpoint-2\n"
    "\x1b[31mTraceback (most recent call last):\x1b[0m\n"
    "  File \"train.py\", line 3, in <module>\n"
    "    main()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    "\r 66%|##   | 2/3 [00:01<00:02,  1.0it/s]\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "Root Cause (first observed failure):\n[0]:\n  host      : a\n  rank      : 1 (local_rank: 1)\n"
    "  exitcode  : -9 (pid: 12)\n====\n"
    "2024 INFO    [step=9/10,epoch=0]\n    train/loss=1.5\nlast line without end";

TEST(LogReader, GivesTheSameForPiecesOfAnySize) {
  const std::string whole = Describe(ReadLog(kMixed));
  for (std::size_t piece = 1; piece <= 40; ++piece) EXPECT_EQ(Describe(ReadLog(kMixed, piece)), whole) << piece;
}

TEST(LogReader, GivesTheSameWithoutTheSearchForHints) {
  EXPECT_EQ(Describe(ReadLog(kMixed, 0, false)), Describe(ReadLog(kMixed, 0, true)));
}

TEST(LogReader, SurvivesBeingCutAnywhere) {
  for (std::size_t length = 0; length <= kMixed.size(); ++length) {
    const model::Run run = ReadLog(kMixed.substr(0, length));
    for (const model::Series& series : run.series) {
      ASSERT_EQ(series.steps.size(), series.values.size());
      ASSERT_EQ(series.steps.size(), series.lines.size());
      for (const std::int64_t step : series.steps) ASSERT_TRUE(step >= 0 && step <= 10) << length << " " << series.raw;
    }
  }
}

TEST(LogReader, SurvivesFlippedBytes) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text(kMixed);
    for (int flips = 0; flips < 8; ++flips) text[random() % text.size()] = static_cast<char>(random() % 256);
    ReadLog(text, 1 + random() % 100);
  }
}

TEST(LogReader, CountsLinesByNewlinesOnly) {
  const model::Run run = ReadLog("\r\rfoo\rbar\r\n\nstep 1 loss 2\r\nstep 2 loss 1\n");
  EXPECT_THAT(FindRaw(run, "loss")->lines, ElementsAre(3, 4));
}

TEST(LogReader, ToleratesBrokenUtf8) {
  const model::Run run = ReadLog("\xff\xfe\x80 step 1 loss 2.5 \xc3\nRuntimeError: \xff bad\nstep 2 loss 2\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(1, 2));
}

TEST(LogReader, CutsALineThatIsTooLongAndGoesOn) {
  const std::string text =
      "step 1 loss 2\n" + std::string(3 * LogReader::kLongestLine, 'x') + " loss 9\nstep 2 loss 1\n";
  for (const std::size_t piece : {std::size_t{0}, std::size_t{4096}, std::size_t{1} << 20U}) {
    const model::Run run = ReadLog(text, piece);
    EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(1, 2));
    EXPECT_THAT(FindRaw(run, "loss")->lines, ElementsAre(1, 3));
    EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr("1 line longer than"));
  }
}

TEST(LogReader, DoesNotSearchALongLineAgainForEveryByte) {
  const std::string text(LogReader::kLongestLine / 2, 'x');
  ingest::PartBuilder builder("a.log", "log-text");
  LogReader reader(builder);
  // Quadratic work would take minutes.
  for (std::size_t i = 1; i < text.size(); ++i)
    ASSERT_EQ(reader.Consume(std::string_view(text).substr(0, i), false), 0U);
}

TEST(LogReader, BoundsTheNumberOfNamesAndEvents) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "step " + std::to_string(i) + " loss 2 name" + std::to_string(i) + "x 5\nCUDA out of memory\n";
  const model::Run run = ReadLog(text);
  EXPECT_LE(run.series.size(), 5000U);
  EXPECT_LE(run.events.size(), 100U);
  EXPECT_EQ(StepsOf(run, "loss").size(), 20000U);
}

TEST(LogReader, BoundsTheNumberOfPointsAndKeepsWhatStandsOut) {
  ingest::PartBuilder builder("a.log", "log-text");
  constexpr std::uint64_t kMost = 10'000;
  SeriesTable table(builder, kMost);
  const std::uint32_t loss = table.Find("loss", -1, Origin::kLine, true);
  constexpr std::int64_t kPoints = 3 * kMost;
  for (std::int64_t step = 1; step <= kPoints; ++step) {
    const double value = step == 15'555 ? 500.0 : step > kPoints - 500 ? std::nan("") : 2.0;
    table.Add(loss, value, {.step = step, .line = 1});
  }
  const model::Run run = builder.Finish();
  const model::Series& series = run.series.at(0);
  EXPECT_LT(series.size(), kMost);
  EXPECT_GT(series.size(), kMost / 4);
  EXPECT_EQ(table.stride(), 4U);
  EXPECT_THAT(series.steps, testing::Contains(15'555)) << "a spike is not thinned away";
  EXPECT_THAT(series.steps, testing::Contains(kPoints - 499)) << "nor is the first NaN";
  EXPECT_THAT(series.segment_starts, ElementsAre(0));
}

// A log that never ends is read in the memory of its points, and those are bounded. bench/memory_bench.cc measures the
// whole process over ten gigabytes.
TEST(LogReader, HoldsABoundedAmountOfAnEndlessLog) {
  ingest::PartBuilder builder("a.log", "log-text");
  LogReader reader(builder);
  std::string text;
  std::int64_t step = 0;
  while (step < 800'000) {
    for (; text.size() < 65536; ++step)
      text += "step " + std::to_string(step) + " | loss 2.5 | lr 1 | a 1 | b 2 | c 3 | d 4 | e 5 | f 6\n";
    text.erase(0, reader.Consume(text, false));
  }
  std::size_t bytes = 0;
  std::size_t points = 0;
  for (const model::Series& series : builder.part().series) {
    points += series.size();
    bytes += series.steps.capacity() * sizeof(series.steps[0]) + series.values.capacity() * sizeof(series.values[0]) +
             series.lines.capacity() * sizeof(series.lines[0]);
  }
  EXPECT_LE(points, SeriesTable::kMostPoints);
  EXPECT_GT(points, SeriesTable::kMostPoints / 4);
  EXPECT_LE(bytes, std::size_t{250} << 20U);
}

TEST(LogReader, KeepsTheKindOfLineThatUsesANameMost) {
  const model::Run run = ReadLog(
      "{'step': 0, 'agent': 'x', 'reward': -0.6}\n{'reward': 1.5, 'loss': 0.1, 'epoch': 0.1}\n"
      "{'reward': 1.6, 'loss': 0.1, 'epoch': 0.2}\n{'reward': 1.7, 'loss': 0.1, 'epoch': 0.3}\n");
  EXPECT_EQ(PointsOf(run, "reward").size(), 3U);
  EXPECT_THAT(FindRaw(run, "reward")->labels, IsEmpty());
}

int Sureness(std::string_view path, std::string_view head) { return RecogniseLogText({path, head, head.size()}); }

TEST(RecogniseLog, IsSureByWhatTheTextHolds) {
  EXPECT_GT(Sureness("a.txt", "hello\nstep 1 loss 2.5\n"),
            Sureness("a.txt", "Traceback (most recent call last):\nValueError: x\n"));
  EXPECT_GT(Sureness("a.txt", "Traceback (most recent call last):\nValueError: x\n"), Sureness("a.log", "hello\n"));
  EXPECT_GT(Sureness("a.log", "hello\n"), 0);
  EXPECT_EQ(Sureness("a.txt", "hello\n"), 0) << "a text without metrics or errors is no log";
}

TEST(RecogniseLog, RefusesBinariesAndSources) {
  EXPECT_EQ(Sureness("a.log", std::string_view("step 1 loss 2\0\0\n", 16)), 0);
  EXPECT_EQ(Sureness("a.log", ""), 0);
  EXPECT_EQ(Sureness("a.log", "\x01\x02\x03\x04\x05\x06 loss\n"), 0);
  EXPECT_EQ(Sureness("train.py", "print('step 1 loss 2.5')\nstep 1 loss 2.5\n"), 0);
  EXPECT_EQ(Sureness("README.md", "step 1 loss 2.5\n"), 0);
}

// A name is no content: a log that was called something else is still one, when nothing else it could be fits.
TEST(RecogniseLog, ReadsALogUnderAnyName) {
  std::string log;
  for (int step = 0; step < 40; ++step) log += "step " + std::to_string(step) + " | loss 2.5 | grad_norm 1.25\n";
  for (const char* name : {"a.json", "a.yaml", "a.toml", "a.md", "a.tsv", "a.sh", "a.cfg", "a.jsonl"}) {
    EXPECT_GT(Sureness(name, log), 0) << name;
    EXPECT_LT(Sureness(name, log), Sureness("a.txt", log)) << name;
    const ingest::Format* const format = formats::Recognise({name, log, log.size()});
    ASSERT_NE(format, nullptr) << name;
    EXPECT_EQ(format->id, "log-text") << name;
    EXPECT_EQ(Sureness(name, log.substr(0, 100)), 0) << "a few lines may be quoted: " << name;
  }
}

TEST(RecogniseLog, RefusesAListingThatQuotesErrors) {
  constexpr std::string_view kListing =
      "snapshot\ta.pickle\tmemory/oom\tCUDA out of memory. Tried to allocate 2.00 GiB\n"
      "snapshot\tb.pickle\tnone\t934912 bytes\ntrace\tc.json\tnone\t22.8 ms/step\n";
  EXPECT_EQ(Sureness("LABELS.tsv", kListing), 0);
  EXPECT_EQ(Sureness("labels.txt", kListing), 0);
  EXPECT_GT(Sureness("labels.txt", "CUDA out of memory. Tried to allocate 2.00 GiB\n"), 0);
}

TEST(RecogniseLog, TakesTextWithAZeroHereAndThereOrAHoleInFront) {
  const std::string log = "step 1 loss 2.5\nstep 2 loss 2.25\n" + std::string(200, 'x') + "\n";
  EXPECT_GT(Sureness("a.txt", log + std::string(1, '\0') + "\n"), 0);
  const std::string holed = std::string(5000, '\0') + log;
  EXPECT_GT(Sureness("a.txt", holed), 0);
  EXPECT_THAT(StepsOf(ReadLog(holed), "loss"), ElementsAre(1, 2));
  EXPECT_EQ(Sureness("a.txt", std::string(5000, '\0')), 0);
}

std::string Utf16(std::u16string_view text, bool little) {
  std::string bytes;
  for (const char16_t unit : text) {
    const auto low = static_cast<char>(unit & 0xFFU);
    const auto high = static_cast<char>(unit >> 8U);
    bytes += little ? low : high;
    bytes += little ? high : low;
  }
  return bytes;
}

TEST(LogEncoding, ReadsUtf16InPiecesOfAnySize) {
  constexpr std::u16string_view kText = u"\uFEFFstep 1 | loss 2.5 | \u2714 \U0001F389\r\nstep 2 | loss 2.25\r\n";
  for (const bool little : {true, false}) {
    const std::string bytes = Utf16(kText, little);
    EXPECT_GT(Sureness("a.txt", bytes), 0);
    for (const std::size_t piece : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
      const model::Run run = ReadLog(bytes, piece);
      EXPECT_EQ(PointsOf(run, "loss"), (Points{{1, 2.5}, {2, 2.25}})) << piece;
      EXPECT_THAT(FindRaw(run, "loss")->lines, ElementsAre(1, 2));
    }
  }
}

TEST(LogEncoding, DecodesPairsAndReplacesHalves) {
  std::string text;
  const std::string whole = Utf16(u"a\u00E9\u2502\U0001F389", true);
  EXPECT_EQ(ingest::DecodeUtf16(whole, ingest::Encoding::kUtf16Little, true, text), whole.size());
  EXPECT_EQ(text, "a\xC3\xA9\xE2\x94\x82\xF0\x9F\x8E\x89");
  text.clear();
  const std::string halves(
      "\x00\xDC"
      "b\x00\x00\xD8",
      6);
  EXPECT_EQ(ingest::DecodeUtf16(halves, ingest::Encoding::kUtf16Little, false, text), 4U)
      << "the other half may follow";
  EXPECT_EQ(ingest::DecodeUtf16(halves.substr(4), ingest::Encoding::kUtf16Little, true, text), 2U);
  EXPECT_EQ(text,
            "\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(LogEncoding, PassesTheMarkOfUtf8) {
  EXPECT_EQ(PointsOf(ReadLog("\xEF\xBB\xBFstep 1 loss 2.5\n"), "loss"), (Points{{1, 2.5}}));
}

TEST(LogReader, IsKnownByTheLinesBeforeGarbage) {
  std::string text;
  for (int step = 1; step <= 200; ++step) text += fmt::format("step {} loss {:.4f} lr 0.0003\n", step, 2 + 3.0 / step);
  const std::size_t before = text.size();
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) text += static_cast<char>(random() % 256);
  for (int step = 201; step <= 260; ++step) text += fmt::format("\nstep {} loss nan lr 0.0003", step);
  const ingest::Format* format = formats::Recognise({"train.log", text, text.size()});
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format->id, "log-text");
  const auto run = ingest::ReadBytes("train.log", text, *format);
  ASSERT_TRUE(run) << run.error().Text();
  const Points points = PointsOf(*run, "loss");
  ASSERT_GE(points.size(), 255U);
  EXPECT_TRUE(std::isnan(points.back().second));
  const std::string garbage = text.substr(before, 3000);
  EXPECT_EQ(formats::Recognise({"train.log", garbage, garbage.size()}), nullptr) << "garbage alone is nothing";
}

TEST(LogReader, SaysWhatItLookedForWhereItFoundNothing) {
  const std::string text = "worker 1 started\nqueue 3 took 0.25 of 1.50 units\nworker 2 started\n";
  const auto read = ingest::ReadBytes("odd.log", text, *formats::Recognise({"odd.log", text, text.size()}));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().path, "odd.log");
  const std::string why = report::WhyUnread({read.error().path, read.error().message, read.error().notes});
  EXPECT_THAT(why, HasSubstr("log text without any value, event or setting in it: line 2"));
  EXPECT_THAT(why, HasSubstr("\"queue 3 took 0.25 of 1.50 units\""));
  EXPECT_THAT(why, HasSubstr("Looked for: a step or epoch"));
}

}  // namespace
}  // namespace vigil::textlog
