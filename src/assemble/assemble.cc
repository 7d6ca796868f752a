#include "assemble/assemble.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "assemble/by_place.h"
#include "assemble/candidates.h"
#include "assemble/compare.h"
#include "assemble/copies.h"
#include "assemble/merge.h"
#include "assemble/place.h"
#include "assemble/splits.h"
#include "assemble/unit.h"
#include "assemble/writers.h"
#include "ingest/ingest.h"
#include "tabular/tabular.h"

namespace vigil::assemble {
namespace {

using Units = std::vector<Unit>;

// So many runs are compared each with each; of more only those that an index finds alike.
constexpr std::size_t kFewRuns = 300;

// Folders where trackers put their files count as the run's own when the run left something there itself.
void FindHomes(Units& units) {
  std::set<std::string> homes;
  for (const Unit& unit : units) homes.insert(unit.home);
  for (Unit& unit : units) {
    const std::string above(TrackedFolder(unit.home));
    if (!above.empty() && homes.contains(above)) unit.home = above;
  }
}

// Calls `join` with the units of each group (those of equal key), in order.
template <class Key, class Join>
void ForGroups(Units& units, Key&& key, Join&& join) {
  std::map<decltype(key(units.front())), std::vector<Unit*>> groups;
  for (Unit& unit : units) {
    if (!unit.gone) groups[key(unit)].push_back(&unit);
  }
  for (auto& [name, members] : groups) join(members);
}

std::int64_t LastStep(const Unit& unit) {
  const auto range = RangeOf(unit.curves);
  return range ? range->last : model::kNoStep;
}

// The states that resumed from one another, oldest first: each goes on from where it left the one before.
void ChainForks(std::vector<Unit*>& branches) {
  std::stable_sort(branches.begin(), branches.end(),
                   [](const Unit* a, const Unit* b) { return LastStep(*a) < LastStep(*b); });
  Unit& first = *branches.front();
  std::vector<Curve> before = first.curves;
  for (std::size_t i = 1; i < branches.size(); ++i) {
    const Comparison comparison = Compare(before, branches[i]->curves);
    before = branches[i]->curves;
    AppendRun(first.run, std::move(branches[i]->run), comparison.last_common_step);
    Absorb(first, *branches[i]);
  }
}

// Checkpoints keep the history so far: the longest holds the others, unless a resume overwrote what they hold.
void JoinStates(std::vector<Unit*>& members) {
  if (members.front()->format != kState || members.size() < 2) return;
  std::stable_sort(members.begin(), members.end(),
                   [](const Unit* a, const Unit* b) { return LastStep(*a) > LastStep(*b); });
  std::vector<std::vector<Unit*>> families;
  for (Unit* const unit : members) {
    if (!unit->has_points) continue;
    bool placed = false;
    for (auto& family : families) {
      const Likeness likeness = Compare(family.front()->curves, unit->curves).likeness;
      const bool checkpoints = unit->folder != unit->home || family.front()->folder != family.front()->home;
      placed = likeness == Likeness::kSame || (likeness == Likeness::kForked && checkpoints);
      if (likeness == Likeness::kSame) AbsorbByMerging(*family.front(), *unit);
      if (placed && likeness == Likeness::kForked) family.push_back(unit);
      if (placed) break;
    }
    if (!placed) families.push_back({unit});
  }
  for (auto& family : families) {
    if (family.size() > 1) ChainForks(family);
  }
}

double IntervalOf(const Unit& unit) {
  double interval = 1;
  for (const Curve& curve : unit.curves) {
    if (curve.steps.size() < 2) continue;
    const auto gaps = static_cast<double>(curve.steps.size() - 1);
    interval = std::max(interval, static_cast<double>(curve.steps.back() - curve.steps.front()) / gaps);
  }
  return interval;
}

bool ShareCurve(const Unit& a, const Unit& b) {
  return std::any_of(a.curves.begin(), a.curves.end(), [&](const Curve& mine) {
    return std::any_of(b.curves.begin(), b.curves.end(), [&](const Curve& theirs) { return mine.key == theirs.key; });
  });
}

// Whether `b` goes on with the training of `a`: it begins where `a` ends, or its file is the next of a numbered series
// and begins in the later half of `a`, after a resume.
bool Continues(const Unit& a, const Unit& b) {
  const auto before = RangeOf(a.curves);
  const auto after = RangeOf(b.curves);
  if (!before || !after || !ShareCurve(a, b) || after->last <= before->last) return false;
  const bool numbered = WithoutDigits(a.file) == WithoutDigits(b.file);
  if (after->first > before->last) {
    constexpr double kNear = 5;  // logging intervals
    const auto gap = static_cast<double>(after->first - before->last);
    return numbered || gap <= kNear * std::max(IntervalOf(a), IntervalOf(b));
  }
  return numbered && after->first - before->first > (before->last - before->first) / 2;
}

// Parts of one log, cut by date, size or restart.
void JoinContinuations(std::vector<Unit*>& members) {
  if (members.front()->format == kState || members.front()->format == kEvents || members.size() < 2) return;
  std::vector<Unit*> parts;
  for (Unit* const unit : members) {
    if (RangeOf(unit->curves)) parts.push_back(unit);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Unit* a, const Unit* b) { return RangeOf(a->curves)->first < RangeOf(b->curves)->first; });
  // Two that begin together are two runs, and then no other is clearly the one that goes on.
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (!Continues(*parts[i], *parts[i + 1])) return;
  }
  if (parts.size() < 2) return;
  Joiner joiner(parts[0]->run);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    joiner.Append(std::move(parts[i]->run));
    parts[i]->gone = true;
    parts[0]->order = std::min(parts[0]->order, parts[i]->order);
  }
  parts[0]->curves = TellingCurves(parts[0]->run);
}

