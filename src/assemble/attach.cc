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

bool IsRun(const Unit& unit) { return unit.has_points && !HasNoDistinctiveMetric(unit); }

bool IsFailure(const model::Event& event) {
  return event.kind == model::EventKind::kException || event.kind == model::EventKind::kSignature;
}

// The log of a run that failed before it wrote a number.
bool IsCrashLog(const Unit& unit) {
  return !IsRun(unit) && std::any_of(unit.run.events.begin(), unit.run.events.end(), IsFailure);
}

// The last error of a log, by which it is known again in another one; empty when there is none.
std::string_view LastErrorOf(const Unit& unit) {
  const auto& events = unit.run.events;
  const auto last = std::find_if(events.rbegin(), events.rend(), IsFailure);
  return last == events.rend() ? std::string_view() : last->text;
}

// Whether one directory lies in the other.
bool AreNested(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (!b.starts_with(a)) return false;
  return a.size() == b.size() || a.empty() || a.ends_with('/') || b[a.size()] == '/';
}

// Runs by their run_directory, to find the one that a file without numbers (settings, a traceback) can belong to.
class Owners {
 public:
  Owners(std::vector<Unit>& units, bool (*can_own)(const Unit&)) {
    for (Unit& unit : units) {
      if (!unit.merged_away && can_own(unit)) by_directory_[unit.run_directory].push_back(&unit);
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
  const Owners owners(units, IsRun);
  for (Unit& unit : units) {
    if (unit.merged_away || !HasNoDistinctiveMetric(unit)) continue;
    if (Unit* const owner = owners.Find(unit.run_directory)) AbsorbByMerging(*owner, unit);
  }
}

void JoinCrashes(std::vector<Unit>& units) {
  constexpr std::size_t kMostCrashes = 256;  // each is compared with each
  std::vector<Unit*> crashes;
  for (Unit& unit : units) {
    if (!unit.merged_away && IsCrashLog(unit) && crashes.size() < kMostCrashes) crashes.push_back(&unit);
  }
  for (Unit* const one : crashes) {
    for (Unit* const other : crashes) {
      if (one == other || one->merged_away || other->merged_away) continue;
      const bool same = !LastErrorOf(*one).empty() && LastErrorOf(*one) == LastErrorOf(*other);
      if (same && AreNested(one->run_directory, other->run_directory)) AbsorbByMerging(*one, *other);
    }
  }
  const Owners owners(units, IsCrashLog);
  for (Unit& unit : units) {
    if (unit.merged_away || unit.has_points || IsCrashLog(unit)) continue;
    if (Unit* const owner = owners.Find(unit.run_directory)) AbsorbByMerging(*owner, unit);
  }
}

}  // namespace vigil::assemble
