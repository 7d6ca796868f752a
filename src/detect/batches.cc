#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

constexpr std::string_view kRestartId = "resume/data-restart";
constexpr std::string_view kRepeatedId = "data/repeated";

struct Batch {
  std::int64_t step = 0;  // an optimizer step, as all counts in this file
  std::uint64_t hash = 0;

  friend bool operator==(const Batch&, const Batch&) = default;
  friend auto operator<=>(const Batch&, const Batch&) = default;
};

// The batches of each rank by step; duplicates of two files are merged. A step that was made twice with other data has
// two batches.
std::map<std::int32_t, std::vector<Batch>> BatchesByRank(const model::BatchFingerprints& logged) {
  std::map<std::int32_t, std::vector<Batch>> ranks;
  for (std::size_t i = 0; i < logged.steps.size(); ++i)
    ranks[std::max(logged.ranks[i], 0)].push_back({logged.steps[i].value, logged.hashes[i]});
  for (auto& [rank, batches] : ranks) {
    std::sort(batches.begin(), batches.end());
    batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  }
  return ranks;
}

// Steps in a row whose data were first seen the same number of steps before.
struct Repetition {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t offset = 0;
  std::size_t batches = 0;
};

std::vector<Repetition> RepetitionsIn(const std::vector<Batch>& batches) {
  std::unordered_map<std::uint64_t, std::int64_t> first_seen;
  std::unordered_map<std::int64_t, std::size_t> latest;  // of each offset, an index into `found`
  std::vector<Repetition> found;
  std::int64_t before = model::kNoStep;  // the step that has batches before this one
  std::int64_t step = model::kNoStep;
  for (const Batch& batch : batches) {
    if (batch.step != step) before = std::exchange(step, batch.step);
    const auto [seen, is_new] = first_seen.try_emplace(batch.hash, batch.step);
    const std::int64_t offset = batch.step - seen->second;
    if (is_new || offset == 0) continue;
    const auto known = latest.find(offset);
    if (known != latest.end() && found[known->second].last == before) {
      found[known->second].last = batch.step;
      ++found[known->second].batches;
    } else {
      latest[offset] = found.size();
      found.push_back({batch.step, batch.step, offset, 1});
    }
  }
  return found;
}

// Fingerprints are recorded with the optimizer step.
model::Position AtStep(std::int64_t step) { return {model::Axis::kStep, step}; }
model::PositionRange Steps(std::int64_t first, std::int64_t last) { return {AtStep(first), AtStep(last)}; }

// Where the run was stopped and went on, from what was logged of it and from steps that went back: the first step after
// it lies behind `after` and not behind `by`.
struct Resumption {
  std::int64_t after = 0;
  std::int64_t by = 0;
};

std::vector<Resumption> ResumptionsOf(const model::Run& run) {
  constexpr std::size_t kMost = 1000;
  std::vector<Resumption> resumptions;
  for (const model::Event& event : run.events) {
    if (event.kind != model::EventKind::kResume) continue;
    // One that is only known by its epoch counts where a map leads to the step.
    const model::Position at = run.axes.To(model::Axis::kStep, event.at);
    if (at.known()) resumptions.push_back({at.value() - 1, at.value() + 1});
  }
  if (const model::Series* loss = run.Find("loss"); loss != nullptr && loss->axis == model::Axis::kStep) {
    const auto interval = static_cast<std::int64_t>(std::max(1.0, loss->LoggingInterval()));
    for (std::size_t i = 1; i < loss->segment_starts.size() && resumptions.size() < kMost; ++i) {
      const std::int64_t step = loss->steps[loss->segment_starts[i]];
      resumptions.push_back({step - interval - 1, step});
    }
  }
  return resumptions;
}

// Where an epoch ends, unshuffled data begin again as they should.
bool EpochEndsAt(const model::Run& run, std::int64_t step) {
  const model::Series* epoch = run.Find("epoch");
  if (epoch == nullptr || epoch->axis != model::Axis::kStep) return false;
  if (epoch->size() < 2 || epoch->segment_starts.size() != 1) return false;
  const auto at = std::lower_bound(epoch->steps.begin(), epoch->steps.end(), step) - epoch->steps.begin();
  const auto i = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 1, std::ssize(epoch->steps) - 1));
  return std::floor(epoch->values[i]) > std::floor(epoch->values[i - 1]);
}

model::Finding DescribeRestart(const Repetition& seen, std::int64_t first_step,
                               const catalogue::Thresholds& thresholds) {
  const std::int64_t from = seen.first - seen.offset;
  model::Statement start;
  if (from == first_step) start = says::ResumeDataRestartFromFirst{};
  model::Finding finding = FindingOfRow(kRestartId, thresholds, Steps(seen.first, seen.last),
                                        says::ResumeDataRestartSeen{.at = AtStep(seen.first),
                                                                    .again = Steps(seen.first, seen.last),
                                                                    .earlier = Steps(from, seen.last - seen.offset),
                                                                    .start = start});
  AddEvidenceAt(finding, says::ResumeDataRestartInARow{.batches = seen.batches}, AtStep(seen.first), model::kNoValue);
  AddMeasure(finding, "batches", static_cast<double>(seen.batches));
  AddMeasure(finding, "offset", static_cast<double>(seen.offset));
  return finding;
}

