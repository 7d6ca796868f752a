#include "assemble/passes.h"

#include <array>
#include <map>

#include "assemble/attach.h"
#include "assemble/by_place.h"
#include "assemble/by_values.h"
#include "assemble/copies.h"
#include "assemble/place.h"

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

constexpr std::array kPasses = {
    Pass{"files-per-metric", "a directory with a file per metric",
         "first: its files share no metric, and every later pass needs to see them as one", ByDirectoryAndFormat,
         JoinFilesPerMetric},
    Pass{"files-per-start", "written by the same writer into the same directory",
         "before values are compared: a restart repeats steps with other values, which looks like another run",
         ByWriter, JoinFilesPerStart},
    Pass{"numbered-parts", "states the same run and rank",
         "what a source states about itself is surer than its name, which the ranks go by", ByStatedRunAndRank,
         JoinNumberedParts},
    Pass{"ranks", "the same name but for the rank",
         "after the parts of each rank are one; before values are compared, since ranks repeat each other's losses",
         ByNameWithoutRank, JoinRanks},
    Pass{"attempts", "another start by the same launcher",
         "after the ranks of each start are one, so that starts follow one another as whole runs", ByNameInAttempts,
         JoinAttempts},
    Pass{"copies", "a copy to the last digit", "before checkpoints and continuations, which a copy would confuse",
         nullptr, nullptr, JoinCopies},
    Pass{"checkpoint-states", "the history of a checkpoint of the same run",
         "before the other files of the directory: it makes one history of many, and that is what logs are compared "
         "with",
         ByDirectoryAndFormat, JoinStates},
    Pass{"numbered-continuations", "the next file of a numbered series, going on where the other ends",
         "before files of other names, so that two interleaved series are kept apart", ByNameWithoutDigits,
         JoinContinuations},
    Pass{"continuations", "goes on where the other ends", "after the numbered ones, which are surer", ByFolderAndFormat,
         JoinContinuations},
    Pass{"tracker-directory", "kept by the tracker beside its record",
         "before values are compared: a tracker counts steps in its own way", ByDirectory, JoinTrackerDirectory},
    Pass{"run-directory", "in the same run directory",
         "after each kind of file is whole: now different kinds can be compared with each other", ByDirectory,
         JoinRunDirectory},
    Pass{"across-directories", "the same values, and ends at the same step",
         "after each directory is settled: only values speak for it, so it wants all of them to agree", nullptr,
         nullptr, JoinAcrossDirectories},
    Pass{"attach", "no metrics of its own, and the only run nearby",
         "last: whose settings and tracebacks they are is clear when all runs are known", nullptr, nullptr, AttachRest},
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
      joined.because = pass.because;
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
