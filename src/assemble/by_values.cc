#include "assemble/by_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "assemble/candidates.h"
#include "assemble/compare.h"
#include "assemble/merge.h"
#include "assemble/place.h"
#include "ingest/ingest.h"

namespace vigil::assemble {
namespace {

// So many runs are compared each with each; of more only those that an index finds alike.
constexpr std::size_t kFewRuns = 300;

// Before all others where the unit counts no steps.
std::int64_t LastStep(const Unit& unit) {
  const auto range = RangeOf(unit.Curves());
  return range ? range->last.value : model::kNoStep;
}

// Whether `a` went on after `b` ended, on the axis on which they were compared.
bool EndsLater(const Unit& a, const Unit& b, model::Axis axis) {
  return std::is_gt(CompareOnAxis(LastOn(axis, a.Curves()), LastOn(axis, b.Curves())));
}

// The states that resumed from one another, oldest first: each goes on from where it left the one before.
void ChainForks(std::vector<Unit*>& branches) {
  std::stable_sort(branches.begin(), branches.end(),
                   [](const Unit* a, const Unit* b) { return LastStep(*a) < LastStep(*b); });
  Unit& first = *branches.front();
  std::vector<Curve> before = first.Curves();
  for (std::size_t i = 1; i < branches.size(); ++i) {
    const Comparison comparison = Compare(before, branches[i]->Curves());
    before = branches[i]->Curves();
    KeepComparison(*branches[i], comparison);
    AppendRun(first.run, std::move(branches[i]->run), comparison.last_common);
    Absorb(first, *branches[i]);
  }
}

}  // namespace

// Checkpoints keep the history so far: the longest holds the others, unless a resume overwrote what they hold.
void JoinStates(std::vector<Unit*>& members) {
  if (members.front()->traits.files != ingest::RunFiles::kWholeHistory || members.size() < 2) return;
  std::stable_sort(members.begin(), members.end(),
                   [](const Unit* a, const Unit* b) { return LastStep(*a) > LastStep(*b); });
  std::vector<std::vector<Unit*>> families;
  for (Unit* const unit : members) {
    if (!unit->has_points) continue;
    bool placed = false;
    for (auto& family : families) {
      const Comparison comparison = Compare(family.front()->Curves(), unit->Curves());
      const Likeness likeness = comparison.likeness;
      const bool checkpoints =
          unit->folder != unit->run_directory || family.front()->folder != family.front()->run_directory;
      placed = likeness == Likeness::kSame || (likeness == Likeness::kForked && checkpoints);
      if (likeness == Likeness::kSame) {
        KeepComparison(*unit, comparison);
        AbsorbByMerging(*family.front(), *unit);
      }
      if (placed && likeness == Likeness::kForked) family.push_back(unit);
      if (placed) break;
    }
    if (!placed) families.push_back({unit});
  }
  for (auto& family : families) {
    if (family.size() > 1) ChainForks(family);
  }
}

namespace {

// The widest distance of two points, in steps: curves of another axis say nothing about it.
double StepInterval(const Unit& unit) {
  double interval = 1;
  for (const Curve& curve : unit.Curves()) {
    if (curve.steps.size() < 2 || curve.axis != model::Axis::kStep) continue;
    const auto gaps = static_cast<double>(curve.steps.size() - 1);
    interval = std::max(interval, static_cast<double>(curve.steps.back() - curve.steps.front()) / gaps);
  }
  return interval;
}

// Only a curve on one axis can go on: a loss per epoch does not continue a loss per step.
bool ShareCurve(const Unit& a, const Unit& b) {
  return std::any_of(a.Curves().begin(), a.Curves().end(), [&](const Curve& mine) {
    return std::any_of(b.Curves().begin(), b.Curves().end(),
                       [&](const Curve& theirs) { return mine.key == theirs.key && mine.axis == theirs.axis; });
  });
}

// Whether `b` goes on with the training of `a`: it begins where `a` ends, or its file is the next of a numbered series
// and begins in the later half of `a`, after a resume.
bool Continues(const Unit& a, const Unit& b) {
  const auto before = RangeOf(a.Curves());
  const auto after = RangeOf(b.Curves());
  if (!before || !after || !ShareCurve(a, b) || after->last <= before->last) return false;
  const bool numbered = WithoutDigits(a.file) == WithoutDigits(b.file);
  if (after->first > before->last) {
    constexpr double kNear = 5;  // logging intervals
    const auto gap = static_cast<double>(after->first - before->last);
    return numbered || gap <= kNear * std::max(StepInterval(a), StepInterval(b));
  }
  return numbered && after->first - before->first > (before->last - before->first) / 2;
}

}  // namespace

// Parts of one log, cut by date, size or restart.
void JoinContinuations(std::vector<Unit*>& members) {
  if (members.front()->traits.files == ingest::RunFiles::kWholeHistory ||
      members.front()->traits.files == ingest::RunFiles::kOnePerStart || members.size() < 2)
    return;
  std::vector<Unit*> parts;
  for (Unit* const unit : members) {
    if (RangeOf(unit->Curves())) parts.push_back(unit);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Unit* a, const Unit* b) {
    return RangeOf(a->Curves())->first < RangeOf(b->Curves())->first;
  });
  // Two that begin together are two runs, and then no other is clearly the one that goes on.
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (!Continues(*parts[i], *parts[i + 1])) return;
  }
  if (parts.size() < 2) return;
  Joiner joiner(parts[0]->run);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    joiner.Append(std::move(parts[i]->run));
    parts[i]->merged_away = true;
    parts[0]->order = std::min(parts[0]->order, parts[i]->order);
  }
  parts[0]->ForgetCurves();
}

