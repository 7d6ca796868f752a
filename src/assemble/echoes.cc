#include "assemble/echoes.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "assemble/compare.h"

namespace vigil::assemble {
namespace {

constexpr std::string_view kRank = "rank";

// Signal, axis and labels but for the rank.
std::string KeyWithoutRank(const model::Series& series) {
  model::Series plain;
  plain.signal = series.signal;
  plain.labels = series.labels;
  std::erase_if(plain.labels, [](const auto& label) { return label.first == kRank; });
  return SignalKey(plain) + '\n' + series.raw + '\n' + std::string(model::Name(series.axis));
}

// Bit by bit, so that NaN equals NaN.
bool SamePoints(const model::Series& a, const model::Series& b) {
  return a.steps == b.steps && a.size() == b.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

void DropEchoes(model::Run& part) {
  const auto is_ranked = [](const model::Series& series) { return !model::FindLabel(series.labels, kRank).empty(); };
  if (std::none_of(part.series.begin(), part.series.end(), is_ranked)) return;
  std::map<std::string, std::size_t> firsts;
  std::vector<bool> merged_away(part.series.size(), false);
  for (std::size_t i = 0; i < part.series.size(); ++i) {
    const model::Series& series = part.series[i];
    const auto [at, is_first] = firsts.emplace(KeyWithoutRank(series), i);
    merged_away[i] = !is_first && is_ranked(series) && !series.empty() && SamePoints(part.series[at->second], series);
  }
  std::vector<model::Series> kept;
  kept.reserve(part.series.size());
  for (std::size_t i = 0; i < part.series.size(); ++i) {
    if (!merged_away[i]) kept.push_back(std::move(part.series[i]));
  }
  part.series = std::move(kept);
}

}  // namespace vigil::assemble
