#include "assemble/assemble.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "assemble/echoes.h"
#include "assemble/passes.h"
#include "assemble/place.h"
#include "assemble/splits.h"
#include "assemble/unit.h"
#include "assemble/writers.h"
#include "tabular/loss_parts.h"
#include "tabular/part_names.h"

namespace vigil::assemble {
namespace {

using Units = std::vector<Unit>;

// Folders where trackers put their files count as the run's own when the run left something there itself.
void FindRunDirectories(Units& units) {
  std::set<std::string> directories;
  for (const Unit& unit : units) directories.insert(unit.run_directory);
  for (Unit& unit : units) {
    const std::string above(TrackedFolder(unit.run_directory));
    if (!above.empty() && directories.contains(above)) unit.run_directory = above;
  }
}

// Settings that no run could be found for say nothing by themselves, while there are runs.
void DropLoneSettings(Units& units) {
  const bool any_run =
      std::any_of(units.begin(), units.end(), [](const Unit& unit) { return !unit.merged_away && unit.has_points; });
  for (Unit& unit : units) {
    if (any_run && !unit.has_points && unit.run.events.empty() && unit.run.artifacts.empty()) unit.merged_away = true;
  }
}

// The name that a tracker keeps for the run, where the place says nothing.
std::string OwnName(const Unit& unit) {
  const model::Source& source = unit.run.sources.front();
  // Folders of W&B are named by the clock and a random id.
  const bool names_itself = !source.run.empty() || unit.traits.names_runs;
  return names_itself ? unit.run.name : std::string();
}

std::vector<model::Run> Finish(Units& units) {
  std::erase_if(units, [](const Unit& unit) { return unit.merged_away; });
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.order < b.order; });
  std::map<std::string, int> runs_in_directory;
  for (const Unit& unit : units) ++runs_in_directory[unit.run_directory];
  std::vector<NameHints> hints;
  for (const Unit& unit : units)
    hints.push_back({unit.run_directory, unit.file, runs_in_directory[unit.run_directory] > 1, OwnName(unit)});
  const auto names = NameRuns(hints);
  std::vector<model::Run> runs;
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i].run.name = names[i];
    DropCurvesOfEpochs(units[i].run);
    tabular::SumLossParts(units[i].run);
    runs.push_back(std::move(units[i].run));
  }
  return runs;
}

}  // namespace

std::vector<model::Run> JoinParts(std::vector<model::Run> parts, ingest::FormatTable formats) {
  Units units;
  units.reserve(parts.size());
  std::erase_if(parts, [](const model::Run& part) { return part.sources.empty(); });
  for (model::Run& part : parts) tabular::SettleNames(part);
  std::vector<std::string> writer_folders = WriterFolders(parts, formats);
  JoinSplitFolders(parts, formats, writer_folders);
  NameSplits(parts);
  for (std::size_t i = 0; i < parts.size(); ++i)
    units.push_back(MakeUnit(std::move(parts[i]), writer_folders[i], i, formats));
  if (units.empty()) return {};
  FindRunDirectories(units);
  RunPasses(units);
  DropLoneSettings(units);
  return Finish(units);
}

}  // namespace vigil::assemble
