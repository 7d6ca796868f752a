#include <gtest/gtest.h>

#include <cmath>

#include "base/base.h"

namespace vigil {
namespace {

TEST(ParseNumber, ReadsWhatTrainersPrint) {
  EXPECT_EQ(ParseNumber("2.557"), 2.557);
  EXPECT_EQ(ParseNumber(" 5e-05 "), 5e-05);
  EXPECT_EQ(ParseNumber("+3"), 3.0);
  EXPECT_EQ(ParseNumber("1,048,576"), 1048576.0);
  EXPECT_EQ(ParseNumber("-1,234.5"), -1234.5);
  EXPECT_TRUE(std::isnan(*ParseNumber("nan")));
  EXPECT_TRUE(std::isnan(*ParseNumber("NaN")));
  EXPECT_EQ(ParseNumber("-Infinity"), -INFINITY);
  EXPECT_EQ(ParseNumber("inf"), INFINITY);
}

TEST(ParseNumber, OverflowIsInfinityAndUnderflowIsZero) {
  EXPECT_EQ(ParseNumber("1e999"), INFINITY);
  EXPECT_EQ(ParseNumber("-1e999"), -INFINITY);
  EXPECT_EQ(ParseNumber("1e-999"), 0.0);
}

TEST(ParseNumber, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", "1.2.3", "12abc", "nano", "1,23", ",123", "0x10", "1e", "infinite"}) {
    EXPECT_FALSE(ParseNumber(text)) << text;
  }
}

TEST(FormatNumber, KeepsFourSignificantDigits) {
  EXPECT_EQ(FormatNumber(2.55678), "2.557");
  EXPECT_EQ(FormatNumber(0.00095192), "0.0009519");
  EXPECT_EQ(FormatNumber(NAN), "nan");
  EXPECT_EQ(FormatNumber(-INFINITY), "-inf");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(999), "999");
}

}  // namespace
}  // namespace vigil
