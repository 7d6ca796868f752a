#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/base.h"

namespace vigil {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Trim, TakesAwaySpaceAtBothEndsOnly) {
  EXPECT_EQ(Trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(CaseInsensitiveComparison, FoldsAsciiLetters) {
  EXPECT_TRUE(EqualsIgnoringCase("NaN", "nAn"));
  EXPECT_FALSE(EqualsIgnoringCase("nan", "nano"));
  EXPECT_TRUE(StartsWithIgnoringCase("Infinity", "INF"));
  EXPECT_FALSE(StartsWithIgnoringCase("in", "inf"));
  EXPECT_EQ(ToLower("Train/LOSS_9"), "train/loss_9");
}

TEST(CaseInsensitiveComparison, LeavesBytesAboveAsciiAlone) {
  EXPECT_EQ(ToLower("\xC3\x84"), "\xC3\x84");
  EXPECT_FALSE(EqualsIgnoringCase("\xC3\x84", "\xC3\xA4"));
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split(",", ','), ElementsAre("", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(Join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(Join({"a"}, ", "), "a");
  EXPECT_EQ(Join({}, ", "), "");
}

TEST(Printable, RemovesWhatCouldSteerATerminal) {
  EXPECT_EQ(Printable("loss\x1b[31m red\x07"), "loss[31m red");
  EXPECT_EQ(Printable("a\tb\nc\r"), "a\tbc");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "31m")
      << "the one-character form of ESC [";
}

TEST(Printable, KeepsValidUtf8AndMarksTheRest) {
  EXPECT_EQ(Printable("Größe 損失 🙂"), "Größe 損失 🙂");
  EXPECT_EQ(Printable("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(Printable("\xC3"), "\xEF\xBF\xBD") << "cut in the middle of a character";
  EXPECT_EQ(Printable("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "an overlong form";
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "half of a surrogate pair";
  EXPECT_EQ(Printable("\xF4\x90\x80\x80").substr(0, 3), "\xEF\xBF\xBD") << "above the last code point";
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("loss"), 4U);
  EXPECT_EQ(DisplayWidth("Größe"), 5U);
  EXPECT_EQ(DisplayWidth("損失"), 4U);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1U) << "a combining accent takes no column";
  EXPECT_EQ(DisplayWidth("\xFF\xFF"), 2U) << "invalid bytes are shown as one mark each";
  EXPECT_EQ(DisplayWidth(""), 0U);
}

TEST(NearestNames, OffersTheNearestFirst) {
  EXPECT_THAT(NearestNames("loss/spik", {"grad/spike", "loss/spike", "lr/zero"}),
              ElementsAre("loss/spike", "grad/spike"));
}

TEST(NearestNames, OffersNamesThatContainTheWord) {
  EXPECT_THAT(NearestNames("overfit", {"loss/overfit", "lr/zero"}), ElementsAre("loss/overfit"));
}

TEST(NearestNames, OffersNothingThatIsFarAway) {
  EXPECT_THAT(NearestNames("xyzzy", {"loss/spike", "lr/zero"}), IsEmpty());
}

TEST(NearestNames, OffersAtMostAsManyAsAsked) { EXPECT_EQ(NearestNames("aa", {"aa1", "aa2", "aa3"}, 2).size(), 2U); }

TEST(NearestNames, SurvivesAHugeWord) {
  EXPECT_THAT(NearestNames(std::string(100'000, 'x'), {"loss/spike"}), IsEmpty());
}

TEST(Result, CarriesAValueOrTheReasonWhyNot) {
  const Result<int> good = 3;
  const Result<int> bad = Fail(ErrorCode::kInvalid, "a.csv: no header");
  EXPECT_EQ(*good, 3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().Text(), "a.csv: no header");
  EXPECT_TRUE(Status().has_value());
}

}  // namespace
}  // namespace vigil
