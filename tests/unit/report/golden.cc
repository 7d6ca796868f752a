#include "golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/paths.h"

namespace vigil::report {

void ExpectGolden(const std::string& name, std::string_view text) {
  const std::string path = std::string(testing_support::kSourceDir) + "/tests/unit/report/golden/" + name;
  if (std::getenv("VIGIL_REWRITE") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.is_open()) << path << " is missing; VIGIL_REWRITE=1 writes it";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "differs from " << path << "; VIGIL_REWRITE=1 rewrites it";
}

}  // namespace vigil::report
