// Units that a log states beside its values.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log_support.h"

namespace vigil::textlog {
namespace {

// The last value of a series in three lines like the given one.
double LastOf(std::string_view rest, std::string_view raw) {
  std::string text;
  for (int step = 1; step <= 3; ++step) text += fmt::format("step {} | loss 2.{} | {}\n", step, step, rest);
  const Points points = PointsOf(ReadLog(text), raw);
  return points.size() == 3 ? points.back().second : -1;
}

TEST(StatedUnits, OfMemoryBecomeGibibytes) {
  EXPECT_DOUBLE_EQ(LastOf("mem 512MiB", "mem"), 0.5);
  EXPECT_DOUBLE_EQ(LastOf("mem 512 MiB", "mem"), 0.5);
  EXPECT_DOUBLE_EQ(LastOf("mem 2GiB", "mem"), 2);
  EXPECT_DOUBLE_EQ(LastOf("mem 2.5G", "mem"), 2.5);
  EXPECT_DOUBLE_EQ(LastOf("mem 512M", "mem"), 0.5);
  EXPECT_DOUBLE_EQ(LastOf("mem 1TiB", "mem"), 1024);
}

TEST(StatedUnits, OfTimeBecomeSeconds) {
  EXPECT_DOUBLE_EQ(LastOf("step_time 250ms", "step_time"), 0.25);
  EXPECT_DOUBLE_EQ(LastOf("step_time 250 ms", "step_time"), 0.25);
  EXPECT_DOUBLE_EQ(LastOf("step_time 250 ms, lr 0.5", "step_time"), 0.25);
  EXPECT_DOUBLE_EQ(LastOf("step_time 250 ms, lr 0.5", "lr"), 0.5);
  EXPECT_DOUBLE_EQ(LastOf("step_time 0.25 s", "step_time"), 0.25);
}

TEST(StatedUnits, LeaveOtherNamesAlone) {
  EXPECT_DOUBLE_EQ(LastOf("queue 250 ms", "queue"), 250);
  EXPECT_DOUBLE_EQ(LastOf("lr 0.5 memory 3", "lr"), 0.5);
}

}  // namespace
}  // namespace vigil::textlog
