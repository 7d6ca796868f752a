// Whether two parts tell the same training: their curves are laid over each other, step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/position.h"
#include "model/run.h"

namespace vigil::assemble {

// How values were written: rounded to so many decimals or significant digits, or exactly.
struct Rounding {
  double decimal_step = 0;     // 0.01 when all values have two decimals, 0 when they have more than six
  int significant_digits = 0;  // 4 when no value has more, 0 when they have more than six

  bool operator==(const Rounding&) const = default;
  // The most by which `value` can be off.
  double Error(double value) const;
};
Rounding RoundingOf(std::span<const double> values);

// Two values that are one number, written with fewer digits somewhere.
bool SameButForRounding(double a, double b, const Rounding& of_a, const Rounding& of_b);

// A series as it stands at the end: of points that a restart overwrote only the latest, by rising step.
struct Curve {
  std::string key;  // signal and labels
  model::Axis axis = model::Axis::kStep;
  model::Column<std::int64_t> steps;
  model::Column<double> values;
  Rounding rounding;
};

// Signal and labels of a series as one text.
std::string SignalKey(const model::Series& series);

// The curves of a part that distinguish it from other runs: losses, rewards, norms; never the learning rate, which
// runs of one recipe share. The most distinctive first, at most kMostCurves.
inline constexpr std::size_t kMostCurves = 4;
std::vector<Curve> DistinctiveCurves(const model::Run& part);

enum class Likeness : std::uint8_t {
  kUnknown,    // nothing in common to judge by
  kSame,       // one training
  kForked,     // the same up to a step, then different: one resumed from an earlier checkpoint
  kDifferent,  // another training
};
struct Comparison {
  Likeness likeness = Likeness::kUnknown;
  model::Position last_common;  // of a fork: the last place before they differ
  std::size_t distinct = 0;     // different numbers that both have at the same places
  bool certain = false;         // enough of them to rule out chance
  std::uint64_t common = 0;     // steps that both have
  std::uint64_t agree = 0;      // of them, those with the same value
};
Comparison Compare(const std::vector<Curve>& a, const std::vector<Curve>& b);

// For a part whose counts are only row numbers: the count of each row on the axis of a curve that is not counted in
// rows, found by laying its values over the beginning or the end of that curve. Empty when they do not match.
struct RowMatch {
  model::Axis axis = model::Axis::kStep;  // of `steps`
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> steps;
};
std::optional<RowMatch> MatchRows(const std::vector<Curve>& rows, const std::vector<Curve>& placed);

// First and last step over the curves that are counted in steps; nullopt when there are none.
struct StepRange {
  model::StepAt first;
  model::StepAt last;
};
std::optional<StepRange> RangeOf(const std::vector<Curve>& curves);
// The furthest count over the curves of that axis; unknown when there are none.
model::Position LastOn(model::Axis axis, const std::vector<Curve>& curves);

}  // namespace vigil::assemble
