#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

TEST(ParseNumberPrefix, SaysHowMuchItUsed) {
  std::size_t used = 0;
  EXPECT_EQ(ParseNumberPrefix("0.5, 'lr'", used), 0.5);
  EXPECT_EQ(used, 3U);
  EXPECT_EQ(ParseNumberPrefix("-inf]", used), -INFINITY);
  EXPECT_EQ(used, 4U);
  EXPECT_TRUE(std::isnan(*ParseNumberPrefix("nan,", used)));
  EXPECT_EQ(used, 3U);
}

TEST(ParseNumberPrefix, TakesNoWordThatOnlyBeginsLikeANumber) {
  std::size_t used = 0;
  for (const char* text : {"info", "nan_count", "infinities", "", "+", "abc", "--3"}) {
    EXPECT_FALSE(ParseNumberPrefix(text, used)) << text;
  }
}

TEST(ParseInteger, ReadsWholeNumbersOnly) {
  EXPECT_EQ(ParseInteger(" 42 "), 42);
  EXPECT_EQ(ParseInteger("+7"), 7);
  EXPECT_EQ(ParseInteger("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "+", "1.0", "1e3", "9223372036854775808", "12 13", "0x1"}) {
    EXPECT_FALSE(ParseInteger(text)) << text;
  }
}

TEST(FormatExact, ReadsBackToTheSameNumber) {
  for (const double value : {0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, -0.0, 123456789.125}) {
    EXPECT_EQ(ParseNumber(FormatExact(value)), value) << FormatExact(value);
  }
  EXPECT_EQ(FormatExact(INFINITY), "inf");
}

TEST(FormatBytes, PicksTheUnit) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{80} << 30U), "80.0 GiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<std::uint64_t>::max()), "16384.0 PiB");
}

TEST(CheckedArithmetic, SaysWhenTheResultDoesNotFit) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(CheckedAdd(kMost - 1, 1), kMost);
  EXPECT_FALSE(CheckedAdd(kMost, 1));
  EXPECT_EQ(CheckedMultiply(std::uint64_t{1} << 32U, std::uint64_t{1} << 31U), std::uint64_t{1} << 63U);
  EXPECT_FALSE(CheckedMultiply(std::uint64_t{1} << 32U, std::uint64_t{1} << 32U));
}

}  // namespace
}  // namespace vigil
