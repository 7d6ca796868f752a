#include "formats/tfevents/tfevents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/formats.h"
#include "formats/tfevents/event.h"
#include "ingest/ingest.h"
#include "report/report.h"
#include "support/tfevents_writer.h"
#include "support/why.h"

namespace vigil::formats {
namespace {

using namespace tfevents_writer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ingest::Format kTfevents = {"tfevents", "TensorBoard event file", RecogniseTfevents, OpenTfevents};

model::Run Read(std::string_view bytes, std::size_t piece = 0) {
  auto part = ingest::ReadBytes("events.out.tfevents.1", bytes, kTfevents, piece);
  EXPECT_TRUE(part) << part.error().Text();
  return part ? std::move(*part) : model::Run();
}

const model::Series& Named(const model::Run& run, std::string_view raw) {
  for (const model::Series& series : run.series) {
    if (series.raw == raw) return series;
  }
  static const model::Series none;
  ADD_FAILURE() << "no series " << raw;
  return none;
}

TEST(Tfevents, ReadsScalarsWithStepTimeAndMeaning) {
  const auto run = Read(FileVersion() + Scalar("train/loss", 1, 2.5F, 1001) + Scalar("my tag", 1, 7.0F, 1001) +
                        Scalar("train/loss", 200, 1.25F, 1002));
  const model::Series& loss = Named(run, "train/loss");
  EXPECT_EQ(loss.signal, "loss");
  EXPECT_THAT(loss.steps, ElementsAre(1, 200));
  EXPECT_THAT(loss.values, ElementsAre(2.5, 1.25));
  EXPECT_THAT(loss.times, ElementsAre(1001, 1002));
  EXPECT_THAT(loss.segment_starts, ElementsAre(0));
  EXPECT_EQ(Named(run, "my tag").signal, "my tag");
  EXPECT_EQ(run.sources.at(0).state, model::SourceState::kRead);
  EXPECT_EQ(report::NoteText(run.sources.at(0)), "");
}

TEST(Tfevents, ReadsSeveralValuesOfOneEventAndFieldsInAnyOrder) {
  const std::string swapped = FloatField(2, 3.0F) + BytesField(1, "b");
  const std::string event = Record(SummaryOf({SimpleValue("a", 1), swapped}) + VarintField(2, 5) + DoubleField(1, 9));
  const auto run = Read(event);
  EXPECT_THAT(Named(run, "a").steps, ElementsAre(5));
  EXPECT_THAT(Named(run, "b").values, ElementsAre(3.0));
  EXPECT_THAT(Named(run, "b").times, ElementsAre(9));
}

TEST(Tfevents, KeepsNonFiniteValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto run = Read(Scalar("loss", 1, nan) + Scalar("loss", 2, -infinity));
  ASSERT_GT(run.series.at(0).size(), 1U);
  EXPECT_TRUE(std::isnan(run.series.at(0).values[0]));
  EXPECT_EQ(run.series.at(0).values[1], -infinity);
}

struct TensorCase {
  const char* name;
  std::string tensor;
  double expected;
};

class TensorScalars : public ::testing::TestWithParam<TensorCase> {};

TEST_P(TensorScalars, AreReadWithAndWithoutMetadata) {
  const auto first = TensorValue("x", GetParam().tensor, Metadata("scalars"));
  const auto later = TensorValue("x", GetParam().tensor);
  const auto run = Read(Event(1, 1, SummaryOf({first})) + Event(2, 2, SummaryOf({later})) +
                        Event(2, 2, SummaryOf({TensorValue("bare", GetParam().tensor)})));
  EXPECT_THAT(Named(run, "x").values, ElementsAre(GetParam().expected, GetParam().expected));
  EXPECT_THAT(Named(run, "bare").values, ElementsAre(GetParam().expected));
}

const std::string kScalarShape = BytesField(2, "");
INSTANTIATE_TEST_SUITE_P(
    Types, TensorScalars,
    ::testing::Values(
        TensorCase{"float_packed", VarintField(1, 1) + kScalarShape + BytesField(5, RawFloat(1.5F)), 1.5},
        TensorCase{"float_unpacked", VarintField(1, 1) + FloatField(5, -2.5F), -2.5},
        TensorCase{"float_content", VarintField(1, 1) + BytesField(4, RawFloat(0.25F)), 0.25},
        TensorCase{"double_packed", VarintField(1, 2) + BytesField(6, RawDouble(1e-300)), 1e-300},
        TensorCase{"double_unpacked", VarintField(1, 2) + DoubleField(6, 3.5), 3.5},
        TensorCase{"double_content", VarintField(1, 2) + BytesField(4, RawDouble(0.1)), 0.1},
        TensorCase{"half", VarintField(1, 19) + BytesField(13, Varint(0xc100)), -2.5},
        TensorCase{"half_subnormal", VarintField(1, 19) + VarintField(13, 1), 5.9604644775390625e-08},
        TensorCase{"half_infinite", VarintField(1, 19) + VarintField(13, 0x7c00), HUGE_VAL},
        TensorCase{"half_content", VarintField(1, 19) + BytesField(4, LittleEndian(0x3c00, 2)), 1.0},
        TensorCase{"bfloat16", VarintField(1, 14) + BytesField(13, Varint(0x3fc0)), 1.5},
        TensorCase{"bfloat16_content", VarintField(1, 14) + BytesField(4, LittleEndian(0xc000, 2)), -2.0},
        TensorCase{"int32", VarintField(1, 3) + BytesField(7, Varint(~std::uint64_t{0} - 4)), -5},
        TensorCase{"int32_content", VarintField(1, 3) + BytesField(4, LittleEndian(0xfffffff9, 4)), -7},
        TensorCase{"int64", VarintField(1, 9) + VarintField(10, 123456789012), 123456789012},
        TensorCase{"int64_content", VarintField(1, 9) + BytesField(4, LittleEndian(9, 8)), 9},
        TensorCase{"uint64", VarintField(1, 23) + BytesField(17, Varint(std::uint64_t{1} << 63U)),
                   9223372036854775808.0},
        TensorCase{"bool", VarintField(1, 10) + BytesField(11, Varint(1)), 1},
        TensorCase{"one_element_vector",
                   VarintField(1, 1) + BytesField(2, BytesField(2, VarintField(1, 1))) + BytesField(5, RawFloat(4)), 4},
        TensorCase{"left_out_zero", VarintField(1, 1) + kScalarShape, 0}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Tfevents, PassesOverWhatIsNoScalar) {
  const std::string matrix =
      VarintField(1, 2) + BytesField(2, BytesField(2, VarintField(1, 30)) + BytesField(2, VarintField(1, 3)));
  const std::string vector = VarintField(1, 1) + BytesField(5, RawFloat(1) + RawFloat(2));
  const std::string no_type = VarintField(1, 0x80000013) + VarintField(13, 0x3c00);  // its low byte is that of half
  const auto run = Read(Event(1, 1, SummaryOf({BytesField(1, "v1 histogram") + BytesField(5, DoubleField(1, 0))})) +
                        Event(1, 1, SummaryOf({TensorValue("v2 histogram", matrix, Metadata("histograms"))})) +
                        Event(1, 1, SummaryOf({BytesField(1, "image") + BytesField(4, "png")})) +
                        Event(1, 1, SummaryOf({TensorValue("vector", vector)})) +
                        Event(1, 1, SummaryOf({TensorValue("no type", no_type)})) +
                        Event(1, 1, BytesField(4, "a graph")) + Scalar("loss", 1, 1.0F));
  ASSERT_EQ(run.series.size(), 1);
  EXPECT_EQ(run.series[0].raw, "loss");
  EXPECT_EQ(report::NoteText(run.sources[0]), "");
}

TEST(Tfevents, ATagIsNotDecidedByAValueThatHoldsNothing) {
  const auto run = Read(Event(1, 1, SummaryOf({BytesField(1, "loss")})) + Scalar("loss", 2, 3));
  ASSERT_EQ(run.series.size(), 1);
  EXPECT_THAT(run.series[0].values, ElementsAre(3));
}

TEST(Tfevents, ATagIsDecidedByItsPluginAlsoBeforeItsFirstValue) {
  const std::string described = BytesField(1, "loss") + BytesField(9, BytesField(1, BytesField(1, "scalars")));
  const std::string tensor = VarintField(1, 1) + BytesField(5, RawFloat(2.5F));
  const auto run = Read(Event(1, 1, SummaryOf({described})) + Event(1, 2, SummaryOf({TensorValue("loss", tensor)})));
  ASSERT_EQ(run.series.size(), 1);
  EXPECT_THAT(run.series[0].values, ElementsAre(2.5));
}

TEST(Tfevents, OpensASegmentWhenTheStepGoesBack) {
  const auto run = Read(Scalar("loss", 1, 3) + Scalar("loss", 2, 2) + Event(1, 2, BytesField(7, VarintField(1, 1))) +
                        Scalar("loss", 2, 2.5) + Scalar("loss", 3, 2));
  EXPECT_THAT(run.series.at(0).steps, ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(run.series.at(0).segment_starts, ElementsAre(0, 2));
  ASSERT_EQ(run.events.size(), 1);
  EXPECT_EQ(run.events[0].kind, model::EventKind::kResume);
  EXPECT_EQ(run.events[0].at.value(), 2);
}

TEST(Tfevents, TakesARepeatedValueOnce) {
  const auto run = Read(Scalar("train/epoch", 5, 0.5F) + Scalar("train/loss", 5, 2) + Scalar("train/epoch", 5, 0.5F) +
                        Scalar("train/loss", 5, 1));
  EXPECT_THAT(Named(run, "train/epoch").steps, ElementsAre(5));
  EXPECT_THAT(Named(run, "train/loss").segment_starts, ElementsAre(0, 1)) << "two values are two";
}

TEST(Tfevents, CountsPointsWhenTheWriterGaveNoStep) {
  const auto run = Read(Scalar("loss", 0, 3) + Scalar("loss", 0, 2) + Scalar("loss", 0, 1) + Scalar("once", 0, 1));
  EXPECT_THAT(Named(run, "loss").steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(Named(run, "loss").segment_starts, ElementsAre(0));
  EXPECT_EQ(Named(run, "loss").axis, model::Axis::kRow);
  EXPECT_EQ(Named(run, "once").axis, model::Axis::kStep);
}

TEST(Tfevents, DropsTheDoubleThatMegatronWritesAgainstSamples) {
  const auto run = Read(Scalar("lm loss", 1, 3) + Scalar("lm loss vs samples", 512, 3) +
                        Scalar("late vs samples", 512, 4) + Scalar("late", 1, 4) + Scalar("late vs samples", 1024, 4) +
                        Scalar("alone vs samples", 512, 5) + Scalar("Train/Samples/train_loss", 512, 6));
  ASSERT_EQ(run.series.size(), 4);
  EXPECT_EQ(Named(run, "lm loss").signal, "loss");
  EXPECT_THAT(Named(run, "late").steps, ElementsAre(1));
  EXPECT_EQ(Named(run, "alone vs samples").axis, model::Axis::kSamples);
  EXPECT_EQ(Named(run, "Train/Samples/train_loss").axis, model::Axis::kSamples);
}

TEST(Tfevents, LeavesOutEventsWithoutTimeAndValuesAtImpossibleSteps) {
  const auto run = Read(Scalar("loss", 1, 1) + Scalar("loss", 2, 9, std::nan("")) + Scalar("loss", -3, 9) +
                        Scalar("loss", std::int64_t{1} << 60U, 9) + Scalar("loss", 3, 2));
  EXPECT_THAT(run.series.at(0).steps, ElementsAre(1, 3));
  EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr("1 events with NaN for their time left out"));
  EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr("2 values at steps below 0"));
}

TEST(Tfevents, TakesHyperparametersAsFacts) {
  const auto entry = [](std::string_view key, const std::string& value) {
    return BytesField(1, BytesField(1, key) + BytesField(2, value));
  };
  const std::string start = entry("learning_rate", DoubleField(2, 0.0005)) +
                            entry("optimizer", BytesField(3, "AdamW")) + entry("fp16", VarintField(4, 1)) +
                            entry("nothing", VarintField(1, 0));
  const std::string value =
      BytesField(1, "_hparams_/session_start_info") + Metadata("hparams", VarintField(1, 0) + BytesField(3, start));
  const auto run = Read(Event(1, 0, SummaryOf({value})));
  ASSERT_EQ(run.facts.size(), 3);
  EXPECT_EQ(run.FindFact("lr")->value, "0.0005");
  EXPECT_EQ(run.FindFact("lr")->raw_key, "learning_rate");
  EXPECT_EQ(run.FindFact("optimizer")->value, "AdamW");
  EXPECT_EQ(run.FindFact("fp16")->value, "true");
}

std::string Text(std::string_view tag, std::string_view text) {
  return Event(1, 0, SummaryOf({TensorValue(tag, VarintField(1, 7) + BytesField(8, text), Metadata("text"))}));
}

TEST(Tfevents, TakesATableOfSettingsAsFacts) {
  const auto run =
      Read(Text("hyperparameters/text_summary", "|param|value|\n|-|-|\n|learning_rate|0.00025|\n|seed|1|"));
  ASSERT_EQ(run.facts.size(), 2);
  EXPECT_EQ(run.FindFact("lr")->value, "0.00025");
  EXPECT_EQ(run.FindFact("seed")->value, "1");
}

TEST(Tfevents, TakesOtherTextAsRemarksAndNotAsSettings) {
  const auto run = Read(Text("samples", "The answer is 12.") + Text("samples", "{\"learning_rate\": 9}"));
  EXPECT_TRUE(run.facts.empty()) << "what a model wrote is no setting of its run";
  ASSERT_EQ(run.events.size(), 2U);
  EXPECT_EQ(run.events[0].text, "samples: The answer is 12.");
  EXPECT_EQ(run.events[0].kind, model::EventKind::kMessage);
}

TEST(Tfevents, TakesSettingsWrittenAsJsonTextAsFacts) {
  const auto run =
      Read(Text("args/text_summary", "{\n  \"learning_rate\": 5e-05,\n  \"bf16\": true,\n  \"max_steps\": 100\n}") +
           Text("model_config/text_summary", "{\"model_type\": \"gpt2\", \"vocab_size\": 50257}") +
           Text("notes/text_summary", "{not JSON after all") + Text("more/text_summary", "plain words"));
  EXPECT_EQ(run.FindFact("lr")->value, "5e-05");
  EXPECT_EQ(run.FindFact("bf16")->value, "true");
  EXPECT_EQ(run.FindFact("max_steps")->value, "100");
  EXPECT_EQ(run.FindFact("vocab_size")->value, "50257");
  EXPECT_EQ(report::NoteText(run.sources[0]), "");
}

// ---- damage

std::string SmallFile() {
  return FileVersion() + Scalar("loss", 1, 3) + Scalar("grad_norm", 1, 0.5F) + Scalar("loss", 2, 2.5F) +
         Event(5, 2,
               SummaryOf({TensorValue("t", VarintField(1, 1) + BytesField(5, RawFloat(1)), Metadata("scalars")),
                          SimpleValue("grad_norm", 0.25F)})) +
         Scalar("loss", 3, 2);
}

TEST(Tfevents, GivesTheSamePartInPiecesOfAnySize) {
  const std::string bytes = SmallFile() + Scalar("loss", 4, 1.5F).substr(0, 20);
  const model::Run whole = Read(bytes);
  for (const std::size_t piece : std::vector<std::size_t>{1, 7, 16, 100}) {
    const model::Run pieces = Read(bytes, piece);
    ASSERT_EQ(pieces.series.size(), whole.series.size());
    for (std::size_t i = 0; i < whole.series.size(); ++i) {
      EXPECT_EQ(pieces.series[i].raw, whole.series[i].raw);
      EXPECT_EQ(pieces.series[i].steps, whole.series[i].steps);
      EXPECT_EQ(pieces.series[i].values, whole.series[i].values);
      EXPECT_EQ(pieces.series[i].times, whole.series[i].times);
    }
    EXPECT_EQ(report::NoteText(pieces.sources[0]), report::NoteText(whole.sources[0]));
  }
}

// Every value in the order of the file, as "tag@step=value".
std::vector<std::string> Points(const model::Run& run) {
  std::vector<std::string> points;
  for (const model::Series& series : run.series) {
    for (std::size_t i = 0; i < series.size(); ++i)
      points.push_back(series.raw + "@" + std::to_string(series.steps[i]) + "=" + FormatExact(series.values[i]));
  }
  return points;
}

TEST(Tfevents, CutAtAnyByteGivesWhatCameBeforeAndTheByteOfTheCut) {
  const std::string bytes = SmallFile();
  const auto all = Points(Read(bytes));
  std::size_t most = 0;
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    const auto part = ingest::ReadBytes("f", std::string_view(bytes).substr(0, length), kTfevents);
    if (!part) {
      EXPECT_EQ(most, 0) << length;
      EXPECT_THAT(part.error().Text(), HasSubstr("f: TensorBoard event file"));
      continue;
    }
    const auto points = Points(*part);
    EXPECT_GE(points.size(), most);
    most = points.size();
    for (const std::string& point : points) EXPECT_THAT(all, ::testing::Contains(point));
    const bool at_a_record = part->sources[0].state == model::SourceState::kRead;
    EXPECT_THAT(report::NoteText(part->sources[0]), HasSubstr(at_a_record ? "" : "the last record is cut"));
  }
  EXPECT_EQ(most + 1, all.size());
}

TEST(Tfevents, WithAnyByteDamagedGivesNoValueThatWasNotThere) {
  const std::string sound = SmallFile();
  const auto all = Points(Read(sound));
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    const auto part = ingest::ReadBytes("f", bytes, kTfevents);
    if (!part) {
      EXPECT_THAT(WhyNot(part.error()), HasSubstr("byte "));
      continue;
    }
    EXPECT_EQ(part->sources[0].state, model::SourceState::kPartial) << at;
    EXPECT_THAT(report::NoteText(part->sources[0]), HasSubstr("byte ")) << at;
    const auto points = Points(*part);
    EXPECT_LE(points.size(), all.size());
    for (const std::string& point : points) EXPECT_THAT(all, ::testing::Contains(point));
  }
}

TEST(Tfevents, SkipsARecordWithDamagedDataAndGoesOn) {
  const std::string head = FileVersion() + Scalar("loss", 1, 3);
  std::string damaged = Scalar("loss", 2, 2);
  damaged[20] = '?';
  const auto run = Read(head + damaged + Scalar("loss", 3, 1));
  EXPECT_THAT(run.series.at(0).steps, ElementsAre(1, 3));
  EXPECT_EQ(run.sources[0].state, model::SourceState::kPartial);
  EXPECT_EQ(report::NoteText(run.sources[0]),
            "byte " + std::to_string(head.size()) + ": 1 record(s) with a wrong checksum skipped");
}

TEST(Tfevents, StopsAtADamagedLengthAndSaysWhere) {
  const std::string head = FileVersion() + Scalar("loss", 1, 3);
  std::string damaged = Scalar("loss", 2, 2);
  damaged[0] = '?';
  const auto run = Read(head + damaged + Scalar("loss", 3, 1), 16);
  EXPECT_THAT(run.series.at(0).steps, ElementsAre(1));
  EXPECT_EQ(report::NoteText(run.sources[0]),
            "byte " + std::to_string(head.size()) + ": damaged record length, nothing behind it can be found");
}

TEST(Tfevents, PassesOverARecordOfManyMegabytesWithoutHoldingIt) {
  const std::string graph = Event(1, 0, BytesField(4, std::string(20 << 20, 'g')));
  const std::string bytes = Scalar("loss", 1, 3) + graph + Scalar("loss", 2, 2);
  for (const std::size_t piece : std::vector<std::size_t>{0, 1 << 20, 1'000'003}) {
    const auto run = Read(bytes, piece);
    EXPECT_THAT(run.series.at(0).steps, ElementsAre(1, 2));
    EXPECT_EQ(report::NoteText(run.sources[0]), "");
  }
  const auto cut = Read(std::string_view(bytes).substr(0, 10 << 20), 1 << 20);
  EXPECT_THAT(cut.series.at(0).steps, ElementsAre(1));
  EXPECT_THAT(report::NoteText(cut.sources[0]), HasSubstr("the last record is cut"));
}

TEST(Tfevents, SkipsARecordThatIsSoundButNoEvent) {
  const auto run = Read(Scalar("loss", 1, 3) + Record("\x0c\x0c") + Scalar("loss", 2, 1));
  EXPECT_THAT(run.series.at(0).steps, ElementsAre(1, 2));
  EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr("1 record(s) that cannot be decoded skipped"));
}

