// The run that others are compared with.
#include <fmt/format.h>

#include <algorithm>

#include "base/base.h"
#include "pipeline/pipeline.h"
#include "platform/files.h"
#include "report/report.h"

namespace vigil::pipeline {
namespace {

// What was found in place of one run.
Error NoBaseline(const std::string& path, const Outcome& outcome) {
  if (!outcome.report.unread.empty()) {
    const model::Unread& first = outcome.report.unread.front();
    const std::string reason = report::WhyUnread(first);
    return {ErrorCode::kInvalid, path, std::nullopt,
            fmt::format("no run could be read to compare with: {}{}",
                        first.path == path ? std::string() : first.path + ": ", reason)};
  }
  return {
      ErrorCode::kInvalid, path, std::nullopt,
      fmt::format("no run to compare with: nothing in it that vigil can read ({} files looked at)", outcome.ignored)};
}

Error SeveralBaselines(const std::string& path, const std::vector<model::RunReport>& runs) {
  constexpr std::size_t kMostNames = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(runs.size(), kMostNames); ++i) names.push_back(runs[i].run.name);
  if (runs.size() > kMostNames) names.emplace_back("...");
  return {ErrorCode::kInvalid, path, std::nullopt,
          fmt::format("holds {} runs ({}); give the folder or file of the one to compare with", runs.size(),
                      Join(names, ", "))};
}

}  // namespace

Result<model::RunReport> LoadBaseline(const std::string& path, const catalogue::Thresholds& thresholds) {
  Outcome outcome = DiagnosePaths({path}, thresholds);
  if (outcome.report.runs.empty()) return tl::unexpected(NoBaseline(path, outcome));
  if (outcome.report.runs.size() > 1) return tl::unexpected(SeveralBaselines(path, outcome.report.runs));
  return std::move(outcome.report.runs.front());
}

}  // namespace vigil::pipeline