bool EndTogether(const Unit& a, const Unit& b) {
  const auto mine = RangeOf(a.curves);
  const auto theirs = RangeOf(b.curves);
  if (!mine || !theirs) return false;
  const double slack = 2 * std::max(IntervalOf(a), IntervalOf(b));
  return std::abs(static_cast<double>(mine->last - theirs->last)) <= slack;
}

// Whether both have some series; a tracker that writes a file per metric leaves files that share none.
bool ShareSeries(const Unit& a, const Unit& b) {
  std::set<std::string_view> signals;
  for (const model::Series& series : a.run.series) signals.insert(series.signal);
  return std::any_of(b.run.series.begin(), b.run.series.end(),
                     [&](const model::Series& series) { return signals.contains(series.signal); });
}

bool ShareFormat(const Unit& a, const Unit& b) {
  return std::any_of(b.formats.begin(), b.formats.end(),
                     [&](const std::string& format) { return a.formats.contains(format); });
}

// Joins `unit` to `run` when their numbers say that they are one training.
bool JoinByNumbers(Unit& run, Unit& unit) {
  const Comparison comparison = Compare(run.curves, unit.curves);
  const bool same_format = ShareFormat(run, unit);
  switch (comparison.likeness) {
    case Likeness::kSame:
      // Two logs of one kind that begin alike may be two attempts with one seed; only a copy is the same.
      if (same_format && !comparison.certain) return false;
      if (same_format && unit.format != kState && unit.format != kEvents && !EndTogether(run, unit)) return false;
      AbsorbByMerging(run, unit);
      return true;
    case Likeness::kForked:
      if (same_format) return false;
      if (LastStep(unit) > LastStep(run)) {
        AppendRun(run.run, std::move(unit.run), comparison.last_common_step);
      } else {
        std::swap(run.run, unit.run);
        AppendRun(run.run, std::move(unit.run), comparison.last_common_step);
      }
      Absorb(run, unit);
      return true;
    case Likeness::kDifferent:
      return false;
    case Likeness::kUnknown:
      break;
  }
  if (const auto match = MatchRows(unit.curves, run.curves)) {
    PlaceRows(unit.run, *match);
  } else if (const auto reverse = MatchRows(run.curves, unit.curves)) {
    PlaceRows(run.run, *reverse);
  } else {
    return false;
  }
  AbsorbByMerging(run, unit);
  return true;
}

