#include "import/tfevents/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "codec/codec.h"

namespace vigil::import::tfevents {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

struct Bucket {
  double left = 0;
  double right = 0;
  double count = 0;
};

// The doubles of a packed field, behind those that are there.
void TakeDoubles(std::string_view packed, std::vector<double>& into) {
  for (; packed.size() >= sizeof(double); packed.remove_prefix(sizeof(double))) {
    double value = 0;
    std::memcpy(&value, packed.data(), sizeof(value));
    into.push_back(value);
  }
}

double Quantile(const std::vector<Bucket>& buckets, double total, double share) {
  double before = 0;
  for (const Bucket& bucket : buckets) {
    if (bucket.count <= 0) continue;
    if (before + bucket.count >= share * total) {
      const double part = std::clamp((share * total - before) / bucket.count, 0.0, 1.0);
      return bucket.left + part * (bucket.right - bucket.left);
    }
    before += bucket.count;
  }
  return buckets.back().right;
}

std::optional<Distribution> Summarise(const std::vector<Bucket>& buckets, double min, double max) {
  double total = 0;
  for (const Bucket& bucket : buckets) total += std::max(0.0, bucket.count);
  if (buckets.empty() || !(total > 0)) return std::nullopt;
  return Distribution{min, Quantile(buckets, total, 0.05), Quantile(buckets, total, 0.5),
                      Quantile(buckets, total, 0.95), max};
}

}  // namespace

std::optional<Distribution> FromHistogram(std::string_view histogram_proto) {
  double min = 0;
  double max = 0;
  std::vector<double> limits;
  std::vector<double> counts;
  ProtoFields fields(histogram_proto);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kFixed64)) min = fields.AsDouble();
    if (fields.key() == FieldKey(2, WireType::kFixed64)) max = fields.AsDouble();
    if (fields.key() == FieldKey(6, WireType::kBytes)) TakeDoubles(fields.bytes(), limits);
    if (fields.key() == FieldKey(7, WireType::kBytes)) TakeDoubles(fields.bytes(), counts);
    if (fields.key() == FieldKey(6, WireType::kFixed64)) limits.push_back(fields.AsDouble());
    if (fields.key() == FieldKey(7, WireType::kFixed64)) counts.push_back(fields.AsDouble());
  }
  if (fields.damaged() || limits.size() != counts.size()) return std::nullopt;
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    // The outermost limits are those of all numbers: what was seen ends at the smallest and the largest.
    const double left = i == 0 ? min : std::clamp(limits[i - 1], std::min(min, max), std::max(min, max));
    const double right = std::clamp(limits[i], std::min(min, max), std::max(min, max));
    buckets.push_back({left, right, counts[i]});
  }
  return Summarise(buckets, min, max);
}

std::optional<Distribution> FromHistogramTensor(std::string_view tensor_proto) {
  constexpr std::uint64_t kDouble = 2;
  std::uint64_t type = 0;
  std::vector<double> numbers;
  ProtoFields fields(tensor_proto);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kVarint)) type = fields.number();
    if (fields.key() == FieldKey(4, WireType::kBytes)) TakeDoubles(fields.bytes(), numbers);
    if (fields.key() == FieldKey(6, WireType::kBytes)) TakeDoubles(fields.bytes(), numbers);
    if (fields.key() == FieldKey(6, WireType::kFixed64)) numbers.push_back(fields.AsDouble());
  }
  if (fields.damaged() || type != kDouble || numbers.empty() || numbers.size() % 3 != 0) return std::nullopt;
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < numbers.size(); i += 3) buckets.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  // Buckets that count nothing at the ends are only there to fill the table.
  const auto counts = [](const Bucket& bucket) { return bucket.count > 0; };
  const auto first = std::find_if(buckets.begin(), buckets.end(), counts);
  const auto last = std::find_if(buckets.rbegin(), buckets.rend(), counts);
  if (first == buckets.end()) return std::nullopt;
  return Summarise(buckets, first->left, last->right);
}

}  // namespace vigil::import::tfevents
