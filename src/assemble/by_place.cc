#include "assemble/by_place.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>

#include "assemble/merge.h"
#include "base/base.h"
#include "ingest/ingest.h"

namespace vigil::assemble {
namespace {

// Series of a rank that are compared with those of the first one by one.
constexpr std::size_t kMostCompared = 1000;

// A process that starts again opens a new file: where it goes on is a restart, even if no step was lost.
void AddRestart(Unit& unit) {
  model::Event event;
  event.kind = model::EventKind::kResume;
  event.name = model::kNewFileEvent;
  unit.run.events.push_back(std::move(event));
}

void SetUnknownRanks(model::Column<std::int32_t>& ranks, std::int32_t rank) {
  if (std::find(ranks.begin(), ranks.end(), -1) == ranks.end()) return;
  const std::span<std::int32_t> all = ranks.Mutable();
  std::replace(all.begin(), all.end(), -1, rank);
}

// Ranks that every machine counts from 0 are counted through: machine 1 of 4 ranks begins with rank 4.
void CountThroughNodes(const std::vector<Unit*>& members) {
  std::set<std::int32_t> ranks;
  std::int32_t most = 0;
  for (const Unit* unit : members) {
    ranks.insert(unit->rank.rank);
    most = std::max(most, unit->rank.rank);
  }
  constexpr std::int32_t kMostNodes = 100'000;
  const bool nodes = std::all_of(members.begin(), members.end(), [&](const Unit* unit) {
    return unit->rank.node >= 0 && unit->rank.node < kMostNodes && most < kMostNodes / 10;
  });
  if (!nodes || ranks.size() == members.size()) return;
  for (Unit* unit : members) unit->rank.rank += unit->rank.node * (most + 1);
}

}  // namespace

void JoinFilesPerStart(std::vector<Unit*>& members) {
  if (members.front()->traits.files != ingest::RunFiles::kOnePerStart || members.size() < 2) return;
  std::sort(members.begin(), members.end(), [](const Unit* a, const Unit* b) {
    return std::tie(a->of_other_folder, a->file) < std::tie(b->of_other_folder, b->file);
  });
  Joiner joiner(members[0]->run);
  for (std::size_t i = 1; i < members.size(); ++i) {
    const bool again = members[i]->has_points && members[0]->has_points && !members[i]->of_other_folder;
    if (again) AddRestart(*members[i]);
    joiner.Append(std::move(members[i]->run));
    members[i]->merged_away = true;
    members[0]->has_points |= members[i]->has_points;
    members[0]->order = std::min(members[0]->order, members[i]->order);
  }
  members[0]->ForgetCurves();
}

void JoinNumberedParts(std::vector<Unit*>& members) {
  if (members.front()->traits.files != ingest::RunFiles::kNumberedParts || members.size() < 2) return;
  const auto part = [](const Unit* unit) { return ParseInteger(FactOf(*unit, ingest::kJournalPart)).value_or(0); };
  std::stable_sort(members.begin(), members.end(), [&](const Unit* a, const Unit* b) { return part(a) < part(b); });
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i]->has_points && members[0]->has_points) AddRestart(*members[i]);
    AppendRun(members[0]->run, std::move(members[i]->run));
    Absorb(*members[0], *members[i]);
  }
}

void JoinFilesPerMetric(std::vector<Unit*>& members) {
  if (members.front()->traits.files != ingest::RunFiles::kOnePerMetric) return;
  Unit& first = *members.front();
  Joiner joiner(first.run);
  for (std::size_t i = 1; i < members.size(); ++i) {
    Unit& other = *members[i];
    if (first.run.name.empty()) first.run.name = other.run.name;
    joiner.Append(std::move(other.run));
    other.merged_away = true;
    first.has_points |= other.has_points;
  }
  first.ForgetCurves();
}

void JoinRanks(std::vector<Unit*>& members) {
  if (members.front()->rank.rank < 0 || (members.size() < 2 && !members.front()->rank.by_launcher)) return;
  CountThroughNodes(members);
  std::stable_sort(members.begin(), members.end(),
                   [](const Unit* a, const Unit* b) { return a->rank.rank < b->rank.rank; });
  for (Unit* const unit : members) {
    const std::int32_t rank = unit->rank.rank;
    for (model::Event& event : unit->run.events) {
      if (event.rank < 0) event.rank = rank;
    }
    SetUnknownRanks(unit->run.batches.ranks, rank);
    unit->run.ranks = std::max(unit->run.ranks, rank + 1);
    if (unit == members.front()) continue;
    // Ranks of one training have the losses in common, and times and memory of their own.
    const bool same = Compare(members.front()->Curves(), unit->Curves()).likeness == Likeness::kSame;
    if (!same || unit->run.series.size() <= kMostCompared) {
      for (model::Series& series : unit->run.series) {
        if (!model::FindLabel(series.labels, "rank").empty()) continue;
        if (same && HoldsAlready(members.front()->run, series)) continue;
        series.labels.emplace_back("rank", std::to_string(rank));
        std::sort(series.labels.begin(), series.labels.end());
      }
    }
  }
  AbsorbAll(*members.front(), std::span(members).subspan(1));
}

void JoinTrackerDirectory(std::vector<Unit*>& members) {
  for (Unit* const run : members) {
    if (run->traits.files != ingest::RunFiles::kTracker || run->merged_away) continue;
    for (Unit* const file : members) {
      if (file->merged_away || file->traits.files == ingest::RunFiles::kTracker ||
          file->folder != run->folder + "/files")
        continue;
      // The numbers that were printed are those of the record.
      if (run->has_points) file->run.series.clear();
      AbsorbByMerging(*run, *file);
    }
  }
}

void JoinAttempts(std::vector<Unit*>& members) {
  if (members.front()->attempt < 0 || members.size() < 2) return;
  std::stable_sort(members.begin(), members.end(),
                   [](const Unit* a, const Unit* b) { return a->attempt < b->attempt; });
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i]->attempt == members[i - 1]->attempt) return;
  }
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i]->has_points && members[0]->has_points) AddRestart(*members[i]);
    AppendRun(members[0]->run, std::move(members[i]->run));
    Absorb(*members[0], *members[i]);
  }
}

}  // namespace vigil::assemble