// Whether two files of one home may complete each other: they have nothing in common that could differ.
bool MayComplete(const Unit& a, const Unit& b) {
  if (ShareFormat(a, b) && ShareSeries(a, b)) return false;
  return Compare(a.curves, b.curves).likeness == Likeness::kUnknown;
}

// Only two that have a signal in common can contradict each other.
bool AllMayComplete(const std::vector<Unit*>& runs) {
  std::unordered_map<std::string_view, std::vector<const Unit*>> having;
  for (const Unit* const run : runs) {
    for (const model::Series& series : run->run.series) {
      std::vector<const Unit*>& others = having[series.signal];
      if (!others.empty() && others.back() == run) continue;
      const bool complete =
          std::all_of(others.begin(), others.end(), [&](const Unit* other) { return MayComplete(*run, *other); });
      if (!complete) return false;
      others.push_back(run);
    }
  }
  return true;
}

// The runs met so far that another may belong to: all of a few, of many those that have some of its numbers.
class Alike {
 public:
  explicit Alike(const std::vector<Unit*>& all)
      : few_(all.size() <= kFewRuns), index_(PointsOf(all, few_), ErrorOf(all, few_)) {}

  void Add(Unit& unit) {
    const auto id = static_cast<CandidateIndex::Id>(runs_.size());
    runs_.push_back(&unit);
    if (few_) return;
    index_.Add(id, unit.curves);
    if (CountsRows(unit)) rows_.push_back(id);
  }

  std::vector<Unit*> Find(const Unit& unit) const {
    if (few_ || CountsRows(unit)) return runs_;
    std::vector<CandidateIndex::Id> ids = index_.Find(unit.curves);
    // Rows without steps have no place in the index.
    ids.insert(ids.end(), rows_.begin(), rows_.end());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::vector<Unit*> found;
    found.reserve(ids.size());
    for (const auto id : ids) found.push_back(runs_[id]);
    return found;
  }

 private:
  static bool CountsRows(const Unit& unit) {
    return std::any_of(unit.curves.begin(), unit.curves.end(),
                       [](const Curve& curve) { return curve.axis == model::Axis::kRow; });
  }
  static std::uint64_t PointsOf(const std::vector<Unit*>& all, bool few) {
    std::uint64_t points = 0;
    for (const Unit* unit : all) points += few ? 0 : CountPoints(unit->curves);
    return points;
  }

  static double ErrorOf(const std::vector<Unit*>& all, bool few) {
    double error = 1e-6;
    for (const Unit* unit : all) error = few ? error : std::max(error, RelativeError(unit->curves));
    return error;
  }

  bool few_;
  CandidateIndex index_;
  std::vector<Unit*> runs_;
  std::vector<CandidateIndex::Id> rows_;
};

// Files of one home, the most precise first. What numbers do not decide the folder does: files that have nothing in
// common complete each other, unless it is a folder of several runs.
void JoinHome(std::vector<Unit*>& members) {
  std::stable_sort(members.begin(), members.end(), [](const Unit* a, const Unit* b) {
    return std::make_tuple(-PrecisionOf(a->format), a->order) < std::make_tuple(-PrecisionOf(b->format), b->order);
  });
  std::vector<Unit*> runs;
  Alike alike(members);
  for (Unit* const unit : members) {
    if (!unit->has_points) continue;
    const auto earlier = alike.Find(*unit);
    const bool joined =
        std::any_of(earlier.begin(), earlier.end(), [&](Unit* run) { return JoinByNumbers(*run, *unit); });
    if (joined) continue;
    runs.push_back(unit);
    alike.Add(*unit);
  }
  if (!AllMayComplete(runs)) return;
  if (!runs.empty()) AbsorbAll(*runs.front(), std::span(runs).subspan(1));
}

// A format that every run has, so that none of them is of another kind than the others.
bool AllShareAFormat(const std::vector<Unit*>& runs) {
  const std::set<std::string>& first = runs.front()->formats;
  return std::any_of(first.begin(), first.end(), [&](const std::string& format) {
    return std::all_of(runs.begin(), runs.end(), [&](const Unit* run) { return run->formats.contains(format); });
  });
}

