// Statements become sentences: templates filled with typed arguments.
#include "report/sentence.h"

#include <gtest/gtest.h>

#include "catalogue/catalogue.h"
#include "catalogue/says.h"

namespace vigil::report {
namespace {

using model::Axis;
using model::Position;

TEST(Sentence, FillsTheTemplateWithTypedArguments) {
  const model::Statement says = says::LossSpikeOne{.metric = "loss",
                                                   .peak = 12.5,
                                                   .ratio = 4.0,
                                                   .at = Position(Axis::kStep, 57),
                                                   .ended = says::SpikeBack{.points = 3}};
  EXPECT_EQ(Sentence(says), "loss jumped to 12.5 (4x) at step 57, back after 3 points");
}

TEST(Sentence, WritesOneOfSomethingInTheSingular) {
  EXPECT_EQ(Sentence(says::SpikeBack{.points = 1}), "back after 1 point");
}

TEST(Sentence, NamesTheAxisOfAPosition) {
  EXPECT_EQ(PositionText(Position(Axis::kEpoch, 3)), "epoch 3");
  EXPECT_EQ(PositionText(Position(Axis::kRow, 7)), "logged point 7");
  EXPECT_EQ(PositionText(Position()), "");
  EXPECT_EQ(RangeText({Position(Axis::kEpoch, 3), Position(Axis::kEpoch, 9)}), "epochs 3-9");
  EXPECT_EQ(RangeText({Position(Axis::kStep, 3), Position(Axis::kStep, 3)}), "step 3");
  EXPECT_EQ(ExtentText({Axis::kStep, 10}), "10 steps");
  EXPECT_EQ(ExtentText({Axis::kEpoch, 1}), "1 epoch");
}

TEST(Sentence, TextOfARowStandsForItself) {
  const catalogue::CauseRow& cause = catalogue::Causes().front();
  EXPECT_EQ(Sentence(catalogue::TextOf("cause", cause.id, "title")), cause.title);
}

TEST(Sentence, AnUnknownTemplateGivesItsId) { EXPECT_EQ(Sentence({"no/such", {}}), "no/such"); }

}  // namespace
}  // namespace vigil::report
