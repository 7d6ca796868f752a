// Compressed files, histograms, events of torchtitan, nested settings of W&B: what stands around the plain formats.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "ingest/time.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/scratch.h"
#include "support/tfevents_writer.h"

namespace vigil::pipeline {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Gzip(std::string text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Rows(int count) {
  std::string rows;
  for (int i = 1; i <= count; ++i) rows += fmt::format("{{\"step\": {}, \"loss\": {:.6f}}}\n", i, 3.0 / i);
  return rows;
}

class SourceFiles : public ScratchTest {};

TEST_F(SourceFiles, CompressedOnesAreReadByWhatIsInThem) {
  const auto plain = formats::ReadFile(Write("metrics.jsonl", Rows(20'000)));
  const auto packed = formats::ReadFile(Write("metrics.jsonl.gz", Gzip(Rows(20'000))));
  ASSERT_TRUE(plain && packed);
  EXPECT_EQ(packed->sources[0].format, "jsonl");
  EXPECT_EQ(packed->Find("loss")->values, plain->Find("loss")->values);
}

TEST_F(SourceFiles, ACompressedOneIsReadUpToTheCut) {
  const std::string packed = Gzip(Rows(20'000));
  const auto run = formats::ReadFile(Write("metrics.jsonl.gz", packed.substr(0, packed.size() / 2)));
  ASSERT_TRUE(run) << run.error().Text();
  EXPECT_EQ(run->sources[0].state, model::SourceState::kPartial);
  EXPECT_THAT(report::NoteText(run->sources[0]), HasSubstr("end early"));
  EXPECT_GT(run->Find("loss")->size(), 1000U);
}

TEST_F(SourceFiles, ABombIsLeftWhereItShowsItself) {
  std::string text = Rows(10);
  text += std::string(std::size_t{80} << 20U, ' ');
  const auto run = formats::ReadFile(Write("metrics.jsonl.gz", Gzip(text)));
  ASSERT_TRUE(run) << run.error().Text();
  EXPECT_THAT(report::NoteText(run->sources[0]), HasSubstr("times its size"));
}

TEST_F(SourceFiles, ACompressedLogStandsInForThePlainOneInItsFolder) {
  Write("run/metrics.jsonl.gz", Gzip(Rows(50)));
  Write("run/model.tar.gz", Gzip("not a tar"));
  const Imported imported = ImportPaths({Folder()});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].name, "run");
  ASSERT_THAT(imported.ignored, SizeIs(1));
  EXPECT_EQ(imported.ignored[0].reason, "content of no kind that vigil reads");
}

// ---- histograms

std::string Packed(const std::vector<double>& values) {
  std::string out;
  for (const double value : values) out += tfevents_writer::RawDouble(value);
  return out;
}

const model::Series* Statistic(const model::Run& run, std::string_view which) {
  for (const model::Series& series : run.series) {
    if (series.raw == "histogram/weights" && model::FindLabel(series.labels, "statistic") == which) return &series;
  }
  return nullptr;
}

Result<model::Run> ReadEvents(const std::string& bytes) {
  const ingest::Format* const format = formats::Recognise({"events.out.tfevents.1", bytes, bytes.size()});
  if (format == nullptr) return Fail(ErrorCode::kNoData, "not recognised");
  return ingest::ReadBytes("events.out.tfevents.1", bytes, *format);
}

TEST(Histograms, BecomeSeriesOfTheirQuantiles) {
  using namespace tfevents_writer;
  // 100 values spread evenly over 0 to 10, the last bucket open.
  const std::string histogram = DoubleField(1, 0.0) + DoubleField(2, 10.0) + DoubleField(3, 100) +
                                BytesField(6, Packed({2.5, 5, 7.5, 1e308})) + BytesField(7, Packed({25, 25, 25, 25}));
  const std::string value = BytesField(1, "weights") + BytesField(5, histogram);
  const auto run = ReadEvents(FileVersion() + Event(1000, 3, SummaryOf({value})) + Event(1001, 4, SummaryOf({value})));
  ASSERT_TRUE(run) << run.error().Text();
  ASSERT_NE(Statistic(*run, "p50"), nullptr);
  EXPECT_THAT(Statistic(*run, "p50")->steps, ElementsAre(3, 4));
  EXPECT_THAT(Statistic(*run, "p50")->values[0], DoubleNear(5.0, 1e-9));
  EXPECT_THAT(Statistic(*run, "p05")->values[0], DoubleNear(0.5, 1e-9));
  EXPECT_THAT(Statistic(*run, "p95")->values[0], DoubleNear(9.5, 1e-9));
  EXPECT_EQ(Statistic(*run, "max")->values[0], 10.0);
}

TEST(Histograms, OfTensorFlow2AreTensorsOfRows) {
  using namespace tfevents_writer;
  const std::string tensor = VarintField(1, 2) + BytesField(4, Packed({0, 1, 0, 1, 2, 10, 2, 3, 10, 3, 4, 0}));
  const auto run =
      ReadEvents(FileVersion() + Event(1000, 3, SummaryOf({TensorValue("weights", tensor, Metadata("histograms"))})));
  ASSERT_TRUE(run) << run.error().Text();
  EXPECT_THAT(Statistic(*run, "min")->values, ElementsAre(1.0));
  EXPECT_THAT(Statistic(*run, "p50")->values, ElementsAre(2.0));
  EXPECT_THAT(Statistic(*run, "max")->values, ElementsAre(3.0));
}

TEST(Histograms, ThatCountNothingSayNothing) {
  using namespace tfevents_writer;
  const std::string empty = BytesField(1, "weights") + BytesField(5, DoubleField(1, 0.0));
  EXPECT_FALSE(ReadEvents(FileVersion() + Event(1000, 3, SummaryOf({empty}))));
}

// ---- structured lines

TEST(TitanEvents, GiveMetricsAndTheTimeOfPhases) {
  std::string lines;
  double time = 1.7632e15;
  for (int step = 1; step <= 3; ++step) {
    for (const char* edge : {"start", "end"}) {
      time += 250'000;
      lines += fmt::format(
          "{{\"rank\": 1, \"step\": {}, \"time_us\": {:.0f}, \"log_type\": \"event\", \"log_type_name\": "
          "\"fwd_bwd_{}\", "
          "\"event_name\": \"fwd_bwd\", \"value\": null, \"delta_ms\": 7}}\n",
          step, time, edge);
    }
    lines += fmt::format(
        "{{\"rank\": 1, \"step\": {}, \"time_us\": {:.0f}, \"log_type\": \"instant\", \"log_type_name\": \"metric\", "
        "\"event_name\": \"loss_metrics/global_avg_loss\", \"value\": {}}}\n",
        step, time, 3.0 / step);
  }
  const ingest::Format* const format = formats::Recognise({"train.global_rank_1.jsonl", lines, lines.size()});
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format->id, "titan-events");
  const auto run = ingest::ReadBytes("train.global_rank_1.jsonl", lines, *format, 100);
  ASSERT_TRUE(run) << run.error().Text();
  EXPECT_EQ(run->framework, "torchtitan");
  EXPECT_EQ(run->ranks, 2);
  EXPECT_THAT(run->Find("loss")->values, ElementsAre(3.0, 1.5, 1.0));
  EXPECT_THAT(run->Find("phase/fwd_bwd")->values,
              ElementsAre(DoubleNear(0.25, 1e-6), DoubleNear(0.25, 1e-6), DoubleNear(0.25, 1e-6)));
}

TEST(Wandb, OfItsOwnClientIsReadWithNestedKeysAndSettings) {
  const std::string bytes = Fixture("wandb/offline-run-20261115_102138-bh85kq96/run-bh85kq96.wandb");
  const ingest::Format* const format = formats::Recognise({"run.wandb", bytes, bytes.size()});
  ASSERT_NE(format, nullptr);
  const auto run = ingest::ReadBytes("run.wandb", bytes, *format);
  ASSERT_TRUE(run) << run.error().Text();
  const model::Series* const loss = run->Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->raw, "train/loss");
  EXPECT_EQ(loss->steps.front(), 10);
  EXPECT_EQ(loss->steps.back(), 120);
  EXPECT_EQ(loss->values.back(), 0.75);
  EXPECT_EQ(run->FactNumber("lr"), 0.0003);
  EXPECT_EQ(run->FactNumber("vocab_size"), 512);
}

TEST(Times, AreReadInIso8601) {
  EXPECT_EQ(ingest::ParseUnixTime("1970-01-02T00:00:01"), 86401);
  EXPECT_EQ(ingest::ParseUnixTime("1970-01-02 00:00:01.5Z"), 86401.5);
  EXPECT_EQ(ingest::ParseUnixTime("2026-08-22T15:22:22+02:00"), 1787404942);
  for (const char* text : {"", "yesterday", "2026-13-01T00:00:00", "2026-01-01", "2026-01-01T00:00:00+x"})
    EXPECT_TRUE(model::IsNoValue(ingest::ParseUnixTime(text))) << text;
}

}  // namespace
}  // namespace vigil::pipeline