namespace {

bool EndTogether(const Unit& a, const Unit& b) {
  const auto mine = RangeOf(a.Curves());
  const auto theirs = RangeOf(b.Curves());
  if (!mine || !theirs) return false;
  const double slack = 2 * std::max(StepInterval(a), StepInterval(b));
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

Comparison RowsAgree(const RowMatch& match) {
  Comparison comparison;
  comparison.common = comparison.agree = match.rows.size();
  return comparison;
}

// Joins `unit` to `run` when their numbers say that they are one training.
bool JoinByValues(Unit& run, Unit& unit) {
  const Comparison comparison = Compare(run.Curves(), unit.Curves());
  const bool same_format = ShareFormat(run, unit);
  KeepComparison(unit, comparison);
  switch (comparison.likeness) {
    case Likeness::kSame:
      // Two logs of one kind that begin alike may be two attempts with one seed; only a copy is the same.
      if (same_format && !comparison.certain) return false;
      if (same_format && unit.traits.files != ingest::RunFiles::kWholeHistory &&
          unit.traits.files != ingest::RunFiles::kOnePerStart && !EndTogether(run, unit))
        return false;
      AbsorbByMerging(run, unit);
      return true;
    case Likeness::kForked:
      if (same_format) return false;
      if (EndsLater(unit, run, comparison.last_common.axis())) {
        AppendRun(run.run, std::move(unit.run), comparison.last_common);
      } else {
        std::swap(run.run, unit.run);
        AppendRun(run.run, std::move(unit.run), comparison.last_common);
      }
      Absorb(run, unit);
      return true;
    case Likeness::kDifferent:
      return false;
    case Likeness::kUnknown:
      break;
  }
  if (const auto match = MatchRows(unit.Curves(), run.Curves())) {
    PlaceRows(unit.run, *match);
    KeepComparison(unit, RowsAgree(*match));
  } else if (const auto reverse = MatchRows(run.Curves(), unit.Curves())) {
    PlaceRows(run.run, *reverse);
    KeepComparison(unit, RowsAgree(*reverse));
  } else {
    return false;
  }
  AbsorbByMerging(run, unit);
  return true;
}

// Whether two files of one run_directory may complete each other: they have nothing in common that could differ.
bool MayComplete(const Unit& a, const Unit& b) {
  if (ShareFormat(a, b) && ShareSeries(a, b)) return false;
  return Compare(a.Curves(), b.Curves()).likeness == Likeness::kUnknown;
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
    index_.Add(id, unit.Curves());
    if (CountsRows(unit)) rows_.push_back(id);
  }

  std::vector<Unit*> Find(const Unit& unit) const {
    if (few_ || CountsRows(unit)) return runs_;
    std::vector<CandidateIndex::Id> ids = index_.Find(unit.Curves());
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
    return std::any_of(unit.Curves().begin(), unit.Curves().end(),
                       [](const Curve& curve) { return curve.axis == model::Axis::kRow; });
  }
  static std::uint64_t PointsOf(const std::vector<Unit*>& all, bool few) {
    std::uint64_t points = 0;
    for (const Unit* unit : all) points += few ? 0 : CountPoints(unit->Curves());
    return points;
  }

  static double ErrorOf(const std::vector<Unit*>& all, bool few) {
    double error = 1e-6;
    for (const Unit* unit : all) error = few ? error : std::max(error, RelativeError(unit->Curves()));
    return error;
  }

  bool few_;
  CandidateIndex index_;
  std::vector<Unit*> runs_;
  std::vector<CandidateIndex::Id> rows_;
};

// A run that took in other files has metrics now that it could not be compared by before.
void JoinGrown(std::vector<Unit*>& runs) {
  for (std::size_t i = 1; i < runs.size();) {
    const auto end = runs.begin() + static_cast<std::ptrdiff_t>(i);
    const bool joined = std::any_of(runs.begin(), end, [&](Unit* run) { return JoinByValues(*run, *runs[i]); });
    if (joined) {
      runs.erase(end);
    } else {
      ++i;
    }
  }
}

}  // namespace

