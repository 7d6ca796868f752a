// Putting the parts of one run together. Indices of sources are kept right throughout.
#pragma once

#include <cstdint>
#include <memory>

#include "assemble/compare.h"
#include "model/run.h"

namespace vigil::assemble {

// Puts other parts into a run, one after the other, at the cost of their own series: thousands of files with a metric
// each make one run. Nobody else changes the run meanwhile.
class Joiner {
 public:
  explicit Joiner(model::Run& into);
  ~Joiner();
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;
  Joiner(Joiner&&) = delete;
  Joiner& operator=(Joiner&&) = delete;

  // `from` goes on where the run ends, or overwrites its end: its points behind `after` (all, where that is unknown)
  // are appended to those of the run, as new segments where counts go back. Series of another axis than that of `after`
  // are cut by the map of `from` or of the run; where neither leads there, behind the points that both begin with.
  void Append(model::Run from, model::Position after = {});
  // Both tell the same training. A series that both have is kept once: with the restarts of the one that saw them, the
  // digits of the more precise one, and the points of both. True when `from` added anything; its sources are marked as
  // duplicates when not.
  bool Merge(model::Run from);

 private:
  struct Index;
  void KeepNewFacts(model::Run& from) const;
  std::uint32_t MoveRest(model::Run& from);
  bool UniteSeries(model::Run& from, std::uint32_t offset);

  model::Run& into_;
  std::unique_ptr<Index> index_;
};

// The same for a single one.
void AppendRun(model::Run& into, model::Run from, model::Position after = {});
bool MergeRun(model::Run& into, model::Run from);

// Whether the run has a series of that name, labels and axis with the same values at the places that both have. Two
// that have no place in common are not known to be the same.
bool HoldsAlready(const model::Run& run, const model::Series& series);

// Gives the points of a part that counts rows the places of those rows, on the axis of the match.
void PlaceRows(model::Run& part, const RowMatch& match);

}  // namespace vigil::assemble
