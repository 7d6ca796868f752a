// model/position: places in a run, each with the axis it is counted on. Two axes cannot be compared or subtracted: only
// a map of the run, made from what it logged, leads from one to the other.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace vigil::model {

// What a series is counted against. A step is an optimizer step unless the source says otherwise.
enum class Axis : std::uint8_t { kStep, kTokens, kSamples, kEpoch, kTime, kRow };
inline constexpr std::size_t kAxisCount = 6;
std::string_view Name(Axis axis);  // "step", "token", "sample", "epoch", "second", "row"

// A count on an axis known to the compiler: `At<Axis::kStep>(5) < At<Axis::kEpoch>(3)` does not compile.
template <Axis kAxis>
struct At {
  std::int64_t value = 0;

  constexpr At() = default;
  constexpr explicit At(std::int64_t counted) : value(counted) {}
  friend constexpr auto operator<=>(At, At) = default;
  friend constexpr std::int64_t operator-(At a, At b) { return a.value - b.value; }
};
using StepAt = At<Axis::kStep>;
using EpochAt = At<Axis::kEpoch>;

// A distance on one axis: 10 steps, 2 epochs.
struct Extent {
  Axis axis = Axis::kStep;
  double amount = 0;
};

// A place on an axis that is known when the program runs, or no place at all. It has no order and no difference of its
// own, not even with ==: use CompareOnAxis for two of one series, AxisMap for any two of a run.
class Position {
 public:
  constexpr Position() = default;
  constexpr Position(Axis axis, std::int64_t value) : axis_(axis), known_(true), value_(value) {}
  template <Axis kAxis>
  constexpr Position(At<kAxis> at) : Position(kAxis, at.value) {}  // NOLINT(google-explicit-constructor)

  constexpr bool known() const { return known_; }
  constexpr Axis axis() const { return axis_; }
  // The count on the position's own axis. Only for showing it, storing it, and arithmetic on that same axis.
  constexpr std::int64_t value() const { return value_; }
  // The count, where the position is on that axis.
  template <Axis kAxis>
  constexpr std::optional<At<kAxis>> On() const {
    if (!known_ || axis_ != kAxis) return std::nullopt;
    return At<kAxis>(value_);
  }
  constexpr std::optional<std::int64_t> ValueOn(Axis axis) const {
    if (!known_ || axis_ != axis) return std::nullopt;
    return value_;
  }

  friend bool operator==(Position, Position) = delete;
  friend std::partial_ordering operator<=>(Position, Position) = delete;
  friend Extent operator-(Position, Position) = delete;

 private:
  Axis axis_ = Axis::kStep;
  bool known_ = false;
  std::int64_t value_ = 0;
};

// The order of two positions on one axis; unordered when the axes differ or one is not known.
std::partial_ordering CompareOnAxis(Position a, Position b);
// Same axis and same count, or both unknown.
bool SamePosition(Position a, Position b);

// From `first` to `last`, both included, on one axis. Unknown when `first` is.
struct PositionRange {
  Position first;
  Position last;
};

// How the axes of one run relate, from pairs that were logged together ("epoch 0.5 at step 120"). Piecewise linear
// between the pairs, by the last slope beyond them; silent where nothing was logged.
class AxisMap {
 public:
  struct Pair {
    double from = 0;
    double to = 0;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  // Pairs may come in any order. Of those that do not all rise together the longest chain that does is kept, so that a
  // few wrong ones do not cost the others.
  void Learn(Axis from, Axis to, std::vector<Pair> pairs);

  // The same place on another axis; unknown when nothing leads there. Exact on its own axis.
  Position To(Axis axis, Position position) const;
  // unordered when no map leads from one axis to the other.
  std::partial_ordering Compare(Position a, Position b) const;
  // From `a` to `b` (negative when `b` comes first) on the axis of `a`; nullopt when no map leads there.
  std::optional<Extent> Distance(Position a, Position b) const;
  // A distance from the beginning of the run, on another axis.
  std::optional<Extent> To(Axis axis, Extent extent) const;
  bool empty() const { return tables_.empty(); }
  friend bool operator==(const AxisMap&, const AxisMap&) = default;

 private:
  struct Table {
    Axis from;
    Axis to;
    std::vector<Pair> pairs;  // rising in both
    friend bool operator==(const Table&, const Table&) = default;
  };
  std::optional<double> Map(Axis from, Axis to, double value) const;
  std::vector<Table> tables_;
};

}  // namespace vigil::model
