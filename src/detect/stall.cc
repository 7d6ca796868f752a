#include <fmt/format.h>

#include <algorithm>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// Seconds that a step usually takes: by what was logged of it, or by the times at which steps were told.
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

std::int64_t LastStep(const model::Run& run) {
  std::int64_t last = model::kNoStep;
  for (const model::Series& series : run.series) {
    if (!series.empty()) last = std::max(last, series.steps.back());
  }
  return last;
}

bool HasEnded(const model::Run& run, std::int64_t last_step) {
  if (run.planned_steps > 0 && last_step >= run.planned_steps) return true;
  return std::any_of(run.events.begin(), run.events.end(),
                     [](const model::Event& event) { return event.kind == model::EventKind::kExit; });
}

}  // namespace

std::optional<model::Finding> FindStall(const model::Run& run, double silent_s, const catalogue::Settings& settings) {
  constexpr std::string_view kId = "hang/stalled";
  if (!settings.Enabled(kId)) return std::nullopt;
  const double usual_s = UsualStepSeconds(run);
  const double limit_s =
      std::max(settings.Threshold(kId, "times_usual") * usual_s, settings.Threshold(kId, "min_seconds"));
  const std::int64_t step = LastStep(run);
  // Comparisons with a time that is not known are false.
  if (!(usual_s >= 0) || !(silent_s > limit_s) || HasEnded(run, step)) return std::nullopt;
  const catalogue::FindingRow* row = catalogue::FindFinding(kId);
  model::Finding finding = MakeFinding(step, step,
                                       fmt::format("no step for more than {} s after step {}; a step takes {} s",
                                                   FormatNumber(std::round(limit_s)), step, FormatNumber(usual_s)));
  finding.id = std::string(kId);
  finding.family = row->family;
  finding.severity = settings.SeverityOf(kId, row->severity);
  AddMeasure(finding, "usual_s", usual_s);
  return finding;
}

}  // namespace vigil::detect
