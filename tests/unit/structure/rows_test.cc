// Rows name code, and the code is there.
#include <gtest/gtest.h>

#include "catalogue/catalogue.h"
#include "detect/detect.h"

namespace vigil::structure {
namespace {

TEST(Rows, EveryDetectorNamedByAFindingHasCode) {
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    const bool named = !row.detector.empty();
    EXPECT_TRUE(!named || detect::FindFactory(row.detector) != nullptr) << row.id << ": " << row.detector;
  }
  EXPECT_EQ(detect::FindFactory("NoSuchDetector"), nullptr);
}

}  // namespace
}  // namespace vigil::structure
