#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

using ByRank = std::map<std::int32_t, const model::Series*>;

// The series of a signal by rank; one without a label is of the first rank.
ByRank SeriesByRank(const model::Run& run, std::string_view signal) {
  ByRank ranks;
  for (const model::Series& series : run.series) {
    if (series.signal != signal || series.empty()) continue;
    // Ranks are compared at the same counts, so they must count the same thing.
    if (!ranks.empty() && series.axis != ranks.begin()->second->axis) continue;
    const std::string_view label = model::FindLabel(series.labels, "rank");
    if (label.empty() ? !series.labels.empty() : series.labels.size() != 1) continue;
    const auto rank = label.empty() ? 0 : ParseInteger(label).value_or(-1);
    if (rank >= 0) ranks.try_emplace(static_cast<std::int32_t>(rank), &series);
  }
  return ranks;
}

// ---- one rank slower than its peers

struct StepOfRanks {
  std::int64_t step = 0;
  std::vector<double> values;  // in the order of the ranks
};

// The last steps that all ranks logged.
std::vector<StepOfRanks> CommonSteps(const ByRank& ranks, std::size_t most) {
  std::map<std::int64_t, std::vector<double>> by_step;
  std::size_t rank = 0;
  for (const auto& [number, series] : ranks) {
    const std::size_t from = series->size() > most ? series->size() - most : 0;
    for (std::size_t i = from; i < series->size(); ++i) {
      std::vector<double>& values = by_step[series->steps[i]];
      if (values.size() == rank && std::isfinite(series->values[i]) && series->values[i] > 0)
        values.push_back(series->values[i]);
    }
    ++rank;
  }
  std::vector<StepOfRanks> steps;
  for (auto& [step, values] : by_step) {
    if (values.size() == ranks.size()) steps.push_back({step, std::move(values)});
  }
  return steps;
}

// How much longer a rank took than the median of its peers, step by step.
std::vector<double> RatiosOf(const std::vector<StepOfRanks>& steps, std::size_t rank) {
  std::vector<double> ratios;
  for (const StepOfRanks& at : steps) {
    std::vector<double> peers = at.values;
    peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(rank));
    ratios.push_back(at.values[rank] / stats::Median(std::move(peers)));
  }
  return ratios;
}

struct Straggling {
  double ratio = 1;
  std::int64_t first_step = 0;
};

struct StragglerLimits {
  double ratio = 1;
  std::size_t min_points = 0;     // of a rank that is slower by the ratio
  std::size_t fewest_points = 0;  // of a rank that is slower by any amount

  // A rank that is slower by twice as much shows in half the points.
  std::size_t PointsNeeded(double seen) const {
    const double needed = static_cast<double>(min_points) * (ratio - 1) / std::max(seen - 1, ratio - 1);
    if (!(needed < static_cast<double>(min_points))) return std::max(fewest_points, min_points);
    return std::max(fewest_points, static_cast<std::size_t>(std::ceil(needed)));
  }
};

// Slower at nearly every one of the last steps. Noise that hits one rank for a while does not last.
std::optional<Straggling> JudgeRank(const std::vector<StepOfRanks>& steps, std::size_t rank,
                                    const StragglerLimits& limits) {
  constexpr double kNearlyAll = 0.85;
  const std::vector<double> smooth = stats::SmoothByMedian(RatiosOf(steps, rank), 5);
  const std::size_t tail = std::max(limits.fewest_points, smooth.size() / 4);
  const std::vector<double> last(smooth.end() - static_cast<std::ptrdiff_t>(tail), smooth.end());
  const double half_way = 1 + 0.5 * (limits.ratio - 1);
  const auto slow = std::count_if(last.begin(), last.end(), [&](double ratio) { return ratio >= half_way; });
  const double ratio = stats::Median(last);
  if (ratio < limits.ratio || static_cast<double>(slow) < kNearlyAll * static_cast<double>(tail)) return std::nullopt;
  std::size_t first = smooth.size() - tail;
  while (first > 0 && smooth[first - 1] >= half_way) --first;
  if (smooth.size() - first < limits.PointsNeeded(ratio)) return std::nullopt;
  return Straggling{ratio, steps[first].step};
}

