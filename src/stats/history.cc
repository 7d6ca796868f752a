#include <algorithm>

#include "stats/stats.h"

namespace vigil::stats {
namespace {

Bucket Merge(const Bucket& a, const Bucket& b) {
  Bucket merged = a;
  merged.last_step = b.last_step;
  merged.count = a.count + b.count;
  // Weighted by shares, so that means at both ends of the range do not overflow.
  const double share = static_cast<double>(b.count) / static_cast<double>(merged.count);
  merged.mean = a.mean * (1 - share) + b.mean * share;
  merged.smallest = std::min(a.smallest, b.smallest);
  merged.largest = std::max(a.largest, b.largest);
  return merged;
}

}  // namespace

BucketHistory::BucketHistory(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 2)) {
  buckets_.reserve(capacity_);
}

// A new bucket; when there is no room for one, each two are made one.
void BucketHistory::Begin(std::int64_t step, double value) {
  if (buckets_.size() == capacity_) {
    for (std::size_t i = 0; i + 1 < capacity_; i += 2) buckets_[i / 2] = Merge(buckets_[i], buckets_[i + 1]);
    if (capacity_ % 2 == 1) buckets_[capacity_ / 2] = buckets_.back();
    buckets_.resize((capacity_ + 1) / 2);
    width_ *= 2;
  }
  buckets_.push_back({step, step, 1, value, value, value});
}

void BucketHistory::ForgetFrom(std::int64_t step) {
  while (!buckets_.empty() && buckets_.back().first_step >= step) {
    points_ -= buckets_.back().count;
    buckets_.pop_back();
  }
  // Of a bucket that lies across the step only its reach is cut: its mean is what the resolution allows.
  if (!buckets_.empty() && buckets_.back().last_step >= step) buckets_.back().last_step = step - 1;
}

void BucketHistory::Clear() {
  buckets_.clear();
  points_ = 0;
  width_ = 1;
}

std::vector<double> BucketHistory::Means() const {
  std::vector<double> means;
  means.reserve(buckets_.size());
  for (const Bucket& bucket : buckets_) means.push_back(bucket.mean);
  return means;
}

}  // namespace vigil::stats
