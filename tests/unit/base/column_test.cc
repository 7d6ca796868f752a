#include "base/column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace vigil {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Numbers = Column<std::int64_t>;

TEST(Column, ACopySharesTheMemory) {
  const Numbers first = {1, 2, 3};
  const Numbers second = first;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
  EXPECT_EQ(second.data(), first.data());
  EXPECT_THAT(second, ElementsAre(1, 2, 3));
}

TEST(Column, ACopyDoesNotSeeWhatIsAppendedLater) {
  Numbers column = {1, 2, 3};
  column.reserve(100);
  const Numbers copy = column;
  column.push_back(4);
  EXPECT_THAT(copy, ElementsAre(1, 2, 3));
  EXPECT_THAT(column, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(copy.data(), column.data()) << "what was appended has its place behind the copy";
  EXPECT_TRUE(copy.IsSharedPrefixOf(column));
  EXPECT_FALSE(column.IsSharedPrefixOf(copy));
}

TEST(Column, ACopyThatIsAppendedToGoesItsOwnWay) {
  Numbers column = {1, 2, 3};
  column.reserve(100);
  Numbers copy = column;
  copy.push_back(40);
  column.push_back(4);
  EXPECT_THAT(copy, ElementsAre(1, 2, 3, 40));
  EXPECT_THAT(column, ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(copy.IsSharedPrefixOf(column));
}

TEST(Column, AppendsInPlaceAfterItWasMoved) {
  Numbers column;
  column.reserve(100);
  column.push_back(1);
  const Numbers copy = column;
  Numbers moved = std::move(column);
  moved.push_back(2);
  EXPECT_EQ(moved.data(), copy.data());
  EXPECT_THAT(copy, ElementsAre(1));
}

TEST(Column, HoldersKeepTheirMemoryWhenAnotherOneOutgrowsIt) {
  Numbers column = {1, 2};
  const Numbers copy = column;
  for (std::int64_t i = 3; i <= 1000; ++i) column.push_back(i);
  EXPECT_THAT(copy, ElementsAre(1, 2));
  EXPECT_EQ(column.size(), 1000U);
  EXPECT_EQ(column.back(), 1000);
  EXPECT_EQ(column[1], 2);
}

TEST(Column, APrefixIsHowTheWholeBegins) {
  Numbers column = {1, 2, 3, 4};
  EXPECT_THAT(column.Prefix(2), ElementsAre(1, 2));
  EXPECT_THAT(column.Prefix(9), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(column.Prefix(0), IsEmpty());
  EXPECT_TRUE(column.Prefix(2).IsSharedPrefixOf(column));
  EXPECT_TRUE(Numbers().IsSharedPrefixOf(column));
  EXPECT_FALSE((Numbers{1, 2}).IsSharedPrefixOf(column)) << "equal, but not known to be";
}

TEST(Column, ANumberThatAnotherHolderSeesIsCopiedBeforeItIsChanged) {
  Numbers column = {1, 2, 3};
  const Numbers copy = column;
  column.Mutable()[0] = 10;
  EXPECT_THAT(copy, ElementsAre(1, 2, 3));
  EXPECT_THAT(column, ElementsAre(10, 2, 3));
}

TEST(Column, NumbersBehindWhatOthersSeeAreChangedInPlace) {
  Numbers column = {1, 2, 3, 4};
  const Numbers prefix = column.Prefix(2);
  for (std::int64_t& number : column.MutableFrom(2)) number *= 10;
  EXPECT_EQ(column.data(), prefix.data());
  EXPECT_THAT(column, ElementsAre(1, 2, 30, 40));
  column.MutableFrom(1).front() = 20;
  EXPECT_NE(column.data(), prefix.data());
  EXPECT_THAT(prefix, ElementsAre(1, 2));
}

TEST(Column, IsChangedInPlaceWhenNobodySharesItAnyMore) {
  Numbers column = {1, 2, 3};
  const std::int64_t* const before = column.data();
  {
    const Numbers copy = column;
  }
  column.ReplaceLast(30);
  EXPECT_EQ(column.data(), before);
  EXPECT_THAT(column, ElementsAre(1, 2, 30));
}

TEST(Column, WhatIsAppendedToATruncatedColumnIsNotSeenByOthers) {
  Numbers column = {1, 2, 3};
  column.reserve(100);
  const Numbers copy = column;
  const Numbers prefix = column.Prefix(1);
  column.Truncate(1);
  column.push_back(20);
  EXPECT_THAT(column, ElementsAre(1, 20));
  EXPECT_THAT(copy, ElementsAre(1, 2, 3));
  EXPECT_THAT(prefix, ElementsAre(1));
}

TEST(Column, IsFilledUpToASize) {
  Numbers column = {1};
  column.FillTo(3, 7);
  column.FillTo(2, 9);
  EXPECT_THAT(column, ElementsAre(1, 7, 7));
}

TEST(Column, EqualsWhatHoldsTheSameNumbers) {
  EXPECT_EQ((Numbers{1, 2}), (Numbers{1, 2}));
  EXPECT_EQ((Numbers{1, 2}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_NE((Numbers{1, 2}), (Numbers{1, 2, 3}));
  EXPECT_NE((Numbers{1, 2}), (std::vector<std::int64_t>{1, 3}));
}

// Holders of columns and vectors that are treated alike hold the same, whatever is done in whatever order.
TEST(Column, BehavesLikeAVectorThatIsCopied) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random()) % count; };
  std::vector<Numbers> columns(4);
  std::vector<std::vector<std::int64_t>> vectors(4);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t at = below(4);
    const std::size_t other = below(4);
    const auto number = static_cast<std::int64_t>(i);
    const std::size_t size = vectors[at].size();
    switch (below(8)) {
      case 0:
        columns[at] = columns[other];
        vectors[at] = vectors[other];
        break;
      case 1:
        columns[at] = columns[other].Prefix(size / 2);
        vectors[at] = {vectors[other].begin(),
                       vectors[other].begin() + static_cast<std::ptrdiff_t>(std::min(size / 2, vectors[other].size()))};
        break;
      case 2:
        columns[at].Truncate(size / 2);
        vectors[at].resize(size / 2);
        break;
      case 3:
        if (size == 0) break;
        columns[at].MutableFrom(size / 2).front() = number;
        vectors[at][size / 2] = number;
        break;
      case 4:
        if (at == other) break;
        columns[at] = std::move(columns[other]);
        columns[other] = {};
        vectors[at] = std::exchange(vectors[other], {});
        break;
      default:
        columns[at].push_back(number);
        vectors[at].push_back(number);
    }
    for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(columns[k], vectors[k]) << i;
  }
}

}  // namespace
}  // namespace vigil
