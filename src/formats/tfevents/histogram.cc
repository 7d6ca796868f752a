#include "formats/tfevents/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "codec/codec.h"

namespace vigil::formats::tfevents {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

// The doubles of a packed field, behind those that are there.
void TakeDoubles(std::string_view packed, std::vector<double>& into) {
  for (; packed.size() >= sizeof(double); packed.remove_prefix(sizeof(double))) {
    double value = 0;
    std::memcpy(&value, packed.data(), sizeof(value));
    into.push_back(value);
  }
}

}  // namespace

std::optional<tabular::Distribution> FromHistogram(std::string_view histogram_proto) {
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
  std::vector<tabular::Bucket> buckets;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    // The outermost limits are those of all numbers: what was seen ends at the smallest and the largest.
    const double left = i == 0 ? min : std::clamp(limits[i - 1], std::min(min, max), std::max(min, max));
    const double right = std::clamp(limits[i], std::min(min, max), std::max(min, max));
    buckets.push_back({left, right, counts[i]});
  }
  return tabular::Summarise(buckets, min, max);
}

std::optional<tabular::Distribution> FromHistogramTensor(std::string_view tensor_proto) {
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
  std::vector<tabular::Bucket> buckets;
  for (std::size_t i = 0; i < numbers.size(); i += 3) buckets.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  // Buckets that count nothing at the ends are only there to fill the table.
  return tabular::SummariseFilled(buckets);
}

}  // namespace vigil::formats::tfevents
