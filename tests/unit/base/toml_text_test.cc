// TOML that the parser must not meet: what its assertions would end the process for, and depth that no stack holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base.h"

namespace vigil {
namespace {

using ::testing::HasSubstr;

std::string Repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(Toml, KeysAndBracketsMayBeNestedAsDeepAsSettingsAre) {
  EXPECT_FALSE(FaultOfToml("a.b.c = 1.5\n[d.e.\"f.g\"]\nh = [[1.5, 2.5], {i.j = 3}]\n"));
  EXPECT_FALSE(FaultOfToml(Repeated("a.", 31) + "a = 1"));
  EXPECT_FALSE(FaultOfToml("a = " + Repeated("[", 32) + Repeated("]", 32)));
}

TEST(Toml, DepthIsAFaultWithItsLine) {
  const std::string texts[] = {
      "\n" + Repeated("a.", 140'000) + "a = 1",
      "\n[" + Repeated("a.", 140'000) + "a]",
      "\nx = { " + Repeated("a . ", 140'000) + "a = 1}",
      "\nx = " + Repeated("[", 140'000),
      "\nx = " + Repeated("{a=", 140'000),
      "\n" + Repeated("\"a\".", 140'000) + "a = 1",
  };
  for (const std::string& text : texts) {
    const auto fault = FaultOfToml(text);
    ASSERT_TRUE(fault) << text.substr(0, 20);
    EXPECT_EQ(fault->line, 2U);
    EXPECT_THAT(std::string(fault->what), HasSubstr("nested"));
  }
}

TEST(Toml, DotsOfTextsAndRemarksAreNoDepth) {
  EXPECT_FALSE(FaultOfToml("# " + Repeated(".", 100) + "\na = '" + Repeated(".", 100) + "'\nb = \"\"\"\n" +
                           Repeated("[.", 100) + "\n\"\"\""));
}

TEST(Toml, AMarkOfTheByteOrderMayStandInFront) {
  EXPECT_FALSE(
      FaultOfToml("\xEF\xBB\xBF"
                  "a = 1"));
}

}  // namespace
}  // namespace vigil
