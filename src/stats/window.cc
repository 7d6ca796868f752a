#include <algorithm>
#include <cmath>
#include <limits>
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

// Following the pushes one by one costs as much as sorting again when a quarter of the window is new.
RobustWindow::RobustWindow(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 1)), most_behind_(std::max<std::size_t>(capacity_ / 4, 1)) {
  ring_.reserve(capacity_);
  sorted_.reserve(capacity_ + 1);
  removed_.resize(most_behind_);
  largest_from_.resize(capacity_);
  smallest_from_.resize(capacity_);
  Clear();
}

void RobustWindow::Fill(double value) {
  ++behind_;
  ring_.push_back(value);
  largest_since_ = std::max(largest_since_, value);
  smallest_since_ = std::min(smallest_since_, value);
  if (++next_ == capacity_) BeginRound();
}

void RobustWindow::BeginRound() {
  next_ = 0;
  largest_since_ = -std::numeric_limits<double>::infinity();
  smallest_since_ = std::numeric_limits<double>::infinity();
  double largest = largest_since_;
  double smallest = smallest_since_;
  for (std::size_t i = capacity_; i-- > 0;) {
    largest_from_[i] = largest = std::max(largest, ring_[i]);
    smallest_from_[i] = smallest = std::min(smallest, ring_[i]);
  }
}

void RobustWindow::Clear() {
  ring_.clear();
  sorted_.clear();
  next_ = 0;
  behind_ = 0;
  largest_since_ = -std::numeric_limits<double>::infinity();
  smallest_since_ = std::numeric_limits<double>::infinity();
}

// Brings sorted_ up to date.
void RobustWindow::Settle() const {
  if (behind_ > most_behind_) {
    sorted_.assign(ring_.begin(), ring_.end());
    std::sort(sorted_.begin(), sorted_.end());
  } else {
    for (std::size_t i = 0; i < behind_; ++i) {
      const double value = ring_[(next_ + capacity_ - behind_ + i) % capacity_];
      if (sorted_.size() < capacity_) {
        sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
      } else {
        Replace(removed_[i], value);
      }
    }
  }
  behind_ = 0;
}

void RobustWindow::Replace(double removed, double value) const {
  // Only what lies between the place that becomes free and the one that is needed has to move.
  const auto free = sorted_.begin() + static_cast<std::ptrdiff_t>(CountBelow(sorted_, removed));
  const auto place = sorted_.begin() + static_cast<std::ptrdiff_t>(CountBelow(sorted_, value));
  if (place <= free) {
    std::move_backward(place, free, free + 1);
    *place = value;
  } else {
    std::move(free + 1, place, free);
    *(place - 1) = value;
  }
}

double RobustWindow::Median() const {
  if (ring_.empty()) return 0;
  const std::size_t middle = ring_.size() / 2;
  if (behind_ > most_behind_) {
    // Far behind: the median alone is found without sorting. sorted_ is not in order then, and behind_ says so.
    sorted_.assign(ring_.begin(), ring_.end());
    const auto at = sorted_.begin() + static_cast<std::ptrdiff_t>(middle);
    std::nth_element(sorted_.begin(), at, sorted_.end());
    return ring_.size() % 2 == 1 ? *at : 0.5 * (*std::max_element(sorted_.begin(), at) + *at);
  }
  Settle();
  return sorted_.size() % 2 == 1 ? sorted_[middle] : 0.5 * (sorted_[middle - 1] + sorted_[middle]);
}

double RobustWindow::Sigma() const {
  if (ring_.size() < 2) return 0;
  Settle();
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
