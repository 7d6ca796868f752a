// Statements become sentences: templates filled with typed arguments.
#include "report/sentence.h"

#include <gtest/gtest.h>

#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "report/words.h"

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

TEST(Sentence, GivesTheDirectionAsAWordAndTheNumberWithoutASign) {
  EXPECT_EQ(Sentence(says::LossFallSeen{.value = 0.25}), "the loss fell by 25% of its first value");
  EXPECT_EQ(Sentence(says::LossFallSeen{.value = -0.25}), "the loss rose by 25% of its first value");
  EXPECT_EQ(Sentence(says::RewardGainInNoiseSeen{.value = -3}), "the reward fell by 3x its noise");
  EXPECT_EQ(Sentence(says::EvalRiseSeen{.value = -0.01}), "the evaluation loss ends 1% below its best value");
}

TEST(Sentence, KeepsTheSignWhereNoWordGivesIt) {
  EXPECT_EQ(Sentence(says::MarginLevelSeen{.value = -2}), "the preference margin ends at -2");
}

TEST(Sentence, OfATemplateHasALetterForEachValue) {
  EXPECT_EQ(SentencePattern("loss-fall.seen", "N"), "the loss fell by N% of its first value");
  EXPECT_EQ(SentencePattern("loss-points.seen", "N"), "the loss was logged at N points");
  EXPECT_EQ(SentencePattern("no/such", "N"), "");
}

TEST(Words, CountOneThingInTheSingular) {
  EXPECT_EQ(CountOf(1, "file"), "1 file");
  EXPECT_EQ(CountOf(0, "file"), "0 files");
  EXPECT_EQ(CountOf(2, "file"), "2 files");
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

TEST(Mentions, LooksAtPositionsRangesAndClauses) {
  const Position at(Axis::kStep, 57);
  const auto with = [](model::Argument::Value value) { return model::Statement{"x", {{"a", std::move(value)}}}; };
  EXPECT_TRUE(Mentions(with(at), at));
  EXPECT_FALSE(Mentions(with(at), Position(Axis::kEpoch, 57)));
  EXPECT_TRUE(Mentions(with(model::PositionRange{Position(Axis::kStep, 50), Position(Axis::kStep, 60)}), at));
  EXPECT_TRUE(Mentions(with(model::PositionRange{at, Position()}), at));
  EXPECT_FALSE(Mentions(with(model::PositionRange{Position(Axis::kStep, 58), Position(Axis::kStep, 60)}), at));
  EXPECT_TRUE(Mentions(with(std::vector<model::Statement>{with(at)}), at));
  EXPECT_FALSE(Mentions(with(model::Quantity{57}), at));
  EXPECT_FALSE(Mentions(with(Position()), Position()));
}

TEST(QuoteIn, FindsAQuoteInAClause) {
  const model::Statement quoted = {"x", {{"a", model::Quote{"overflow", "a.log", 3}}}};
  const model::Statement around = {"y", {{"n", model::Quantity{1}}, {"b", std::vector<model::Statement>{quoted}}}};
  ASSERT_NE(QuoteIn(around), nullptr);
  EXPECT_EQ(QuoteIn(around)->path, "a.log");
  EXPECT_EQ(QuoteIn({"z", {}}), nullptr);
}

TEST(Sentence, AnUnknownTemplateGivesItsId) { EXPECT_EQ(Sentence({"no/such", {}}), "no/such"); }

}  // namespace
}  // namespace vigil::report
