#include "assemble/attach.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "ingest/ingest.h"

namespace vigil::assemble {
namespace {

// Whether a file holds nothing by which its run could be known: settings, a traceback, a table of the learning rate
// that a monitor keeps for itself.
bool HasNoDistinctiveMetric(const Unit& unit) {
  return std::all_of(unit.run.series.begin(), unit.run.series.end(), [](const model::Series& series) {
    return series.empty() || series.signal == "lr" || series.signal == "epoch";
  });
}

// Runs by their run_directory, to find the one that a file without numbers (settings, a traceback) can belong to.
class Owners {
 public:
  explicit Owners(std::vector<Unit>& units) {
    for (Unit& unit : units) {
      if (!unit.merged_away && unit.has_points && !HasNoDistinctiveMetric(unit))
        by_directory_[unit.run_directory].push_back(&unit);
    }
  }

  // Alone in its run_directory, or the only one below it, or the only one above it; null when there is no such run.
  Unit* Find(const std::string& run_directory) const {
    if (const auto at = by_directory_.find(run_directory); at != by_directory_.end()) return OnlyOne(at->second);
    bool several = false;
    Unit* const below = FindBelow(run_directory, several);
    if (below != nullptr || several) return below;
    return FindAbove(run_directory);
  }

 private:
  static Unit* OnlyOne(const std::vector<Unit*>& runs) { return runs.size() == 1 ? runs.front() : nullptr; }

  Unit* FindBelow(const std::string& run_directory, bool& several) const {
    const std::string prefix =
        run_directory.empty() || run_directory.ends_with('/') ? run_directory : run_directory + "/";
    Unit* found = nullptr;
    for (auto at = by_directory_.lower_bound(prefix); at != by_directory_.end() && at->first.starts_with(prefix);
         ++at) {
      several = found != nullptr || at->second.size() > 1;
      if (several) return nullptr;
      found = at->second.front();
    }
    return found;
  }

  Unit* FindAbove(std::string_view run_directory) const {
    Unit* found = nullptr;
    while (!run_directory.empty()) {
      const std::string_view above = ingest::FolderOf(run_directory);
      if (const auto at = by_directory_.find(std::string(above)); at != by_directory_.end()) {
        if (found != nullptr || at->second.size() > 1) return nullptr;
        found = at->second.front();
      }
      if (above == run_directory) break;
      run_directory = above;
    }
    return found;
  }

  std::map<std::string, std::vector<Unit*>> by_directory_;
};

}  // namespace

void AttachRest(std::vector<Unit>& units) {
  const Owners owners(units);
  for (Unit& unit : units) {
    if (unit.merged_away || !HasNoDistinctiveMetric(unit)) continue;
    if (Unit* const owner = owners.Find(unit.run_directory)) AbsorbByMerging(*owner, unit);
  }
}

}  // namespace vigil::assemble
