#include "report/judged_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "report/words.h"

namespace vigil::report {
namespace {

// A level that a value can stand out from needs two dozen points. One of an epoch is a mean over all of the data.
constexpr std::size_t kFew = 24;
constexpr std::size_t kFewEpochs = 12;

// The points that the row asks for before it judges anything; 0 where it asks for none.
double PointsNeeded(const catalogue::FindingRow& row, bool epochs) {
  double needed = 0;
  for (const catalogue::ThresholdRow& threshold : row.thresholds) {
    if (threshold.name == "min_points" && needed == 0) needed = threshold.value;
    if (threshold.name == "min_epochs" && epochs) needed = threshold.value;
  }
  return needed;
}

std::vector<JudgedOn::Need> NeedsOf(const model::Series& series, std::size_t points) {
  std::vector<JudgedOn::Need> needs;
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.detector.empty() || row.signals.empty() || row.signals.front() != series.signal) continue;
    const double needed = PointsNeeded(row, series.axis == model::Axis::kEpoch);
    if (row.severity >= model::Severity::kWarning && needed > static_cast<double>(points))
      needs.push_back({row.id, static_cast<std::size_t>(needed)});
  }
  std::stable_sort(needs.begin(), needs.end(),
                   [](const JudgedOn::Need& a, const JudgedOn::Need& b) { return a.points < b.points; });
  return needs;
}

const model::Series* ProgressMetricOf(const model::Run& run) {
  for (const std::string_view metric : kProgressMetrics) {
    const model::Series* series = run.Find(metric);
    if (series != nullptr && !series->empty()) return series;
  }
  return nullptr;
}

}  // namespace

JudgedOn JudgedOnOf(const model::Run& run) {
  const model::Series* series = ProgressMetricOf(run);
  if (series == nullptr) return {};
  JudgedOn judged;
  judged.metric = series->signal;
  judged.points = static_cast<std::size_t>(
      std::count_if(series->values.begin(), series->values.end(), [](double value) { return std::isfinite(value); }));
  judged.needs = NeedsOf(*series, judged.points);
  judged.few = judged.points < (series->axis == model::Axis::kEpoch ? kFewEpochs : kFew) && !judged.needs.empty();
  return judged;
}

std::string FewPointsText(const model::Run& run) {
  const JudgedOn judged = JudgedOnOf(run);
  if (!judged.few) return {};
  std::vector<std::string> needs;
  needs.reserve(judged.needs.size());
  for (const JudgedOn::Need& need : judged.needs)
    needs.push_back(fmt::format("{} {}{}", need.finding, needs.empty() ? "needs " : "", need.points));
  return fmt::format("{} of {} only: {}; log more often, or judge again later", CountOf(judged.points, "point"),
                     judged.metric, Join(needs, ", "));
}

}  // namespace vigil::report
