#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/base.h"
#include "base/decimal.h"

namespace vigil {
namespace {

// To the last bit, the sign of zero included; one NaN is like another.
bool SameNumber(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

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

// Without an exponent, or with one that says the opposite, it is the digits that decide.
TEST(ParseNumber, OverflowAndUnderflowAreDistinguishedByTheValue) {
  const std::string zeros(400, '0');
  EXPECT_EQ(ParseNumber("0." + zeros + "1"), 0.0);
  EXPECT_EQ(ParseNumber("0." + zeros + "1e20"), 0.0);
  EXPECT_EQ(ParseNumber("1" + zeros), INFINITY);
  EXPECT_EQ(ParseNumber("1" + zeros + "e-20"), INFINITY);
  EXPECT_EQ(ParseNumber("1" + zeros + "e-400"), 1.0);
  EXPECT_EQ(ParseNumber("0." + zeros + "1e401"), 1.0);
  EXPECT_EQ(ParseNumber("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(ParseNumber("1e99999999999999999999"), INFINITY);
  EXPECT_EQ(ParseNumber("3e9223372036854775807"), INFINITY);
  EXPECT_EQ(ParseNumber("3e-9223372036854775807"), 0.0);
  EXPECT_EQ(ParseNumber("0.03e-9223372036854775807"), 0.0);
  EXPECT_EQ(ParseNumber("0e99999999999999999999"), 0.0);
  EXPECT_EQ(ParseNumber(zeros + "." + zeros), 0.0);
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

TEST(ParseNumberPrefix, EndsWhereTheNumberDoes) {
  const std::tuple<const char*, double, std::size_t> cases[] = {
      {"1e", 1, 1},      {"1e+", 1, 1},          {"1e-x", 1, 1},         {"1.e5,", 1e5, 4},
      {"1.", 1, 2},      {".5x", 0.5, 2},        {"1.5.2", 1.5, 3},      {"007", 7, 3},
      {"0x10", 0, 1},    {"+2E+1-", 20, 5},      {"-0", -0.0, 2},        {"12 ", 12, 2},
      {"1e5e5", 1e5, 3}, {"3,4", 3, 1},          {"1_000", 1, 1},        {"-1.5e-3}", -1.5e-3, 7},
      {"1-2", 1, 1},     {"-nan(ind)]", NAN, 9}, {"nan(snan),", NAN, 9}, {"nan(3)", NAN, 3},
  };
  for (const auto& [text, value, length] : cases) {
    std::size_t used = 0;
    const auto read = ParseNumberPrefix(text, used);
    ASSERT_TRUE(read) << text;
    EXPECT_TRUE(SameNumber(*read, value)) << text;
    EXPECT_EQ(used, length) << text;
  }
}

TEST(ParseHex, ReadsDigitsOnly) {
  EXPECT_EQ(ParseHex("00fF"), 255U);
  EXPECT_EQ(ParseHex("ffffffffffffffff"), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"", "0x1", "-1", "1g", "10000000000000000"}) EXPECT_FALSE(ParseHex(text)) << text;
}

// ---- the fast way, against the C library

// Compares all three ways to read `text` with strtod: the prefix, and the fast way with and without a guarded end.
// Returns whether the fast way took it.
bool AgreesWithStrtod(const std::string& text) {
  const double expected = std::strtod(text.c_str(), nullptr);
  std::size_t used = 0;
  const auto read = ParseNumberPrefix(text, used);
  EXPECT_TRUE(read && used == text.size()) << text;
  EXPECT_TRUE(SameNumber(read.value_or(NAN), expected)) << text;
  const std::string line = text + ",\n";
  double guarded = 0;
  const char* const after = TakeDecimal<TextEnd::kGuarded>(line.data(), line.data() + line.size(), guarded);
  double bounded = 0;
  const char* const at = TakeDecimal<TextEnd::kAnywhere>(line.data(), line.data() + text.size(), bounded);
  EXPECT_EQ(after, at) << text;
  if (after == nullptr) return false;
  EXPECT_EQ(after, line.data() + text.size()) << text;
  EXPECT_TRUE(SameNumber(guarded, expected)) << text;
  EXPECT_TRUE(SameNumber(bounded, expected)) << text;
  return true;
}

TEST(Decimal, IsTheNearestDoubleForDigitsPointsAndExponents) {
  std::mt19937_64 random(3);
  int fast = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text = std::to_string(random() >> (random() % 60));
    text.insert(random() % (text.size() + 1), ".");
    if (i % 2 == 0) text.insert(0, i % 3 == 0 ? "-0.000" : "-");
    if (text.find('.') != text.rfind('.')) text.erase(text.rfind('.'), 1);
    if (i % 5 == 0) text += "e" + std::to_string(static_cast<int>(random() % 80) - 45);
    fast += AgreesWithStrtod(text) ? 1 : 0;
  }
  EXPECT_GT(fast, 130'000);
}

TEST(Decimal, ReadsEveryDoubleBackFromWhatIsWrittenOfIt) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    for (const std::string& text :
         {fmt::format("{}", value), fmt::format("{:.17g}", value), fmt::format("{:.6e}", value)})
      AgreesWithStrtod(text);
    EXPECT_EQ(ParseNumber(FormatExact(value)), value);
  }
}

// What metrics look like, in all the forms that trainers print.
TEST(Decimal, TakesNearlyAllThatIsPrintedOfMetrics) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> logarithm(0, 4);
  int fast = 0;
  constexpr int kMetrics = 20'000;
  for (int i = 0; i < kMetrics; ++i) {
    const double value = std::exp(logarithm(random));
    fast += AgreesWithStrtod(fmt::format("{}", value)) ? 1 : 0;
    fast += AgreesWithStrtod(fmt::format("{:.4f}", value)) ? 1 : 0;
    fast += AgreesWithStrtod(fmt::format("-{:.3e}", value)) ? 1 : 0;
    fast += AgreesWithStrtod(fmt::format("{}", static_cast<float>(value))) ? 1 : 0;
  }
  EXPECT_GT(fast, 4 * kMetrics * 99 / 100);
}

TEST(Decimal, IsRightAtTheLimits) {
  const std::string zeros(60, '0');
  for (const std::string text : {"0",
                                 "-0",
                                 "0.0",
                                 "9007199254740992",
                                 "9007199254740993",
                                 "9007199254740993.0",
                                 "9007199254740992.5",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "36893488147419103232",
                                 "184467440737095516160",
                                 "1844674407370955161.6",
                                 "9999999999999999999",
                                 "99999999999999999999",
                                 "0.9999999999999999999",
                                 "1.7976931348623157e308",
                                 "1.7976931348623158e308",
                                 "1.7976931348623159e308",
                                 "1e308",
                                 "1e309",
                                 "-1e309",
                                 "2.2250738585072014e-308",
                                 "2.2250738585072011e-308",
                                 "4.9e-324",
                                 "2.4703282292062327e-324",
                                 "2.4703282292062328e-324",
                                 "1e-324",
                                 "-1e-400",
                                 "1e22",
                                 "1e23",
                                 "123456789012345678e-22",
                                 "1e-22",
                                 "1e-23",
                                 "9007199254740993e-27",
                                 "9007199254740993e-28",
                                 "5e-27",
                                 "0e5",
                                 "0e-50",
                                 "0e400",
                                 "1e0000000005",
                                 "1e-0000000005"})
    AgreesWithStrtod(text);
  for (std::size_t count = 0; count <= zeros.size(); ++count) {
    AgreesWithStrtod("0." + zeros.substr(0, count) + "12345678901234567");
    AgreesWithStrtod("1" + zeros.substr(0, count) + ".5");
    AgreesWithStrtod(zeros.substr(0, count) + "1.5");
    AgreesWithStrtod("1.5" + zeros.substr(0, count));
  }
}

// Digits in any number, and halves between two doubles, where the last digit decides.
TEST(Decimal, IsTheNearestDoubleWhereTheLastDigitDecides) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto digits = 1 + random() % 45; digits > 0; --digits) text += static_cast<char>('0' + random() % 10);
    if (i % 2 == 0) text.insert(random() % text.size(), ".");
    AgreesWithStrtod(text);
    // An odd number of 54 bits lies in the middle of two doubles.
    const std::uint64_t middle = (random() >> 10U) | (std::uint64_t{1} << 53U) | 1U;
    AgreesWithStrtod(std::to_string(middle));
    AgreesWithStrtod(std::to_string(middle) + ".000");
    AgreesWithStrtod(std::to_string(middle) + "e-" + std::to_string(random() % 30));
  }
}

// Nothing behind the end is read: the text is the whole of an allocation, whose end the sanitizers watch.
TEST(Decimal, StopsAtTheEndOfTheText) {
  const std::string_view text = "-1234567890.123456789e-05";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::vector<char> part(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
    double value = 0;
    const char* const after = TakeDecimal<TextEnd::kAnywhere>(part.data(), part.data() + part.size(), value);
    if (after == nullptr) continue;
    EXPECT_EQ(after, part.data() + part.size());
    EXPECT_EQ(value, std::strtod(std::string(text.substr(0, length)).c_str(), nullptr));
  }
}

TEST(Decimal, LeavesWhatIsNoPlainNumber) {
  for (const std::string text : {"", "-", ".", "-.", "+1", "e5", "1e", "1e+", "nan", "inf", "--1", " 1"}) {
    double value = 0;
    EXPECT_EQ(TakeDecimal<TextEnd::kAnywhere>(text.data(), text.data() + text.size(), value), nullptr) << text;
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
