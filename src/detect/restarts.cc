// What a restart lost, as far as the run as a whole shows it: the position in the data, parts of the checkpoint, the
// steps since the last one.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/base.h"
#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

using model::Event;
using model::EventKind;

// ---- the position in the data

const model::Series* PositionInData(const model::Run& run) {
  for (const std::string_view signal : {"data_position", "num_samples", "position", "pos"}) {
    const model::Series* series = run.Find(signal);
    if (series != nullptr && series->size() >= 8) return series;
  }
  return nullptr;
}

// Whether the run was stopped and went on between two points of the series.
bool ResumedBetween(const model::Run& run, const model::Series& series, std::size_t point) {
  const auto interval = static_cast<std::int64_t>(std::max(1.0, series.LoggingInterval()));
  const auto begins = std::find(series.segment_starts.begin(), series.segment_starts.end(), point);
  if (begins != series.segment_starts.end()) return true;
  return std::any_of(run.events.begin(), run.events.end(), [&](const Event& event) {
    if (event.kind != EventKind::kResume) return false;
    const auto at = run.axes.To(series.axis, event.at).ValueOn(series.axis);
    // A notice states the steps that are made or the one that comes next: within one point of it.
    return at && *at >= series.steps[point - 1] - interval && *at <= series.steps[point];
  });
}

// The last point before `point` whose step is below that of it: what it goes on from.
std::optional<std::size_t> GoesOnFrom(const model::Series& series, std::size_t point) {
  for (std::size_t i = point; i-- > 0;) {
    if (series.steps[i] < series.steps[point]) return i;
  }
  return std::nullopt;
}

// The first point at which the count of data falls far behind where it was, though the steps go on.
std::optional<model::Finding> FindLostPosition(const model::Run& run, const catalogue::Thresholds& thresholds) {
  constexpr std::string_view kId = "resume/data-restart";
  constexpr double kFarBehind = 0.5;
  constexpr double kTheEnd = 0.97;  // of the highest count
  const model::Series* series = PositionInData(run);
  if (series == nullptr || !thresholds.Enabled(kId)) return std::nullopt;
  const double highest = *std::max_element(series->values.begin(), series->values.end());
  for (std::size_t i = 1; i < series->size(); ++i) {
    const auto from = GoesOnFrom(*series, i);
    if (!from || series->steps[i] <= series->steps.front()) continue;
    const double before = series->values[*from];
    const double after = series->values[i];
    if (!(after < kFarBehind * before) || !ResumedBetween(run, *series, i)) continue;
    if (before >= kTheEnd * highest) continue;  // the data end there, and begin again as they should
    const model::Position at = series->PositionOf(i);
    model::Finding finding = FindingOfRow(
        kId, thresholds, {at, at},
        says::ResumeDataRestartPosition{.metric = series->raw, .before = before, .after = after, .at = at});
    finding.signal = series->signal;
    AddMeasure(finding, "before", before);
    AddMeasure(finding, "after", after);
    return finding;
  }
  return std::nullopt;
}

// ---- checkpoints without all state

bool SavesWeightsOnly(const model::Run& run) {
  const model::Fact* fact = run.FindFact("save_only_model");
  return fact != nullptr && ToLower(fact->value) == "true";
}

std::optional<model::Finding> FindWeightsOnly(const model::Run& run, const catalogue::Thresholds& thresholds) {
  constexpr std::string_view kId = "resume/incomplete-checkpoint";
  if (!thresholds.Enabled(kId) || !SavesWeightsOnly(run)) return std::nullopt;
  const auto resumed = std::find_if(run.events.begin(), run.events.end(), [](const Event& event) {
    return event.kind == EventKind::kResume && event.name != model::kNewFileEvent;
  });
  if (resumed == run.events.end()) return std::nullopt;
  const model::Position at = resumed->at;
  model::Finding finding =
      FindingOfRow(kId, thresholds, {at, at}, says::ResumeIncompleteCheckpointWeightsOnlyUnplaced{});
  if (at.known()) finding.says = says::ResumeIncompleteCheckpointWeightsOnly{.at = at};
  return finding;
}

// ---- steps that a failure cost

// The place of the last checkpoint that the run wrote down; unknown when there is none.
model::Position LastSaved(const model::Run& run) {
  model::Position saved;
  for (const Event& event : run.events) {
    if (event.kind == EventKind::kCheckpoint && event.at.known() &&
        (!saved.known() || std::is_gt(run.axes.Compare(event.at, saved))))
      saved = event.at;
  }
  return saved;
}

// Only where the run writes of its checkpoints at all: most say nothing of them.
std::optional<model::Finding> FindCadence(const model::Run& run, const std::vector<model::Finding>& failures,
                                          const catalogue::Thresholds& thresholds) {
  constexpr std::string_view kId = "resume/cadence";
  if (!thresholds.Enabled(kId)) return std::nullopt;
  const auto fatal = std::find_if(failures.begin(), failures.end(), [](const model::Finding& finding) {
    return finding.severity == model::Severity::kFatal && finding.first.known();
  });
  const model::Position saved = LastSaved(run);
  if (fatal == failures.end() || !saved.known()) return std::nullopt;
  const auto lost = run.axes.Distance(saved, fatal->first);
  const double made = static_cast<double>(fatal->first.value());
  if (!lost || lost->axis != fatal->first.axis() || !(lost->amount > thresholds.Threshold(kId, "share") * made))
    return std::nullopt;
  return FindingOfRow(kId, thresholds, {fatal->first, fatal->first},
                      says::ResumeCadenceLost{.lost = *lost, .saved = saved});
}

}  // namespace

std::vector<model::Finding> FindingsOfRestarts(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<model::Finding> findings;
  for (auto find : {FindLostPosition, FindWeightsOnly}) {
    if (auto found = find(run, thresholds)) findings.push_back(std::move(*found));
  }
  return findings;
}

std::vector<model::Finding> FindingsOfCadence(const model::Run& run, const std::vector<model::Finding>& failures,
                                              const catalogue::Thresholds& thresholds) {
  std::vector<model::Finding> findings;
  if (auto found = FindCadence(run, failures, thresholds)) findings.push_back(std::move(*found));
  return findings;
}

}  // namespace vigil::detect