// ---- the short way for plain scalars says what the long way says

TEST(PlainScalar, SaysWhatTheGeneralParserSaysOfEveryDamagedForm) {
  const std::string sound =
      DoubleField(1, 1700000000.25) + VarintField(2, 300) + SummaryOf({SimpleValue("train/loss", 2.5F)});
  int plain = 0;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(byte);
      tfevents::PlainScalar scalar;
      if (!tfevents::ParsePlainScalar(bytes, scalar)) continue;
      ++plain;
      tfevents::Event event;
      ASSERT_TRUE(tfevents::ParseEvent(bytes, event));
      EXPECT_EQ(std::bit_cast<std::uint64_t>(event.wall_time), std::bit_cast<std::uint64_t>(scalar.wall_time));
      EXPECT_EQ(event.step, scalar.step);
      tfevents::Value value;
      // summary: key and length of its one value stand before it
      ASSERT_TRUE(tfevents::ParseValue(event.summary.substr(2), value));
      EXPECT_TRUE(value.is_simple);
      EXPECT_EQ(value.tag, scalar.tag);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value.simple), std::bit_cast<std::uint32_t>(scalar.value));
    }
  }
  EXPECT_GT(plain, 256 * 20);  // the bytes of time, tag and value vary freely
}

// ---- recognition

TEST(RecogniseTfevents, GoesByContent) {
  const std::string bytes = SmallFile();
  EXPECT_EQ(RecogniseTfevents({"whatever", bytes, bytes.size()}), 100);
  EXPECT_EQ(RecogniseTfevents({"whatever", std::string_view(bytes).substr(0, 25), 25}), 100);
  EXPECT_EQ(RecogniseTfevents({"events.out.tfevents.1", std::string(100, '\0'), 100}), 0);
  EXPECT_EQ(RecogniseTfevents({"events.out.tfevents.1", "not really", 10}), 10);
  EXPECT_EQ(RecogniseTfevents({"text.txt", "not really an event file at all", 31}), 0);
  const std::string dataset = Record(BytesField(1, "an example of a dataset"));
  EXPECT_EQ(RecogniseTfevents({"train.tfrecord", dataset, dataset.size()}), 0);
}

}  // namespace
}  // namespace vigil::formats
