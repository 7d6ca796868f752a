#include "formats/keras_history/keras_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "formats/formats.h"
#include "ingest/ingest.h"

namespace vigil::formats {
namespace {

using ::testing::ElementsAre;

// json.dump(model.fit(...).history, open("history.json", "w")) of a Keras 3 classifier.
constexpr std::string_view kHistory =
    R"({"accuracy": [0.5, 0.625, 0.75], "loss": [1.5, 1.25, NaN], "val_accuracy": [0.5, 0.5, 0.625],)"
    R"( "val_loss": [1.75, 1.5, 2.5], "learning_rate": [0.001, 0.001, 0.0005]})";

const ingest::Format& Row() { return *Find("keras-history"); }

model::Run Read(std::string_view text, std::size_t piece = 0) {
  auto part = ingest::ReadBytes("history.json", text, Row(), piece);
  EXPECT_TRUE(part) << part.error().Text();
  return part ? std::move(*part) : model::Run();
}

TEST(KerasHistory, IsRecognisedByItsPairsOfLists) {
  EXPECT_EQ(Recognise({"history.json", kHistory, kHistory.size()}), &Row());
  // Lists by step, with fewer evaluations than steps; objects by step; settings.
  for (const std::string_view other :
       {R"({"loss": [3, 2, 1], "val_loss": [2]})", R"({"loss": [3, 2, 1], "grad_norm": [1, 1, 1], "lr": [1, 1, 1]})",
        R"({"loss": {"1": 3, "2": 2, "3": 1}, "val_loss": {"1": 3, "2": 2, "3": 1}})", R"({"loss": "mse", "lr": 1})"})
    EXPECT_EQ(RecogniseKerasHistory({"history.json", other, other.size()}), 0) << other;
}

TEST(KerasHistory, HasAValuePerEpochOfEachMetric) {
  const model::Run part = Read(kHistory);
  EXPECT_EQ(part.framework, "keras");
  const model::Series* const loss = part.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->axis, model::Axis::kEpoch);
  EXPECT_THAT(loss->steps, ElementsAre(1, 2, 3));
  EXPECT_TRUE(std::isnan(loss->values[2]));
  ASSERT_NE(part.Find("eval_loss"), nullptr);
  EXPECT_THAT(part.Find("eval_loss")->values, ElementsAre(1.75, 1.5, 2.5));
  ASSERT_NE(part.Find("lr"), nullptr);
}

TEST(KerasHistory, IsAlsoReadWhereTheWholeObjectWasDumped) {
  const std::string bare = R"({"history": )" + std::string(kHistory) + "}";
  const std::string whole = R"({"params": {"verbose": 1, "epochs": 3}, "epoch": [0, 1, 2], "history": )" +
                            std::string(kHistory) + R"(, "stop_training": false})";
  for (const std::string& text : {bare, whole}) {
    EXPECT_EQ(Recognise({"history.json", text, text.size()}), &Row()) << text;
    for (const std::size_t piece : {0U, 1U}) {
      const model::Run part = Read(text, piece);
      EXPECT_EQ(part.series.size(), 5U) << text;
      ASSERT_NE(part.Find("eval_loss"), nullptr) << text;
      EXPECT_THAT(part.Find("eval_loss")->values, ElementsAre(1.75, 1.5, 2.5)) << text;
      EXPECT_EQ(part.Find("eval_loss")->axis, model::Axis::kEpoch) << text;
    }
  }
  const std::string_view nested = R"({"history": {"loss": [{"a": 1}], "val_loss": [1]}})";
  EXPECT_EQ(RecogniseKerasHistory({"history.json", nested, nested.size()}), 0) << "objects in the lists";
}

TEST(KerasHistory, ANullIsAGapWhereTheMetricIsNotMeasuredInEveryEpoch) {
  const model::Run part = Read(R"({"loss": [5, 4, 3, 2, null, null], "val_loss": [5, null, 4, null, 3, null]})");
  ASSERT_NE(part.Find("eval_loss"), nullptr);
  EXPECT_THAT(part.Find("eval_loss")->steps, ElementsAre(1, 3, 5));
  // One that always was there is NaN where it is null.
  EXPECT_THAT(part.Find("loss")->steps, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(std::isnan(part.Find("loss")->values[4]));
}

TEST(KerasHistory, IsTheSameInPiecesOfOneByteAndReadUpToACut) {
  const model::Run whole = Read(kHistory);
  const model::Run pieces = Read(kHistory, 1);
  ASSERT_EQ(pieces.series.size(), whole.series.size());
  for (std::size_t i = 0; i < whole.series.size(); ++i) {
    EXPECT_EQ(pieces.series[i].raw, whole.series[i].raw);
    EXPECT_EQ(pieces.series[i].steps, whole.series[i].steps);
  }
  for (std::size_t size = 1; size < kHistory.size(); ++size) {
    const auto part = ingest::ReadBytes("history.json", kHistory.substr(0, size), Row());
    EXPECT_TRUE(!part || part->sources[0].state == model::SourceState::kPartial) << size;
  }
}

}  // namespace
}  // namespace vigil::formats
