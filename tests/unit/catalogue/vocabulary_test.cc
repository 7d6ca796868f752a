#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/catalogue.h"

namespace vigil::catalogue {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::string SignalOf(std::string_view raw) {
  const auto meaning = Interpret(raw);
  return meaning ? std::string(meaning->signal) : std::string("(unknown)");
}

TEST(Vocabulary, KnowsWhatFrameworksCallTheLoss) {
  for (const char* raw : {"loss", "train/loss", "Train Loss", "train-loss", "TRAIN_LOSS", " lm loss "}) {
    EXPECT_EQ(SignalOf(raw), "loss") << raw;
  }
}

TEST(Vocabulary, DistinguishesTrainingFromEvaluation) {
  EXPECT_EQ(SignalOf("eval_loss"), "eval_loss");
  EXPECT_EQ(SignalOf("val/loss"), "eval_loss");
}

TEST(Vocabulary, TakesALabelFromTheNameAsItIsSpelled) {
  const auto meaning = Interpret("eval_Wiki-103_loss");
  ASSERT_TRUE(meaning);
  EXPECT_EQ(meaning->signal, "eval_loss");
  EXPECT_THAT(meaning->labels, ElementsAre(Pair("dataset", "Wiki-103")));
}

TEST(Vocabulary, ANameWithNothingInThePlaceOfTheLabelIsUnknown) { EXPECT_EQ(SignalOf("eval__loss"), "(unknown)"); }

TEST(Vocabulary, LeavesUnknownNamesAlone) {
  EXPECT_EQ(SignalOf("my_special_metric"), "(unknown)");
  EXPECT_EQ(SignalOf(""), "(unknown)");
  EXPECT_EQ(InterpretFact("my_special_setting"), "");
}

TEST(Vocabulary, KnowsSettingsByTheirFrameworksNames) {
  EXPECT_EQ(InterpretFact("learning_rate"), "lr");
  EXPECT_EQ(InterpretFact("max_grad_norm"), "max_grad_norm");
}

TEST(NamesByStemNamespaceAndUnit, ASlashBeforeTheSecondCountsByIt) {
  for (const char* raw : {"step/s", "it/sec", "batches/s"}) EXPECT_NE(SignalOf(raw), "step_time_s") << raw;
  EXPECT_EQ(SignalOf("s/step"), "step_time_s");
  EXPECT_EQ(SignalOf("images/sec"), "samples_per_s");
  EXPECT_EQ(SignalOf("step time/s"), "step_time_s");
}

TEST(NamesByStemNamespaceAndUnit, APlaceWithinTheModelSaysNothing) {
  EXPECT_EQ(SignalOf("main/loss"), "loss");
  EXPECT_EQ(SignalOf("validation/main/accuracy"), "eval_accuracy");
}

TEST(NamesByStemNamespaceAndUnit, SumsAndMeansOfWhatAnAgentGotAreItsReward) {
  for (const char* raw : {"Total reward", "mean_total_reward", "cumulative_reward"})
    EXPECT_EQ(SignalOf(raw), "reward") << raw;
  EXPECT_EQ(SignalOf("score"), "(unknown)");
}

TEST(NamesByStemNamespaceAndUnit, AWeakStemStandsWithoutItsQuantity) {
  EXPECT_EQ(SignalOf("Data"), "data_time_s");
  EXPECT_TRUE(Interpret("Data")->weak);
}

// Two rows that claim one name would make the meaning depend on the order of the file.
TEST(Vocabulary, NoNameStandsForTwoSignals) {
  for (const SignalRow& row : Signals()) {
    EXPECT_EQ(SignalOf(row.id), row.id);
    for (const std::string_view alias : row.aliases) {
      if (alias.find('*') != std::string_view::npos) continue;
      EXPECT_EQ(SignalOf(alias), row.id) << alias;
      EXPECT_EQ(Interpret(alias)->scale, 1) << alias;
    }
    for (const ScaledName& scaled : row.scaled) {
      EXPECT_EQ(SignalOf(scaled.name), row.id) << scaled.name;
      EXPECT_EQ(Interpret(scaled.name)->scale, scaled.factor) << scaled.name;
      EXPECT_FALSE(row.unit.empty() && row.id != "entropy") << row.id << " has no unit to scale to";
    }
  }
}

TEST(Vocabulary, NoNameStandsForTwoSettings) {
  for (const FactRow& row : Facts()) {
    EXPECT_EQ(InterpretFact(row.id), row.id);
    for (const std::string_view alias : row.aliases) EXPECT_EQ(InterpretFact(alias), row.id) << alias;
  }
}

TEST(Vocabulary, ANameWithAStarSaysWhichLabelItGives) {
  for (const SignalRow& row : Signals()) {
    for (const std::string_view alias : row.aliases) {
      if (alias.find('*') == std::string_view::npos) continue;
      EXPECT_FALSE(row.label.empty()) << row.id << ": " << alias;
      EXPECT_EQ(alias.find('*'), alias.rfind('*')) << row.id << ": " << alias;
    }
  }
}

}  // namespace
}  // namespace vigil::catalogue