// Whether the home of one lies below that of the other: what a launcher keeps of each rank, below the log of all.
bool IsBelow(const std::string& inner, const std::string& outer) {
  return outer.empty() ? !inner.starts_with('/') && inner != outer
                       : inner.size() > outer.size() && inner.starts_with(outer) && inner[outer.size()] == '/';
}

bool AnyBelowAnother(const std::vector<Unit*>& runs) {
  std::set<std::string_view> homes;
  for (const Unit* run : runs) homes.insert(run->home);
  return std::any_of(runs.begin(), runs.end(), [&](const Unit* run) {
    for (std::string_view above = run->home; !above.empty() && above != ingest::FolderOf(above);) {
      above = ingest::FolderOf(above);
      if (homes.contains(above)) return true;
    }
    return false;
  });
}

// A log kept apart from the run's folder: joined when it is of another kind, or stands above it, agrees on everything,
// and ends with it.
void JoinAcrossHomes(Units& units) {
  std::vector<Unit*> all;
  for (Unit& unit : units) {
    if (!unit.gone && unit.has_points) all.push_back(&unit);
  }
  if (all.size() < 2 || (AllShareAFormat(all) && !AnyBelowAnother(all))) return;
  Alike alike(all);
  for (Unit* const unit : all) {
    for (Unit* const run : alike.Find(*unit)) {
      const bool nested = IsBelow(run->home, unit->home) || IsBelow(unit->home, run->home);
      if ((ShareFormat(*run, *unit) && !nested) || !EndTogether(*run, *unit)) continue;
      const Comparison comparison = Compare(run->curves, unit->curves);
      if (comparison.likeness != Likeness::kSame || !comparison.certain) continue;
      if (IsBelow(run->home, unit->home)) {  // the outer one is what people call the run
        run->home = unit->home;
        run->file = unit->file;
      }
      AbsorbByMerging(*run, *unit);
      break;
    }
    if (!unit->gone) alike.Add(*unit);
  }
}

// Whether a file tells nothing by which its run could be known: settings, a traceback, a table of the learning rate
// that a monitor keeps for itself.
bool SaysNothingOfItsRun(const Unit& unit) {
  return std::all_of(unit.run.series.begin(), unit.run.series.end(), [](const model::Series& series) {
    return series.empty() || series.signal == "lr" || series.signal == "epoch";
  });
}

// Runs by their home, to find the one that a file without numbers (settings, a traceback) can belong to.
class Owners {
 public:
  explicit Owners(Units& units) {
    for (Unit& unit : units) {
      if (!unit.gone && unit.has_points && !SaysNothingOfItsRun(unit)) by_home_[unit.home].push_back(&unit);
    }
  }

  // Alone in its home, or the only one below it, or the only one above it; null when there is no such run.
  Unit* Find(const std::string& home) const {
    if (const auto at = by_home_.find(home); at != by_home_.end()) return OnlyOne(at->second);
    bool several = false;
    Unit* const below = FindBelow(home, several);
    if (below != nullptr || several) return below;
    return FindAbove(home);
  }

 private:
  static Unit* OnlyOne(const std::vector<Unit*>& runs) { return runs.size() == 1 ? runs.front() : nullptr; }

  Unit* FindBelow(const std::string& home, bool& several) const {
    const std::string prefix = home.empty() || home.ends_with('/') ? home : home + "/";
    Unit* found = nullptr;
    for (auto at = by_home_.lower_bound(prefix); at != by_home_.end() && at->first.starts_with(prefix); ++at) {
      several = found != nullptr || at->second.size() > 1;
      if (several) return nullptr;
      found = at->second.front();
    }
    return found;
  }

  Unit* FindAbove(std::string_view home) const {
    Unit* found = nullptr;
    while (!home.empty()) {
      const std::string_view above = ingest::FolderOf(home);
      if (const auto at = by_home_.find(std::string(above)); at != by_home_.end()) {
        if (found != nullptr || at->second.size() > 1) return nullptr;
        found = at->second.front();
      }
      if (above == home) break;
      home = above;
    }
    return found;
  }

  std::map<std::string, std::vector<Unit*>> by_home_;
};

