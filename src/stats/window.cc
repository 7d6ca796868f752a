#include <algorithm>
#include <cmath>

#include "stats/stats.h"

namespace vigil::stats {

RobustWindow::RobustWindow(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {
  ring_.reserve(capacity_);
  sorted_.reserve(capacity_ + 1);
}

void RobustWindow::Push(double value) {
  if (ring_.size() < capacity_) {
    ring_.push_back(value);
  } else {
    sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), ring_[next_]));
    ring_[next_] = value;
    next_ = (next_ + 1) % capacity_;
  }
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
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
  // The deviations below and above the median are two sorted runs: walk outwards from it to their common median.
  const double median = Median();
  const std::size_t wanted = (sorted_.size() + 1) / 2;
  std::size_t above =
      static_cast<std::size_t>(std::upper_bound(sorted_.begin(), sorted_.end(), median) - sorted_.begin());
  std::size_t below = above;
  double deviation = 0;
  for (std::size_t taken = 0; taken < wanted; ++taken) {
    const bool has_below = below > 0;
    const bool has_above = above < sorted_.size();
    const double down = has_below ? median - sorted_[below - 1] : 0;
    const double up = has_above ? sorted_[above] - median : 0;
    const bool take_below = has_below && (!has_above || down <= up);
    deviation = take_below ? down : up;
    take_below ? --below : ++above;
  }
  return kMadToSigma * deviation;
}

}  // namespace vigil::stats
