#include "pipeline/live_review.h"

#include <algorithm>

#include "diagnose/diagnose.h"

namespace vigil::pipeline {
namespace {

// Reviewing so many points takes about as long as a look does without it.
constexpr std::size_t kShort = 20'000;
// A longer run is reviewed when it has grown by one part in so many: the cost of all reviews together stays a small
// multiple of one.
constexpr std::size_t kParts = 10;

std::size_t PointsOf(const model::Run& run) {
  std::size_t most = 0;
  for (const model::Series& series : run.series) most = std::max(most, series.size());
  return most;
}

bool SameFinding(const model::Finding& a, const model::Finding& b) {
  return a.id == b.id && a.signal == b.signal && a.labels == b.labels;
}

const model::Finding* FindSame(const std::vector<model::Finding>& findings, const model::Finding& wanted) {
  const auto at = std::find_if(findings.begin(), findings.end(),
                               [&](const model::Finding& finding) { return SameFinding(finding, wanted); });
  return at == findings.end() ? nullptr : &*at;
}

}  // namespace

void LiveReview::Apply(const model::Run& run, const catalogue::Thresholds& thresholds,
                       std::vector<model::Finding>& findings) {
  const std::size_t points = PointsOf(run);
  const bool due = points <= kShort || points < reviewed_points_ || points - reviewed_points_ >= points / kParts;
  if (!due) return ApplyRemembered(findings);
  const std::vector<model::Finding> before = points > kShort ? findings : std::vector<model::Finding>();
  diagnose::Review(run, findings, thresholds, false);
  reviewed_points_ = points;
  if (points > kShort) Remember(before, findings);
}

void LiveReview::Remember(const std::vector<model::Finding>& before, const std::vector<model::Finding>& after) {
  at_most_.clear();
  added_.clear();
  for (const model::Finding& finding : after) {
    const model::Finding* was = FindSame(before, finding);
    if (was == nullptr) {
      added_.push_back(finding);
    } else if (finding.severity < was->severity) {
      at_most_[finding.id] = finding.severity;
    }
  }
}

void LiveReview::ApplyRemembered(std::vector<model::Finding>& findings) const {
  for (model::Finding& finding : findings) {
    const auto most = at_most_.find(finding.id);
    if (most != at_most_.end()) finding.severity = std::min(finding.severity, most->second);
  }
  findings.insert(findings.end(), added_.begin(), added_.end());
  std::stable_sort(findings.begin(), findings.end(),
                   [](const model::Finding& a, const model::Finding& b) { return a.severity > b.severity; });
}

}  // namespace vigil::pipeline
