#include "scale/lead.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "detect/detect.h"
#include "scale/score.h"

namespace vigil::scale {
namespace {

constexpr std::size_t kSmoothed = 5;  // points of a level
constexpr int kLooks = 40;
constexpr double kRisen = 0.5;   // share of what a loss fell by which it must rise above its start
constexpr double kFallen = 0.1;  // share of the first level by which a loss has begun to be learned

// Medians of five points, the point being the last of them.
std::vector<double> LevelsOf(const model::Series& loss) {
  std::vector<double> levels;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    const std::size_t from = i + 1 < kSmoothed ? 0 : i + 1 - kSmoothed;
    std::vector<double> window;
    for (std::size_t k = from; k <= i; ++k) window.push_back(loss.values[k]);
    std::nth_element(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(window.size() / 2), window.end());
    levels.push_back(window[window.size() / 2]);
  }
  return levels;
}

std::optional<std::int64_t> DivergenceStep(const model::Series& loss) {
  if (loss.size() < 2 * kSmoothed) return std::nullopt;
  const std::vector<double> levels = LevelsOf(loss);
  const double start = levels[kSmoothed - 1];
  const double best = *std::min_element(levels.begin(), levels.end());
  if (best > start - kFallen * std::abs(start)) return std::nullopt;
  // A flat, noisy loss also ends a little above its start: what counts is out of proportion to what it had fallen.
  const double lost = start + kRisen * (start - best);
  std::size_t from = levels.size();
  while (from > kSmoothed && levels[from - 1] > lost) --from;
  if (from == levels.size()) return std::nullopt;
  return loss.steps[from];
}

// Ids from `warning` up, without those of config rules.
std::set<std::string> WarningsOf(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::set<std::string> ids;
  for (const model::Finding& finding : detect::Detect(run, thresholds, false)) {
    if (finding.severity >= model::Severity::kWarning && !finding.id.starts_with("config/")) ids.insert(finding.id);
  }
  return ids;
}

}  // namespace

std::optional<std::int64_t> HarmStep(const model::Run& run) {
  const model::Series* loss = run.Find("loss");
  if (loss == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < loss->size(); ++i) {
    if (!std::isfinite(loss->values[i])) return loss->steps[i];
  }
  // The loss of a policy has no level: only its reward would say.
  return run.Find("reward") == nullptr ? DivergenceStep(*loss) : std::nullopt;
}

model::Run RunUpTo(const model::Run& run, std::int64_t step) {
  model::Run part = run;
  part.events.clear();
  for (model::Series& series : part.series) {
    std::size_t count = 0;
    while (count < series.size() && series.steps[count] <= step) ++count;
    series.Truncate(count);
  }
  std::erase_if(part.series, [](const model::Series& series) { return series.empty(); });
  return part;
}

std::optional<Lead> LeadOf(const Record& record, const catalogue::Thresholds& thresholds) {
  if (AskedOf(record) != Asked::kFinding) return std::nullopt;
  const auto harm = HarmStep(record.run);
  if (!harm || *harm - record.label.onset < kSlowSteps) return std::nullopt;
  Lead lead = {record.label.onset, *harm, std::nullopt};
  // What was there before the fault is no warning of it.
  const std::set<std::string> before = WarningsOf(RunUpTo(record.run, lead.onset - 1), thresholds);
  for (int look = 0; look < kLooks && !lead.first_warning; ++look) {
    const std::int64_t step = lead.onset + (lead.harm - lead.onset) * look / kLooks;
    const std::set<std::string> now = WarningsOf(RunUpTo(record.run, step), thresholds);
    if (!std::includes(before.begin(), before.end(), now.begin(), now.end())) lead.first_warning = step;
  }
  return lead;
}

std::optional<bool> WarnsByChance(const Record& record, const catalogue::Thresholds& thresholds) {
  if (AskedOf(record) != Asked::kSilence || record.label.split % 10 != 0) return std::nullopt;
  for (int look = 1; look <= kLooks; ++look) {
    if (!WarningsOf(RunUpTo(record.run, record.last_step * look / kLooks), thresholds).empty()) return true;
  }
  return false;
}

}  // namespace vigil::scale
