// Whether a curve repeats itself: the share of its movement that comes back after a fixed distance.
#pragma once

#include <cstddef>
#include <span>

namespace vigil::diagnose {

struct Period {
  std::size_t points = 0;  // distance of two repetitions; 0 where nothing repeats
  double strength = 0;     // correlation of the curve with itself at that distance, 0..1
  double swing = 0;        // what it moves by, from the lowest tenth to the highest, over its level
};

// Of the curve behind its first descent, with its trend taken away. Needs three repetitions of at least four points
// each. At most kMostPoints of the last points are looked at: O(kMostPoints squared).
Period FindPeriod(std::span<const double> values);

}  // namespace vigil::diagnose
