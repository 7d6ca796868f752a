#include "model/position.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace vigil::model {
namespace {

using Pair = AxisMap::Pair;

// Linear between the neighbours of `value`, and by the slope of the outermost pairs beyond them.
double Interpolate(const std::vector<Pair>& pairs, double value) {
  const auto above = std::lower_bound(pairs.begin(), pairs.end(), value,
                                      [](const Pair& pair, double wanted) { return pair.from < wanted; });
  const auto upper = std::clamp(above, pairs.begin() + 1, pairs.end() - 1);
  const Pair& low = *(upper - 1);
  const Pair& high = *upper;
  return low.to + (value - low.from) * (high.to - low.to) / (high.from - low.from);
}

// Of each pair, how many the longest chain has that begins with it and rises in both counts. Pairs by rising `from`.
std::vector<std::size_t> ChainLengths(const std::vector<Pair>& pairs) {
  std::vector<std::size_t> lengths(pairs.size(), 0);
  std::vector<double> highest;  // highest[k]: the highest `to` that begins a chain of k + 1 pairs; falling
  for (std::size_t end = pairs.size(); end > 0;) {
    std::size_t begin = end;
    while (begin > 0 && pairs[begin - 1].from == pairs[end - 1].from) {
      --begin;
      const auto at = std::lower_bound(highest.begin(), highest.end(), pairs[begin].to, std::greater<>());
      lengths[begin] = static_cast<std::size_t>(at - highest.begin()) + 1;
    }
    // Only now, so that no two pairs of one `from` stand in one chain.
    for (std::size_t i = begin; i < end; ++i) {
      if (lengths[i] > highest.size()) highest.push_back(pairs[i].to);
      highest[lengths[i] - 1] = std::max(highest[lengths[i] - 1], pairs[i].to);
    }
    end = begin;
  }
  return lengths;
}

// The most pairs that rise together. Of several such chains the one whose pairs come first: of an epoch that stands
// beside all its steps this is the first step.
std::vector<Pair> LongestRisingChain(std::vector<Pair> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.from < b.from; });
  const std::vector<std::size_t> lengths = ChainLengths(pairs);
  std::vector<Pair> chain;
  std::size_t wanted = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  for (std::size_t i = 0; i < pairs.size() && wanted > 0; ++i) {
    const bool rises = chain.empty() || (pairs[i].from > chain.back().from && pairs[i].to > chain.back().to);
    if (lengths[i] != wanted || !rises) continue;
    chain.push_back(pairs[i]);
    --wanted;
  }
  return chain;
}

std::vector<Pair> Turned(std::vector<Pair> pairs) {
  for (Pair& pair : pairs) std::swap(pair.from, pair.to);
  return pairs;
}

}  // namespace

std::string_view Name(Axis axis) {
  constexpr std::array<std::string_view, kAxisCount> kNames = {"step", "token", "sample", "epoch", "second", "row"};
  return kNames[static_cast<std::size_t>(axis)];
}

std::partial_ordering CompareOnAxis(Position a, Position b) {
  if (!a.known() || !b.known() || a.axis() != b.axis()) return std::partial_ordering::unordered;
  return a.value() <=> b.value();
}

bool SamePosition(Position a, Position b) {
  if (!a.known() || !b.known()) return a.known() == b.known();
  return a.axis() == b.axis() && a.value() == b.value();
}

void AxisMap::Learn(Axis from, Axis to, std::vector<Pair> pairs) {
  if (from == to) return;
  std::erase_if(pairs, [](const Pair& pair) { return !std::isfinite(pair.from) || !std::isfinite(pair.to); });
  std::vector<Pair> rising = LongestRisingChain(std::move(pairs));
  if (rising.size() < 2) return;
  tables_.push_back({to, from, Turned(rising)});
  tables_.push_back({from, to, std::move(rising)});
}

std::optional<double> AxisMap::Map(Axis from, Axis to, double value) const {
  if (from == to) return value;
  for (const Table& table : tables_) {
    if (table.from == from && table.to == to) return Interpolate(table.pairs, value);
  }
  // One axis between the two (epoch to step to tokens): runs log few axes, so longer ways do not occur.
  for (const Table& table : tables_) {
    if (table.from != from) continue;
    for (const Table& next : tables_) {
      if (next.from == table.to && next.to == to) return Interpolate(next.pairs, Interpolate(table.pairs, value));
    }
  }
  return std::nullopt;
}

Position AxisMap::To(Axis axis, Position position) const {
  if (!position.known() || position.axis() == axis) return position;
  const auto mapped = Map(position.axis(), axis, static_cast<double>(position.value()));
  // Beyond it a count is no longer exact, and rounding is undefined.
  constexpr double kLargest = 9e15;
  if (!mapped || !(std::abs(*mapped) < kLargest)) return {};
  return {axis, static_cast<std::int64_t>(std::llround(*mapped))};
}

std::partial_ordering AxisMap::Compare(Position a, Position b) const {
  if (a.known() && b.known() && a.axis() == b.axis()) return a.value() <=> b.value();
  const auto distance = Distance(a, b);  // not rounded: step 121 is after epoch 1 that ends at step 120
  return distance ? 0.0 <=> distance->amount : std::partial_ordering::unordered;
}

std::optional<Extent> AxisMap::Distance(Position a, Position b) const {
  if (!a.known() || !b.known()) return std::nullopt;
  const auto mapped = Map(b.axis(), a.axis(), static_cast<double>(b.value()));
  if (!mapped) return std::nullopt;
  return Extent{a.axis(), *mapped - static_cast<double>(a.value())};
}

std::optional<Extent> AxisMap::To(Axis axis, Extent extent) const {
  if (extent.axis == axis) return extent;
  const auto begin = Map(extent.axis, axis, 0);
  const auto end = Map(extent.axis, axis, extent.amount);
  if (!begin || !end) return std::nullopt;
  return Extent{axis, *end - *begin};
}

}  // namespace vigil::model
