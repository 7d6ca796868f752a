#include "assemble/unit.h"

#include <algorithm>

#include "assemble/echoes.h"
#include "assemble/merge.h"
#include "ingest/ingest.h"

namespace vigil::assemble {

const std::vector<Curve>& Unit::Curves() const {
  if (!curves_) curves_ = DistinctiveCurves(run);
  return *curves_;
}

Unit MakeUnit(model::Run part, const std::string& writer_folder, std::size_t order, ingest::FormatTable formats) {
  Unit unit;
  const model::Source& source = part.sources.front();
  unit.of_other_folder = !writer_folder.empty();
  unit.folder = writer_folder.empty() ? std::string(ingest::FolderOf(source.path)) : writer_folder;
  unit.run_directory = std::string(RunDirectoryOf(unit.folder));
  unit.file = std::string(ingest::WithoutCompression(ingest::FileOf(source.path)));
  unit.rank = RankOf(unit.folder, unit.file);
  unit.attempt = AttemptOf(unit.folder);
  // Runs of one database share its file, and nothing else: each has a run_directory of its own.
  if (!source.run.empty()) unit.run_directory = unit.folder = source.path + "/" + source.run;
  unit.format = source.format;
  unit.traits = ingest::TraitsOf(formats, source.format);
  for (model::Source& each : part.sources) {
    const ingest::FormatTraits traits = ingest::TraitsOf(formats, each.format);
    each.digits = traits.digits;
    each.has_messages = traits.has_messages;
    each.is_config = traits.is_config;
  }
  unit.formats = {source.format};
  unit.order = order;
  DropEchoes(part);
  unit.has_points =
      std::any_of(part.series.begin(), part.series.end(), [](const model::Series& series) { return !series.empty(); });
  unit.run = std::move(part);
  return unit;
}

void KeepComparison(Unit& from, const Comparison& comparison) {
  model::JoinReason& joined = from.run.sources.front().joined;
  if (!joined.pass.empty()) return;
  joined.agreeing = comparison.agree;
  joined.common = comparison.common;
}

void Absorb(Unit& into, Unit& from) {
  into.formats.merge(from.formats);
  into.order = std::min(into.order, from.order);
  into.has_points |= from.has_points;
  into.ForgetCurves();
  from.merged_away = true;
  from.ForgetCurves();
}

void AbsorbByMerging(Unit& into, Unit& from) {
  const bool added = MergeRun(into.run, std::move(from.run));
  if (added) return Absorb(into, from);
  // Nothing changed, so the curves stand: many checkpoints of one run cost no more than their own points.
  into.formats.merge(from.formats);
  into.order = std::min(into.order, from.order);
  from.merged_away = true;
}

void AbsorbAll(Unit& into, std::span<Unit* const> others) {
  Joiner joiner(into.run);
  bool added = false;
  for (Unit* const other : others) {
    added |= joiner.Merge(std::move(other->run));
    into.formats.merge(other->formats);
    into.order = std::min(into.order, other->order);
    into.has_points |= other->has_points;
    other->merged_away = true;
    other->ForgetCurves();
  }
  if (added) into.ForgetCurves();
}

std::string FactOf(const Unit& unit, std::string_view key) {
  const model::Fact* const fact = unit.run.FindFact(key);
  return fact == nullptr ? std::string() : fact->value;
}

}  // namespace vigil::assemble