void FindStragglers(const model::Run& run, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "throughput/straggler";
  constexpr std::size_t kMostSteps = 4096;
  constexpr std::size_t kMostRanks = 1024;
  if (!thresholds.Enabled(kId)) return;
  // The time of a whole step is that of the slowest rank for all: only what a rank does alone separates them.
  const ByRank ranks = SeriesByRank(run, "compute_time_s");
  if (ranks.size() < 2 || ranks.size() > kMostRanks) return;
  const std::vector<StepOfRanks> steps = CommonSteps(ranks, kMostSteps);
  const StragglerLimits limits{thresholds.Threshold(kId, "ratio"), Count(thresholds.Threshold(kId, "min_points")),
                               Count(thresholds.Threshold(kId, "fewest_points"))};
  if (steps.size() < 2 * limits.fewest_points) return;
  std::vector<model::Finding> found;
  std::size_t index = 0;
  for (const auto& [rank, series] : ranks) {
    const auto slow = JudgeRank(steps, index++, limits);
    if (!slow) continue;
    const model::Position first(series->axis, slow->first_step);
    const model::Position last(series->axis, steps.back().step);
    const std::string name = std::to_string(rank);
    model::Finding finding = FindingOfRow(
        kId, thresholds, {first, last}, says::ThroughputStragglerSlow{.rank = name, .ratio = slow->ratio, .at = first});
    finding.signal = series->signal;
    finding.ranks = {rank};
    AddEvidenceAt(finding, says::ThroughputStragglerMedian{.rank = name, .ratio = slow->ratio}, first, slow->ratio);
    AddMeasure(finding, "ratio", slow->ratio);
    found.push_back(std::move(finding));
  }
  // Where half of the ranks stand out, the others are the exception.
  if (2 * found.size() <= ranks.size()) out.insert(out.end(), found.begin(), found.end());
}

// ---- one rank that holds more memory than its peers

void FindImbalance(const model::Run& run, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "memory/imbalance";
  constexpr std::size_t kLast = 64;
  const ByRank ranks = SeriesByRank(run, "mem_allocated");
  if (!thresholds.Enabled(kId) || ranks.size() < 2) return;
  const std::vector<StepOfRanks> steps = CommonSteps(ranks, kLast);
  if (steps.size() < Count(thresholds.Threshold(kId, "min_points"))) return;
  std::size_t index = 0;
  for (const auto& [rank, series] : ranks) {
    const double ratio = stats::Median(RatiosOf(steps, index));
    const double memory = steps.back().values[index++];
    if (ratio < thresholds.Threshold(kId, "ratio")) continue;
    const model::Position at(series->axis, steps.front().step);
    model::Finding finding = FindingOfRow(
        kId, thresholds, {at, model::Position(series->axis, steps.back().step)},
        says::MemoryImbalanceFuller{.rank = std::to_string(rank), .memory = memory, .peers = memory / ratio});
    finding.signal = series->signal;
    finding.ranks = {rank};
    AddMeasure(finding, "ratio", ratio);
    out.push_back(std::move(finding));
    return;
  }
}

// ---- values that must be equal on all ranks

struct Outlier {
  std::size_t one = 0;  // of the two that differ most
  std::size_t other = 0;
};

std::optional<Outlier> DifferAt(const StepOfRanks& at, double tolerance) {
  const auto [low, high] = std::minmax_element(at.values.begin(), at.values.end());
  if (*high - *low <= tolerance * *high) return std::nullopt;
  return Outlier{static_cast<std::size_t>(high - at.values.begin()), static_cast<std::size_t>(low - at.values.begin())};
}

