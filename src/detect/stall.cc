#include <algorithm>

#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

// Seconds that a step usually takes: as logged, or from the times of the logged points.
double UsualStepSeconds(const model::Run& run) {
  constexpr std::size_t kRecent = 200;
  if (const model::Series* logged = run.Find("step_time_s"); logged != nullptr && !logged->empty()) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(kRecent, logged->size()));
    return stats::Median({logged->values.end() - count, logged->values.end()});
  }
  const model::Series* loss = run.Find("loss");
  if (loss == nullptr || loss->times.size() < 2) return model::kNoValue;
  std::vector<double> gaps;
  for (std::size_t i = loss->size() - std::min(kRecent, loss->size() - 1); i < loss->size(); ++i)
    gaps.push_back(loss->times[i] - loss->times[i - 1]);
  return stats::Median(std::move(gaps));
}

// The last position that was logged. Series of other axes than steps count only where no series has steps: 50,000
// tokens are not behind step 40.
model::Position LastPosition(const model::Run& run) {
  model::Position last;
  for (const model::Series& series : run.series) {
    if (series.empty()) continue;
    const model::Position end = series.PositionOf(series.size() - 1);
    const bool first_with_steps = end.axis() == model::Axis::kStep && last.axis() != model::Axis::kStep;
    if (!last.known() || first_with_steps || std::is_gt(CompareOnAxis(end, last))) last = end;
  }
  return last;
}

bool HasEnded(const model::Run& run, model::Position last) {
  if (std::is_gteq(run.axes.Compare(last, run.Planned()))) return true;
  return std::any_of(run.events.begin(), run.events.end(),
                     [](const model::Event& event) { return event.kind == model::EventKind::kExit; });
}

}  // namespace

std::optional<model::Finding> FindStall(const model::Run& run, double silent_s,
                                        const catalogue::Thresholds& thresholds) {
  constexpr std::string_view kId = "hang/stalled";
  if (!thresholds.Enabled(kId)) return std::nullopt;
  const double usual_s = UsualStepSeconds(run);
  const double limit_s =
      std::max(thresholds.Threshold(kId, "times_usual") * usual_s, thresholds.Threshold(kId, "min_seconds"));
  const model::Position last = LastPosition(run);
  // Comparisons with a time that is not known are false.
  if (!(usual_s >= 0) || !(silent_s > limit_s) || HasEnded(run, last)) return std::nullopt;
  const double limit = std::round(limit_s);
  model::Finding finding = FindingOfRow(kId, thresholds, {last, last},
                                        says::HangStalledSilent{.limit = limit, .last = last, .usual = usual_s});
  if (!last.known()) finding.says = says::HangStalledSilentFromStart{.limit = limit, .usual = usual_s};
  AddMeasure(finding, "usual_s", usual_s);
  return finding;
}

}  // namespace vigil::detect
