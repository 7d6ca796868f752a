// The contract of ids: whatever the catalogue document names has a row, so that `vigil explain` knows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "support/paths.h"

namespace vigil::catalogue {
namespace {

// The ids in backticks of the first cell of each row of a table, between two headings of the document.
std::vector<std::string> IdsBetween(std::string_view from, std::string_view to) {
  std::ifstream document(std::string(testing_support::kSourceDir) + "/../shared/CATALOGUE.md");
  std::vector<std::string> ids;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) inside = line.starts_with(from) || (inside && !line.starts_with(to));
    if (!inside || !line.starts_with("| `")) continue;
    std::string_view cell = std::string_view(line).substr(2);
    cell = cell.substr(0, cell.find(" |"));
    for (std::size_t open = cell.find('`'); open != std::string_view::npos; open = cell.find('`', open)) {
      const std::size_t close = cell.find('`', open + 1);
      if (close == std::string_view::npos) break;
      ids.emplace_back(cell.substr(open + 1, close - open - 1));
      open = close + 1;
    }
  }
  return ids;
}

TEST(Catalogue, EveryFindingOfTheContractHasARow) {
  const std::vector<std::string> ids = IdsBetween("## Findings", "## Ranges");
  if (ids.empty()) GTEST_SKIP() << "not run: the document is absent";
  std::size_t findings = 0;
  for (const std::string& id : ids) {
    if (id.find('/') == std::string::npos || id.find('<') != std::string::npos) continue;
    ++findings;
    EXPECT_NE(FindFinding(id), nullptr) << id;
  }
  EXPECT_GE(findings, 100U);
}

TEST(Catalogue, EveryCauseOfTheContractHasARow) {
  const std::vector<std::string> ids = IdsBetween("## Causes", "## Remedies");
  if (ids.empty()) GTEST_SKIP() << "not run: the document is absent";
  for (const std::string& id : ids) EXPECT_NE(FindCause(id), nullptr) << id;
  EXPECT_GE(ids.size(), 80U);
}

TEST(Catalogue, AFindingThatNoCodeDecidesSaysWhatWouldOpenIt) {
  for (const FindingRow& row : Findings()) {
    EXPECT_TRUE(row.needs.empty() || row.detector.empty()) << row.id;
  }
}

}  // namespace
}  // namespace vigil::catalogue
