#include "assemble/echoes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "assemble/compare.h"
#include "catalogue/catalogue.h"

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

namespace {

bool IsSameCurve(const model::Series& epochs, const model::Series& steps) {
  constexpr std::size_t kFewest = 2;
  if (epochs.axis != model::Axis::kEpoch || steps.axis != model::Axis::kStep) return false;
  if (epochs.signal != steps.signal || epochs.labels != steps.labels) return false;
  if (epochs.size() != steps.size() || epochs.size() < kFewest) return false;
  const Rounding of_epochs = RoundingOf(epochs.values);
  const Rounding of_steps = RoundingOf(steps.values);
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    if (!SameButForRounding(epochs.values[i], steps.values[i], of_epochs, of_steps)) return false;
  }
  return true;
}

}  // namespace

void DropCurvesOfEpochs(model::Run& run) {
  std::vector<bool> dropped(run.series.size(), false);
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    model::Series& epochs = run.series[i];
    const bool is_known = epochs.signal != epochs.raw || catalogue::Interpret(epochs.raw).has_value();
    if (epochs.axis != model::Axis::kEpoch || !is_known) continue;
    const auto steps = std::find_if(run.series.begin(), run.series.end(),
                                    [&](const model::Series& other) { return IsSameCurve(epochs, other); });
    if (steps == run.series.end()) continue;
    if (run.sources[epochs.source].digits > run.sources[steps->source].digits) steps->values = epochs.values;
    dropped[i] = true;
  }
  std::vector<model::Series> kept;
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(run.series[i]));
  }
  run.series = std::move(kept);
}

}  // namespace vigil::assemble
