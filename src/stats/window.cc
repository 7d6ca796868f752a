#include <algorithm>
#include <cmath>
#include <utility>

#include "stats/stats.h"

namespace vigil::stats {
namespace {

// std::lower_bound without a branch on what is compared: in noise each would be a coin toss, which costs the processor
// more than the comparison.
std::size_t CountBelow(const std::vector<double>& sorted, double value) {
  const double* from = sorted.data();
  std::size_t count = sorted.size();
  while (count > 1) {
    const std::size_t half = count / 2;
    from += half * static_cast<std::size_t>(from[half - 1] < value);
    count -= half;
  }
  const auto before = static_cast<std::size_t>(from - sorted.data());
  return before + (count == 1 && *from < value ? 1 : 0);
}

}  // namespace

RobustWindow::RobustWindow(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {
  ring_.reserve(capacity_);
  sorted_.reserve(capacity_ + 1);
}

void RobustWindow::Push(double value) {
  if (ring_.size() < capacity_) {
    ring_.push_back(value);
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
    return;
  }
  const double oldest = std::exchange(ring_[next_], value);
  next_ = next_ + 1 == capacity_ ? 0 : next_ + 1;
  // Only what lies between the place that becomes free and the one that is needed has to move.
  const auto free = sorted_.begin() + static_cast<std::ptrdiff_t>(CountBelow(sorted_, oldest));
  const auto place = sorted_.begin() + static_cast<std::ptrdiff_t>(CountBelow(sorted_, value));
  if (place <= free) {
    std::move_backward(place, free, free + 1);
    *place = value;
  } else {
    std::move(free + 1, place, free);
    *(place - 1) = value;
  }
}

void RobustWindow::Clear() {
  ring_.clear();
  sorted_.clear();
  next_ = 0;
}

double RobustWindow::Median() const {
  if (sorted_.empty()) return 0;
  const std::size_t middle = sorted_.size() / 2;
  return sorted_.size() % 2 == 1 ? sorted_[middle] : 0.5 * (sorted_[middle - 1] + sorted_[middle]);
}

double RobustWindow::Sigma() const {
  if (sorted_.size() < 2) return 0;
  // The deviations below the median and above it are two sorted runs; wanted is their common median. Of the `wanted`
  // smallest of both, `taken` come from below: found by halving, since no walk to it can be predicted.
  const double median = Median();
  const double* const middle = std::upper_bound(sorted_.data(), sorted_.data() + sorted_.size(), median);
  const auto below = static_cast<std::size_t>(middle - sorted_.data());
  const std::size_t wanted = (sorted_.size() + 1) / 2;
  const auto down = [&](std::size_t i) { return median - middle[-1 - static_cast<std::ptrdiff_t>(i)]; };
  const auto up = [&](std::size_t i) { return middle[i] - median; };
  const std::size_t above = sorted_.size() - below;
  std::size_t taken = wanted > above ? wanted - above : 0;
  std::size_t most = std::min(wanted, below);
  while (taken < most) {
    const std::size_t tried = (taken + most) / 2;
    const bool too_few = up(wanted - tried - 1) > down(tried);
    taken = too_few ? tried + 1 : taken;
    most = too_few ? most : tried;
  }
  const double deepest = taken > 0 ? down(taken - 1) : 0;
  const double highest = wanted > taken ? up(wanted - taken - 1) : 0;
  return kMadToSigma * std::max(deepest, highest);
}

}  // namespace vigil::stats
