// Which of many runs may tell the same training as another: those that have a few of its numbers at the same steps.
// Comparing all pairs would be quadratic in the number of runs; this finds the few pairs worth comparing.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "assemble/compare.h"

namespace vigil::assemble {

class CandidateIndex {
 public:
  using Id = std::uint32_t;

  // `points` is how many will be added in all: beyond some millions only some steps are kept, the same of every run.
  // `error` is the coarsest rounding among them, relative to the values: what is nearer than that may be the same.
  CandidateIndex(std::uint64_t points, double error);

  void Add(Id id, const std::vector<Curve>& curves);
  // Ids, rising, of those added so far that agree with `curves` at three steps or more (at one, where there are few).
  // What Compare is certain of is nearly always among them; a place that hundreds share is not looked at.
  std::vector<Id> Find(const std::vector<Curve>& curves) const;

 private:
  bool IsKept(std::int64_t step) const;
  template <class Visit>
  void ForPoints(const Curve& curve, Visit visit) const;

  std::int64_t BucketOf(double value) const;

  std::uint64_t highest_hash_;
  double buckets_per_e_;
  std::unordered_map<std::uint64_t, std::vector<Id>> ids_;
};

// Points that the index would take from these curves.
std::uint64_t CountPoints(const std::vector<Curve>& curves);
// By how much their values may be off, relative to a value in the middle.
double RelativeError(const std::vector<Curve>& curves);

}  // namespace vigil::assemble
