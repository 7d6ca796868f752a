#include "assemble/passes.h"

#include <array>
#include <map>

#include "assemble/attach.h"
#include "assemble/by_place.h"
#include "assemble/by_values.h"
#include "assemble/copies.h"
#include "assemble/place.h"
#include "catalogue/says.h"

namespace vigil::assemble {
namespace {

// Parts of a key; no path and no id has a line feed in it.
template <class... Parts>
std::string Key(const Parts&... parts) {
  std::string key;
  ((key += parts, key += '\n'), ...);
  return key;
}

std::string ByDirectory(const Unit& unit) { return unit.run_directory; }
std::string ByDirectoryAndFormat(const Unit& unit) { return Key(unit.run_directory, unit.format); }
std::string ByFolderAndFormat(const Unit& unit) { return Key(unit.folder, unit.format); }
// Names of the files of one writer begin alike; a collection of files that were renamed is no run.
std::string ByWriter(const Unit& unit) {
  return Key(unit.folder, unit.format, unit.file.substr(0, unit.file.find("tfevents")));
}
std::string ByStatedRunAndRank(const Unit& unit) {
  if (unit.traits.files != ingest::RunFiles::kNumberedParts) return Key(unit.folder, "", unit.file);
  return Key(unit.folder, "stated", FactOf(unit, ingest::kJournalRun), FactOf(unit, ingest::kJournalRank));
}
std::string ByNameWithoutRank(const Unit& unit) { return Key(unit.format, unit.rank.rest); }
std::string ByNameInAttempts(const Unit& unit) {
  return Key(unit.run_directory, unit.format, unit.file, unit.attempt >= 0 ? "attempt" : "");
}
std::string ByNameWithoutDigits(const Unit& unit) { return Key(unit.folder, unit.format, WithoutDigits(unit.file)); }

template <class T>
model::Statement Say() {
  return T{};
}

constexpr std::array kPasses = {
    Pass{"files-per-metric", Say<says::JoinFilesPerMetric>, Say<says::JoinOrderFilesPerMetric>, ByDirectoryAndFormat,
         JoinFilesPerMetric},
    Pass{"files-per-start", Say<says::JoinFilesPerStart>, Say<says::JoinOrderFilesPerStart>, ByWriter,
         JoinFilesPerStart},
    Pass{"numbered-parts", Say<says::JoinNumberedParts>, Say<says::JoinOrderNumberedParts>, ByStatedRunAndRank,
         JoinNumberedParts},
    Pass{"ranks", Say<says::JoinRanks>, Say<says::JoinOrderRanks>, ByNameWithoutRank, JoinRanks},
    Pass{"attempts", Say<says::JoinAttempts>, Say<says::JoinOrderAttempts>, ByNameInAttempts, JoinAttempts},
    Pass{"copies", Say<says::JoinCopies>, Say<says::JoinOrderCopies>, nullptr, nullptr, JoinCopies},
    Pass{"checkpoint-states", Say<says::JoinCheckpointStates>, Say<says::JoinOrderCheckpointStates>,
         ByDirectoryAndFormat, JoinStates},
    Pass{"numbered-continuations", Say<says::JoinNumberedContinuations>, Say<says::JoinOrderNumberedContinuations>,
         ByNameWithoutDigits, JoinContinuations},
    Pass{"continuations", Say<says::JoinContinuations>, Say<says::JoinOrderContinuations>, ByFolderAndFormat,
         JoinContinuations},
    Pass{"tracker-directory", Say<says::JoinTrackerDirectory>, Say<says::JoinOrderTrackerDirectory>, ByDirectory,
         JoinTrackerDirectory},
    Pass{"run-directory", Say<says::JoinRunDirectory>, Say<says::JoinOrderRunDirectory>, ByDirectory, JoinRunDirectory},
    Pass{"across-directories", Say<says::JoinAcrossDirectories>, Say<says::JoinOrderAcrossDirectories>, nullptr,
         nullptr, JoinAcrossDirectories},
    Pass{"log-and-table", Say<says::JoinLogAndTable>, Say<says::JoinOrderLogAndTable>, nullptr, nullptr,
         JoinLogAndTable},
    Pass{"attach", Say<says::JoinAttach>, Say<says::JoinOrderAttach>, nullptr, nullptr, AttachRest},
    Pass{"one-crash", Say<says::JoinOneCrash>, Say<says::JoinOrderOneCrash>, nullptr, nullptr, JoinCrashes},
};

void JoinGroups(const Pass& pass, std::vector<Unit>& units) {
  std::map<std::string, std::vector<Unit*>> groups;
  for (Unit& unit : units) {
    if (!unit.merged_away) groups[pass.key(unit)].push_back(&unit);
  }
  for (auto& [key, members] : groups) pass.join_group(members);
}

// Sources that were moved and have no reason were moved by this pass.
void KeepReason(const Pass& pass, std::vector<Unit>& units) {
  for (Unit& unit : units) {
    if (unit.merged_away) continue;
    unit.run.sources.front().joined = {};  // of a unit that took the place of another
    for (std::size_t i = 1; i < unit.run.sources.size(); ++i) {
      model::JoinReason& joined = unit.run.sources[i].joined;
      if (!joined.pass.empty()) continue;
      joined.pass = pass.name;
      joined.because = pass.because();
    }
  }
}

}  // namespace

std::span<const Pass> Passes() { return kPasses; }

void RunPasses(std::vector<Unit>& units) {
  for (const Pass& pass : kPasses) {
    if (pass.key != nullptr) {
      JoinGroups(pass, units);
    } else {
      pass.join_all(units);
    }
    KeepReason(pass, units);
  }
}

}  // namespace vigil::assemble
