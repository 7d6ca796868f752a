#include "formats/wandb/items.h"

#include "codec/codec.h"

namespace vigil::formats::wandb {
namespace {

using codec::FieldKey;
using codec::JsonToken;
using codec::ProtoFields;
using codec::WireType;

constexpr std::string_view kHistogram = "\"histogram\"";
constexpr std::size_t kMostBuckets = 4096;
constexpr std::size_t kMostHistograms = 10'000;  // in one row

// The numbers of the array that the scanner has just opened; what stands beside them is passed over.
std::vector<double> NumbersOf(codec::JsonScanner& scanner) {
  std::vector<double> numbers;
  const std::size_t outside = scanner.depth() - 1;
  for (JsonToken token = scanner.Next(); token != JsonToken::kBroken && token != JsonToken::kNeedMore;
       token = scanner.Next()) {
    if (scanner.depth() == outside) break;
    if (token == JsonToken::kNumber && numbers.size() <= kMostBuckets) numbers.push_back(scanner.number());
  }
  return numbers;
}

std::vector<double> NumbersIn(std::string_view json) {
  codec::JsonScanner scanner(json);
  return scanner.Next() == JsonToken::kArrayBegin ? NumbersOf(scanner) : std::vector<double>();
}

}  // namespace

void ParseItem(std::string_view bytes, Item& item) {
  item.key.clear();
  item.json = {};
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kBytes)) item.key = fields.bytes();
    if (fields.key() == FieldKey(2, WireType::kBytes)) {  // nested keys, one field a level
      if (!item.key.empty()) item.key += '/';
      item.key += fields.bytes();
    }
    if (fields.key() == FieldKey(16, WireType::kBytes)) item.json = fields.bytes();
  }
}

std::string_view Unquoted(std::string_view json) {
  const bool quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return quoted ? json.substr(1, json.size() - 2) : json;
}

HistogramItems::Parts& HistogramItems::PartsOf(std::string_view name) {
  for (Parts& parts : rows_) {
    if (parts.name == name) return parts;
  }
  return rows_.emplace_back(Parts{std::string(name), {}, {}, false});
}

bool HistogramItems::Take(const Item& item) {
  if (rows_.size() >= kMostHistograms) return false;
  const std::size_t slash = item.key.rfind('/');
  const std::string_view last = slash == std::string::npos ? "" : std::string_view(item.key).substr(slash + 1);
  const std::string_view name = std::string_view(item.key).substr(0, slash == std::string::npos ? 0 : slash);
  if (last == "_type") {
    PartsOf(name).typed = item.json == kHistogram;
    return true;
  }
  if (item.json.starts_with('[') && (last == "bins" || last == "values")) {
    (last == "bins" ? PartsOf(name).edges : PartsOf(name).counts) = NumbersIn(item.json);
    return true;
  }
  if (!item.json.starts_with('{') || item.json.find(kHistogram) == std::string_view::npos) return false;
  codec::JsonScanner scanner(item.json);
  Parts& parts = PartsOf(item.key);
  parts.typed = true;
  std::string key;
  for (JsonToken token = scanner.Next(); token != JsonToken::kBroken && token != JsonToken::kNeedMore;
       token = scanner.Next()) {
    if (scanner.depth() == 0) break;
    if (token == JsonToken::kKey) key = scanner.text();
    if (token != JsonToken::kArrayBegin) continue;
    const std::vector<double> numbers = NumbersOf(scanner);
    if (key == "bins") parts.edges = numbers;
    if (key == "values") parts.counts = numbers;
  }
  return true;
}

std::optional<tabular::Distribution> HistogramItems::DistributionOf(const Parts& parts) {
  if (!parts.typed || parts.counts.empty() || parts.edges.size() != parts.counts.size() + 1) return std::nullopt;
  std::vector<tabular::Bucket> buckets;
  buckets.reserve(parts.counts.size());
  for (std::size_t i = 0; i < parts.counts.size(); ++i)
    buckets.push_back({parts.edges[i], parts.edges[i + 1], parts.counts[i]});
  return tabular::SummariseFilled(buckets);
}

}  // namespace vigil::formats::wandb