// Files of one run_directory, the most precise first. What numbers do not decide the folder does: files that have
// nothing in common complete each other, unless it is a folder of several runs.
void JoinRunDirectory(std::vector<Unit*>& members) {
  std::stable_sort(members.begin(), members.end(), [](const Unit* a, const Unit* b) {
    return std::make_tuple(-a->traits.digits, a->order) < std::make_tuple(-b->traits.digits, b->order);
  });
  std::vector<Unit*> runs;
  Alike alike(members);
  for (Unit* const unit : members) {
    if (!unit->has_points) continue;
    const auto earlier = alike.Find(*unit);
    const bool joined =
        std::any_of(earlier.begin(), earlier.end(), [&](Unit* run) { return JoinByValues(*run, *unit); });
    if (joined) continue;
    runs.push_back(unit);
    alike.Add(*unit);
  }
  if (runs.size() < members.size() && runs.size() <= kFewRuns) JoinGrown(runs);
  if (!AllMayComplete(runs)) return;
  if (!runs.empty()) AbsorbAll(*runs.front(), std::span(runs).subspan(1));
}

namespace {

// A format that every run has, so that none of them is of another kind than the others.
bool AllShareAFormat(const std::vector<Unit*>& runs) {
  const std::set<std::string>& first = runs.front()->formats;
  return std::any_of(first.begin(), first.end(), [&](const std::string& format) {
    return std::all_of(runs.begin(), runs.end(), [&](const Unit* run) { return run->formats.contains(format); });
  });
}

// Whether the run_directory of one lies below that of the other: what a launcher keeps of each rank, below the log of
// all.
bool IsBelow(const std::string& inner, const std::string& outer) {
  return outer.empty() ? !inner.starts_with('/') && inner != outer
                       : inner.size() > outer.size() && inner.starts_with(outer) && inner[outer.size()] == '/';
}

bool AnyBelowAnother(const std::vector<Unit*>& runs) {
  std::set<std::string_view> directories;
  for (const Unit* run : runs) directories.insert(run->run_directory);
  return std::any_of(runs.begin(), runs.end(), [&](const Unit* run) {
    for (std::string_view above = run->run_directory; !above.empty() && above != ingest::FolderOf(above);) {
      above = ingest::FolderOf(above);
      if (directories.contains(above)) return true;
    }
    return false;
  });
}

}  // namespace

