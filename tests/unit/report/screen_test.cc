#include "report/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base.h"

namespace vigil::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Wrap, BreaksAtBlanks) { EXPECT_THAT(Wrap("one two three", 8), ElementsAre("one two", "three")); }
TEST(Wrap, CutsAWordThatIsLongerThanTheLine) {
  EXPECT_THAT(Wrap("a /very/long/path b", 6), ElementsAre("a", "/very/", "long/p", "ath b"));
}
TEST(Wrap, CountsWideCharactersTwice) { EXPECT_THAT(Wrap("日本 語", 5), ElementsAre("日本", "語")); }
TEST(Wrap, MakesProgressWhereNotEvenOneCharacterFits) { EXPECT_THAT(Wrap("日本", 1), ElementsAre("日", "本")); }
TEST(Wrap, HasNoLinesForNothing) { EXPECT_THAT(Wrap("  ", 10), IsEmpty()); }

TEST(Fit, LeavesWhatFits) { EXPECT_EQ(Fit("loss", 4, "..."), "loss"); }
TEST(Fit, ShowsTheCut) { EXPECT_EQ(Fit("gradient", 6, "..."), "gra..."); }
TEST(Fit, NeverSplitsACharacter) { EXPECT_EQ(Fit("日本語", 5, "…"), "日本…"); }
TEST(Fit, DropsTheMarkWhereThereIsNoRoomForIt) { EXPECT_EQ(Fit("gradient", 2, "..."), "gr"); }

TEST(FitMiddle, KeepsBothEnds) { EXPECT_EQ(FitMiddle("runs/first/lr-3e-3", 12, "..."), "run...r-3e-3"); }
TEST(FitMiddle, LeavesWhatFits) { EXPECT_EQ(FitMiddle("loss", 4, "..."), "loss"); }
TEST(FitMiddle, FitsWideCharacters) { EXPECT_LE(DisplayWidth(FitMiddle("日本語日本語日本語", 8, "…")), 8U); }

TEST(ToAscii, SpellsOutWhatItKnows) { EXPECT_EQ(ToAscii("1 → 2 … é"), "1 -> 2 ... ?"); }

}  // namespace
}  // namespace vigil::report