std::optional<model::Finding> FindDataRestart(const model::Run& run, const std::vector<Batch>& batches,
                                              const catalogue::Thresholds& thresholds) {
  const auto least = static_cast<std::size_t>(thresholds.Threshold(kRestartId, "min_batches"));
  const std::vector<Resumption> resumptions = ResumptionsOf(run);
  if (resumptions.empty()) return std::nullopt;
  for (const Repetition& seen : RepetitionsIn(batches)) {
    const bool at_resumption = std::any_of(resumptions.begin(), resumptions.end(), [&](const Resumption& resumption) {
      return seen.first > resumption.after && seen.first <= resumption.by;
    });
    if (seen.batches < least || !at_resumption || EpochEndsAt(run, seen.first)) continue;
    return DescribeRestart(seen, batches.front().step, thresholds);
  }
  return std::nullopt;
}

// The longest stretch of steps that all had one and the same batch.
std::optional<model::Finding> FindStuckBatch(const std::vector<Batch>& batches,
                                             const catalogue::Thresholds& thresholds) {
  const auto least = static_cast<std::size_t>(thresholds.Threshold(kRepeatedId, "min_steps"));
  std::size_t best = 0;
  std::size_t best_length = 0;
  for (std::size_t begin = 0, end = 0; begin < batches.size(); begin = end) {
    while (end < batches.size() && batches[end].hash == batches[begin].hash) ++end;
    if (end - begin > best_length) {
      best = begin;
      best_length = end - begin;
    }
  }
  if (best_length < least) return std::nullopt;
  const model::PositionRange span = Steps(batches[best].step, batches[best + best_length - 1].step);
  model::Finding finding = FindingOfRow(kRepeatedId, thresholds, span, says::DataRepeatedStuck{.span = span});
  AddMeasure(finding, "steps", static_cast<double>(best_length));
  return finding;
}

// Ranks of one model-parallel group read the same data on purpose.
bool SharesDataOnPurpose(const model::Run& run) {
  for (const std::string_view key : {"tensor_parallel", "pipeline_parallel", "context_parallel"}) {
    if (run.FactNumber(key).value_or(1) > 1) return true;
  }
  return false;
}

// Two ranks whose batches are the same step by step: their loaders were given the same part of the data.
std::optional<model::Finding> FindRanksAlike(const model::Run& run,
                                             const std::map<std::int32_t, std::vector<Batch>>& ranks,
                                             const catalogue::Thresholds& thresholds) {
  constexpr double kNearlyAll = 0.9;
  const auto least = static_cast<std::size_t>(thresholds.Threshold(kRepeatedId, "min_steps"));
  if (ranks.size() < 2 || SharesDataOnPurpose(run)) return std::nullopt;
  const auto& [first_rank, first] = *ranks.begin();
  for (auto other = std::next(ranks.begin()); other != ranks.end(); ++other) {
    std::vector<Batch> shared;
    std::set_intersection(first.begin(), first.end(), other->second.begin(), other->second.end(),
                          std::back_inserter(shared));
    const std::size_t compared = std::min(first.size(), other->second.size());
    if (shared.size() < least || static_cast<double>(shared.size()) < kNearlyAll * static_cast<double>(compared))
      continue;
    model::Finding finding = FindingOfRow(kRepeatedId, thresholds, Steps(shared.front().step, shared.back().step),
                                          says::DataRepeatedRanks{.one = std::to_string(first_rank),
                                                                  .other = std::to_string(other->first),
                                                                  .same = shared.size(),
                                                                  .compared = compared});
    AddMeasure(finding, "ranks_alike", 1);
    AddMeasure(finding, "steps", static_cast<double>(shared.size()));
    return finding;
  }
  return std::nullopt;
}

}  // namespace

std::vector<model::Finding> FindingsOfBatches(const model::Run& run, const catalogue::Thresholds& thresholds) {
  if (run.batches.steps.empty()) return {};
  const auto ranks = BatchesByRank(run.batches);
  std::vector<model::Finding> findings;
  const auto add = [&](std::optional<model::Finding> finding) {
    if (finding) findings.push_back(std::move(*finding));
  };
  if (thresholds.Enabled(kRestartId)) add(FindDataRestart(run, ranks.begin()->second, thresholds));
  if (thresholds.Enabled(kRepeatedId)) {
    add(FindStuckBatch(ranks.begin()->second, thresholds));
    add(FindRanksAlike(run, ranks, thresholds));
  }
  return findings;
}

}  // namespace vigil::detect