// A log kept apart from the run's folder: joined when it is of another kind, or stands above it, agrees on everything,
// and ends with it.
void JoinAcrossDirectories(std::vector<Unit>& units) {
  std::vector<Unit*> all;
  for (Unit& unit : units) {
    if (!unit.merged_away && unit.has_points) all.push_back(&unit);
  }
  if (all.size() < 2 || (AllShareAFormat(all) && !AnyBelowAnother(all))) return;
  Alike alike(all);
  for (Unit* const unit : all) {
    for (Unit* const run : alike.Find(*unit)) {
      const bool nested =
          IsBelow(run->run_directory, unit->run_directory) || IsBelow(unit->run_directory, run->run_directory);
      if ((ShareFormat(*run, *unit) && !nested) || !EndTogether(*run, *unit)) continue;
      const Comparison comparison = Compare(run->Curves(), unit->Curves());
      if (comparison.likeness != Likeness::kSame || !comparison.certain) continue;
      if (IsBelow(run->run_directory, unit->run_directory)) {  // the outer one is what people call the run
        run->run_directory = unit->run_directory;
        run->file = unit->file;
      }
      KeepComparison(*unit, comparison);
      AbsorbByMerging(*run, *unit);
      break;
    }
    if (!unit->merged_away) alike.Add(*unit);
  }
}

namespace {

// Curves of one name on two axes that have as many points must be one curve: evaluations of each epoch, which the log
// counts in steps and the table in epochs.
bool ContradictInOrder(const Curve& a, const Curve& b) {
  if (a.key != b.key || a.axis == b.axis || a.values.size() != b.values.size()) return false;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!SameButForRounding(a.values[i], b.values[i], a.rounding, b.rounding)) return true;
  }
  return false;
}

bool Contradict(const Unit& a, const Unit& b) {
  const Likeness likeness = Compare(a.Curves(), b.Curves()).likeness;
  if (likeness == Likeness::kDifferent || likeness == Likeness::kForked) return true;
  if (RangeOf(a.Curves()) && RangeOf(b.Curves()) && !EndTogether(a, b)) return true;
  return std::any_of(a.Curves().begin(), a.Curves().end(), [&](const Curve& mine) {
    return std::any_of(b.Curves().begin(), b.Curves().end(),
                       [&](const Curve& theirs) { return ContradictInOrder(mine, theirs); });
  });
}

bool HasMessages(const Unit& unit) {
  return std::any_of(unit.run.sources.begin(), unit.run.sources.end(),
                     [](const model::Source& source) { return source.has_messages; });
}

// Runs by their directory and a slash, by which those in and below one directory stand together.
using ByDirectory = std::multimap<std::string, Unit*>;

// The only run in or below the directory beside `log`; null where there are none or several.
Unit* OnlyOtherBelow(const Unit& log, const ByDirectory& runs) {
  const std::string prefix = log.run_directory + '/';
  Unit* found = nullptr;
  for (auto at = runs.lower_bound(prefix); at != runs.end() && at->first.starts_with(prefix); ++at) {
    if (at->second == &log || at->second->merged_away) continue;
    if (found != nullptr) return nullptr;
    found = at->second;
  }
  return found;
}

}  // namespace

void JoinLogAndTable(std::vector<Unit>& units) {
  ByDirectory all;
  for (Unit& unit : units) {
    if (!unit.merged_away && unit.has_points) all.emplace(unit.run_directory + '/', &unit);
  }
  for (const auto& [directory, log] : all) {
    if (log->merged_away || log->traits.names_runs) continue;
    Unit* const table = OnlyOtherBelow(*log, all);
    if (table == nullptr || HasMessages(*table) || ShareFormat(*log, *table)) continue;
    // Scores in a table of their own belong to a training whether or not what it printed was kept.
    const bool completes = log->run.Find("loss") != nullptr && table->run.Find("loss") == nullptr;
    if ((!HasMessages(*log) && !completes) || Contradict(*log, *table)) continue;
    // The numbers of the table have more digits; the directory of the log is what people call the run.
    table->run_directory = log->run_directory;
    table->file = log->file;
    AbsorbByMerging(*table, *log);
  }
}

}  // namespace vigil::assemble
