#include "textlog/guard_line.h"

#include <gtest/gtest.h>

namespace vigil::textlog {
namespace {

TEST(GuardLine, SaysWhatWasDecidedAndAboutWhichStep) {
  const struct {
    std::string_view text;
    std::string_view decision;
    std::int64_t step;
  } cases[] = {
      {"guard: step 5: the loss is nan; left out", "guard/skip", 5},
      {"guard: step 150: the gradient norm is nan; back to step 120", "guard/rollback", 150},
      {"guard: step 21: the loss is nan; 10 bad steps in a row were left out; stopped", "guard/stop", 21},
      {"guard: step 7: the loss is 12, 4 times its level; observed", "guard/observe", 7},
      {"guard: the loss is nan; left out", "guard/skip", model::kNoStep},
  };
  for (const auto& expected : cases) {
    const GuardLine line = ReadGuardLine(expected.text);
    EXPECT_EQ(line.decision, expected.decision) << expected.text;
    EXPECT_EQ(line.step, expected.step) << expected.text;
  }
  EXPECT_EQ(ReadGuardLine("step 5: loss 1.2").decision, "");
}

}  // namespace
}  // namespace vigil::textlog
