#include "ingest/follow/covers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace vigil::ingest {
namespace {

std::string KeyOf(const model::Series& series) {
  std::string key = series.raw;
  for (const auto& [name, value] : series.labels) key += fmt::format("\n{}={}", name, value);
  return key;
}

std::string KeyOf(const model::Event& event) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", static_cast<int>(event.kind), event.rank, event.name, event.text,
                     event.says.id);
}

std::string KeyOf(const model::Fact& fact) { return fmt::format("{}\n{}", fact.raw_key, fact.value); }

bool GoesOnFrom(const model::Series& whole, const model::Series& part) {
  // NaN is the same as itself here.
  const auto same = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  };
  return whole.size() >= part.size() && std::equal(part.steps.begin(), part.steps.end(), whole.steps.begin()) &&
         std::equal(part.values.begin(), part.values.end(), whole.values.begin(), same);
}

bool CoversSeries(const model::Run& whole, const model::Run& part) {
  std::unordered_map<std::string, const model::Series*> known;
  for (const model::Series& series : whole.series) known.emplace(KeyOf(series), &series);
  return std::all_of(part.series.begin(), part.series.end(), [&](const model::Series& series) {
    const auto at = known.find(KeyOf(series));
    return at != known.end() && GoesOnFrom(*at->second, series);
  });
}

template <typename T>
bool HoldsAll(const std::vector<T>& whole, const std::vector<T>& part) {
  std::unordered_set<std::string> known;
  for (const T& item : whole) known.insert(KeyOf(item));
  return std::all_of(part.begin(), part.end(), [&](const T& item) { return known.contains(KeyOf(item)); });
}

}  // namespace

bool Covers(const model::Run& whole, const model::Run& part) {
  if (whole.sources.front().format != part.sources.front().format || whole.series.size() < part.series.size())
    return false;
  return CoversSeries(whole, part) && HoldsAll(whole.events, part.events) && HoldsAll(whole.facts, part.facts) &&
         whole.batches.steps.size() >= part.batches.steps.size();
}

}  // namespace vigil::ingest
