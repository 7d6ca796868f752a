#include "textlog/name_memo.h"

#include <gtest/gtest.h>

#include <string>

#include "catalogue/catalogue.h"

namespace vigil::textlog {
namespace {

TEST(NameMemo, SaysOfANameWhatTheVocabularySaysEachTime) {
  NameMemo names;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(names.SignalOf("learning_rate"), "lr");
    EXPECT_EQ(names.SignalOf("val_loss"), "eval_loss");
    EXPECT_FALSE(names.Knows("request"));
    EXPECT_EQ(names.Find("weight_decay").setting, catalogue::InterpretFact("weight_decay"));
  }
}

TEST(NameMemo, StaysRightWhenThereAreMoreNamesThanItKeeps) {
  NameMemo names;
  for (int i = 0; i < 20'000; ++i) EXPECT_FALSE(names.Knows("worker" + std::to_string(i) + " of shard"));
  EXPECT_EQ(names.SignalOf("loss"), "loss");
  EXPECT_FALSE(names.Knows(std::string(100'000, 'x')));
}

}  // namespace
}  // namespace vigil::textlog
