#include "assemble/unit.h"

#include <algorithm>

#include "assemble/echoes.h"
#include "assemble/merge.h"
#include "ingest/ingest.h"

namespace vigil::assemble {

Unit MakeUnit(model::Run part, const std::string& writer_folder, std::size_t order) {
  Unit unit;
  const model::Source& source = part.sources.front();
  unit.adopted = !writer_folder.empty();
  unit.folder = writer_folder.empty() ? std::string(ingest::FolderOf(source.path)) : writer_folder;
  unit.home = std::string(HomeOf(unit.folder));
  unit.file = std::string(ingest::WithoutCompression(ingest::FileOf(source.path)));
  unit.rank = RankOf(unit.folder, unit.file);
  unit.attempt = AttemptOf(unit.folder);
  // Runs of one database share its file, and nothing else: each has a home of its own.
  if (!source.run.empty()) unit.home = unit.folder = source.path + "/" + source.run;
  unit.format = source.format;
  unit.formats = {source.format};
  unit.order = order;
  DropEchoes(part);
  unit.curves = TellingCurves(part);
  unit.has_points =
      std::any_of(part.series.begin(), part.series.end(), [](const model::Series& series) { return !series.empty(); });
  unit.run = std::move(part);
  return unit;
}

void Absorb(Unit& into, Unit& from) {
  into.formats.merge(from.formats);
  into.order = std::min(into.order, from.order);
  into.has_points |= from.has_points;
  into.curves = TellingCurves(into.run);
  from.gone = true;
  from.curves.clear();
}

void AbsorbByMerging(Unit& into, Unit& from) {
  const bool added = MergeRun(into.run, std::move(from.run));
  if (added) return Absorb(into, from);
  // Nothing changed, so the curves stand: many checkpoints of one run cost no more than their own points.
  into.formats.merge(from.formats);
  into.order = std::min(into.order, from.order);
  from.gone = true;
}

void AbsorbAll(Unit& into, std::span<Unit* const> others) {
  Joiner joiner(into.run);
  bool added = false;
  for (Unit* const other : others) {
    added |= joiner.Merge(std::move(other->run));
    into.formats.merge(other->formats);
    into.order = std::min(into.order, other->order);
    into.has_points |= other->has_points;
    other->gone = true;
    other->curves.clear();
  }
  if (added) into.curves = TellingCurves(into.run);
}

std::string FactOf(const Unit& unit, std::string_view key) {
  const model::Fact* const fact = unit.run.FindFact(key);
  return fact == nullptr ? std::string() : fact->value;
}

}  // namespace vigil::assemble