// After the reduction all ranks have the same gradients: a norm that was equal and no longer is shows ranks that train
// on their own. Norms that never were equal were taken before the reduction.
void FindDesync(const model::Run& run, std::string_view signal, const catalogue::Thresholds& thresholds,
                std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "numerics/rank-desync";
  constexpr std::size_t kMostSteps = 4096;
  const ByRank ranks = SeriesByRank(run, signal);
  if (!thresholds.Enabled(kId) || ranks.size() < 2) return;
  const std::vector<StepOfRanks> steps = CommonSteps(ranks, kMostSteps);
  const auto least = Count(thresholds.Threshold(kId, "min_points"));
  const double tolerance = thresholds.Threshold(kId, "tolerance");
  std::size_t first = steps.size();
  while (first > 0 && DifferAt(steps[first - 1], tolerance)) --first;
  if (first < least || steps.size() - first < least) return;
  const auto agree = std::count_if(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(first),
                                   [&](const StepOfRanks& at) { return !DifferAt(at, tolerance); });
  if (static_cast<std::size_t>(agree) + 1 < first) return;  // they never kept in step
  const Outlier apart = *DifferAt(steps[first], tolerance);
  const auto name = [&](std::size_t index) {
    return std::to_string(std::next(ranks.begin(), static_cast<std::ptrdiff_t>(index))->first);
  };
  const model::Axis axis = ranks.begin()->second->axis;
  const model::Position at(axis, steps[first].step);
  model::Finding finding =
      FindingOfRow(kId, thresholds, {at, model::Position(axis, steps.back().step)},
                   says::NumericsRankDesyncDiffers{.metric = std::string(signal),
                                                   .at = at,
                                                   .rank = name(apart.one),
                                                   .value = steps[first].values[apart.one],
                                                   .other = name(apart.other),
                                                   .other_value = steps[first].values[apart.other]});
  finding.signal = std::string(signal);
  AddEvidenceAt(finding, says::NumericsRankDesyncAgreed{.at = model::Position(axis, steps[first - 1].step)}, at,
                model::kNoValue);
  out.push_back(std::move(finding));
}

// ---- ranks that never came to an end

struct Ends {
  std::set<std::int32_t> without;        // their journal was not closed
  std::set<std::int32_t> failed;         // ended with an error
  const model::Event* waited = nullptr;  // somebody waited for a rank in vain
  bool timed_out = false;                // to the end of its patience
};

Ends EndsOf(const model::Run& run) {
  Ends ends;
  for (const model::Event& event : run.events) {
    if (event.rank >= 0 && event.name == model::kNoEndEvent) ends.without.insert(event.rank);
    if (event.rank >= 0 && event.kind == model::EventKind::kExit) {
      ends.without.erase(event.rank);  // it was started again
      if (event.name != "finished") ends.failed.insert(event.rank);
    }
    // The readers know these messages by their signatures, in logs and in journals alike.
    const bool timed_out = event.name == "log/collective-timeout";
    if (ends.waited == nullptr && (timed_out || event.name == "log/collective-given-up")) {
      ends.waited = &event;
      ends.timed_out = timed_out;
    }
  }
  return ends;
}

model::Statement RankList(const std::set<std::int32_t>& ranks) {
  std::vector<std::string> names;
  names.reserve(ranks.size());
  for (const std::int32_t rank : ranks) names.push_back(std::to_string(rank));
  if (names.size() == 1) return says::RanksOne{.rank = names.front()};
  return says::RanksSeveral{.ranks = names};
}

// A rank that died leaves a journal without an end; one that hangs does too, but its peers waited out their time.
void FindLostRanks(const model::Run& run, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  const Ends ends = EndsOf(run);
  if (ends.without.empty() || ends.failed.empty()) return;
  const bool hung = ends.waited != nullptr && ends.timed_out;
  const std::string_view id = hung ? "hang/missing-rank" : "hang/dead-rank";
  if (!thresholds.Enabled(id)) return;
  const model::Position step = ends.waited == nullptr ? model::Position() : ends.waited->at;
  model::Statement at;
  if (step.known()) at = says::PlaceAt{.at = step};
  model::Finding finding =
      FindingOfRow(id, thresholds, {step, step},
                   says::HangDeadRankSilent{.dead = RankList(ends.without), .waiting = RankList(ends.failed)});
  if (hung) finding.says = says::HangMissingRankNeverCame{.missing = RankList(ends.without), .at = at};
  finding.ranks.assign(ends.without.begin(), ends.without.end());
  if (ends.waited != nullptr)
    AddEvidenceAt(finding, says::QuotedText{.text = model::QuoteOf(run, *ends.waited)}, step, model::kNoValue);
  out.push_back(std::move(finding));
}

}  // namespace

std::vector<model::Finding> FindingsAcrossRanks(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<model::Finding> findings;
  FindStragglers(run, thresholds, findings);
  FindImbalance(run, thresholds, findings);
  for (const std::string_view signal : {"grad_norm", "loss_scale"}) FindDesync(run, signal, thresholds, findings);
  FindLostRanks(run, thresholds, findings);
  return findings;
}

}  // namespace vigil::detect
