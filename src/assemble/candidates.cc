#include "assemble/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

namespace vigil::assemble {
namespace {

constexpr std::uint64_t kMostPoints = 4'000'000;
// Points of a run that are looked up: enough to meet a log that has one of ten of them.
constexpr std::size_t kLookups = 64;
// Buckets of values, on the logarithm: as wide as rounding asks for, within reason.
constexpr double kFewestPerE = 40;
constexpr double kMostPerE = 1e5;
// Compare is certain from three numbers on.
constexpr std::size_t kAgreements = 3;
constexpr std::size_t kFewLookups = 6;
// A place where that many runs agree (the first step of a sweep with one seed) decides nothing.
constexpr std::size_t kMostInPlace = 512;

std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::uint64_t KeyOf(const Curve& curve, std::int64_t step, std::int64_t bucket) {
  // The same number at epoch 5 and at step 5 is no agreement.
  const std::uint64_t name = std::hash<std::string_view>()(curve.key) + static_cast<std::uint64_t>(curve.axis);
  return Mix(name ^ Mix(static_cast<std::uint64_t>(step) ^ Mix(static_cast<std::uint64_t>(bucket))));
}

}  // namespace

std::int64_t CandidateIndex::BucketOf(double value) const {
  if (std::isnan(value)) return std::numeric_limits<std::int64_t>::max();
  if (std::isinf(value)) return std::numeric_limits<std::int64_t>::max() - (value > 0 ? 1 : 2);
  if (std::abs(value) < 1e-12) return std::numeric_limits<std::int64_t>::min() + 8;
  const auto bucket = static_cast<std::int64_t>(std::floor(std::log(std::abs(value)) * buckets_per_e_)) * 2;
  return value < 0 ? bucket + 1 : bucket;
}

CandidateIndex::CandidateIndex(std::uint64_t points, double error)
    : highest_hash_(points <= kMostPoints ? std::numeric_limits<std::uint64_t>::max()
                                          : std::numeric_limits<std::uint64_t>::max() / points * kMostPoints),
      buckets_per_e_(std::clamp(0.5 / error, kFewestPerE, kMostPerE)) {}

bool CandidateIndex::IsKept(std::int64_t step) const { return Mix(static_cast<std::uint64_t>(step)) <= highest_hash_; }

template <class Visit>
void CandidateIndex::ForPoints(const Curve& curve, Visit visit) const {
  if (curve.axis == model::Axis::kRow) return;
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    if (IsKept(curve.steps[i])) visit(curve.steps[i], curve.values[i]);
  }
}

void CandidateIndex::Add(Id id, const std::vector<Curve>& curves) {
  for (const Curve& curve : curves) {
    ForPoints(curve, [&](std::int64_t step, double value) {
      std::vector<Id>& place = ids_[KeyOf(curve, step, BucketOf(value))];
      if (place.size() <= kMostInPlace && (place.empty() || place.back() != id)) place.push_back(id);
    });
  }
}

std::vector<CandidateIndex::Id> CandidateIndex::Find(const std::vector<Curve>& curves) const {
  std::unordered_map<Id, std::size_t> agreements;
  std::size_t lookups = 0;
  for (const Curve& curve : curves) {
    // Of all points those whose steps come first in an order that every run shares.
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < curve.steps.size() && curve.axis != model::Axis::kRow; ++i) {
      if (IsKept(curve.steps[i])) order.emplace_back(Mix(static_cast<std::uint64_t>(curve.steps[i])), i);
    }
    const std::size_t count = std::min(order.size(), kLookups);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
    lookups += count;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t i = order[n].second;
      const std::int64_t bucket = BucketOf(curve.values[i]);
      const bool plain = std::isfinite(curve.values[i]) && std::abs(curve.values[i]) >= 1e-12;
      for (int side = plain ? -1 : 0; side <= (plain ? 1 : 0); ++side) {
        const auto at = ids_.find(KeyOf(curve, curve.steps[i], bucket + std::int64_t{2} * side));
        if (at == ids_.end() || at->second.size() > kMostInPlace) continue;
        for (const Id id : at->second) ++agreements[id];
      }
    }
  }
  const std::size_t enough = lookups < kFewLookups ? 1 : kAgreements;
  std::vector<Id> found;
  for (const auto& [id, count] : agreements) {
    if (count >= enough) found.push_back(id);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint64_t CountPoints(const std::vector<Curve>& curves) {
  std::uint64_t points = 0;
  for (const Curve& curve : curves) points += curve.steps.size();
  return points;
}

double RelativeError(const std::vector<Curve>& curves) {
  double error = 1e-6;
  for (const Curve& curve : curves) {
    std::vector<double> sizes;
    const std::size_t stride = std::max<std::size_t>(1, curve.values.size() / 32);
    for (std::size_t i = 0; i < curve.values.size(); i += stride) {
      if (std::isfinite(curve.values[i]) && curve.values[i] != 0) sizes.push_back(std::abs(curve.values[i]));
    }
    if (sizes.empty()) continue;
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2), sizes.end());
    const double middle = sizes[sizes.size() / 2];
    error = std::max(error, curve.rounding.Error(middle) / middle);
  }
  return error;
}

}  // namespace vigil::assemble