void AttachRest(Units& units) {
  const Owners owners(units);
  for (Unit& unit : units) {
    if (unit.gone || !SaysNothingOfItsRun(unit)) continue;
    if (Unit* const owner = owners.Find(unit.home)) AbsorbByMerging(*owner, unit);
  }
}

// Settings that no run could be found for say nothing by themselves, while there are runs.
void DropLoneSettings(Units& units) {
  const bool any_run =
      std::any_of(units.begin(), units.end(), [](const Unit& unit) { return !unit.gone && unit.has_points; });
  for (Unit& unit : units) {
    if (any_run && !unit.has_points && unit.run.events.empty() && unit.run.artifacts.empty()) unit.gone = true;
  }
}

// The name that a tracker keeps for the run, where the place says nothing.
std::string OwnName(const Unit& unit) {
  const model::Source& source = unit.run.sources.front();
  // Folders of W&B are named by the clock and a random id.
  const bool placeless = !source.run.empty() || source.format == kMlflowFiles || source.format == kWandb;
  return placeless ? unit.run.name : std::string();
}

std::vector<model::Run> Finish(Units& units) {
  std::erase_if(units, [](const Unit& unit) { return unit.gone; });
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.order < b.order; });
  std::map<std::string, int> runs_at_home;
  for (const Unit& unit : units) ++runs_at_home[unit.home];
  std::vector<NameHints> hints;
  for (const Unit& unit : units) hints.push_back({unit.home, unit.file, runs_at_home[unit.home] > 1, OwnName(unit)});
  const auto names = NameRuns(hints);
  std::vector<model::Run> runs;
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i].run.name = names[i];
    tabular::SumLossParts(units[i].run);
    runs.push_back(std::move(units[i].run));
  }
  return runs;
}

}  // namespace

std::vector<model::Run> JoinParts(std::vector<model::Run> parts) {
  Units units;
  units.reserve(parts.size());
  std::erase_if(parts, [](const model::Run& part) { return part.sources.empty(); });
  const std::vector<std::string> writer_folders = WriterFolders(parts);
  NameSplits(parts);
  for (std::size_t i = 0; i < parts.size(); ++i) units.push_back(MakeUnit(std::move(parts[i]), writer_folders[i], i));
  if (units.empty()) return {};
  FindHomes(units);
  const auto by_folder_and_format = [](const Unit& unit) { return std::tuple(unit.folder, unit.format); };
  const auto by_event_folder = [](const Unit& unit) {
    return std::tuple(unit.folder, unit.format, unit.file.substr(0, unit.file.find("tfevents")));
  };
  const auto by_home_and_format = [](const Unit& unit) { return std::tuple(unit.home, unit.format); };
  ForGroups(units, by_home_and_format, JoinMlflowFiles);
  ForGroups(units, by_event_folder, JoinEventFiles);
  ForGroups(
      units,
      [](const Unit& unit) {
        const bool journal = unit.format == kJournal;
        return std::tuple(unit.folder, journal, journal ? FactOf(unit, ingest::kJournalRun) : unit.file,
                          journal ? FactOf(unit, ingest::kJournalRank) : std::string());
      },
      JoinJournalParts);
  ForGroups(units, [](const Unit& unit) { return std::tuple(unit.format, unit.rank.rest); }, JoinRanks);
  ForGroups(
      units, [](const Unit& unit) { return std::tuple(unit.home, unit.format, unit.file, unit.attempt >= 0); },
      JoinAttempts);
  JoinCopies(units);
  ForGroups(units, by_home_and_format, JoinStates);
  ForGroups(
      units, [](const Unit& unit) { return std::tuple(unit.folder, unit.format, WithoutDigits(unit.file)); },
      JoinContinuations);
  ForGroups(units, by_folder_and_format, JoinContinuations);
  ForGroups(units, [](const Unit& unit) { return unit.home; }, JoinWandbFolder);
  ForGroups(units, [](const Unit& unit) { return unit.home; }, JoinHome);
  JoinAcrossHomes(units);
  AttachRest(units);
  DropLoneSettings(units);
  return Finish(units);
}

}  // namespace vigil::assemble
