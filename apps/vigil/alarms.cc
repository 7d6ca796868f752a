#include "alarms.h"

#include <fmt/format.h>

#include <utility>

namespace vigil::app {
namespace {

// Steps and numbers of a finding change as points come; what it is about does not.
std::string KeyOf(const model::Run& run, const model::Finding& finding) {
  std::string key = fmt::format("{}\n{}\n{}", run.name, finding.id, finding.signal);
  for (const auto& [name, value] : finding.labels) key += fmt::format("\n{}={}", name, value);
  return key;
}

report::Alarm AlarmOf(const model::Finding& finding, const std::string& run) {
  report::Alarm alarm;
  alarm.run = run;
  alarm.id = finding.id;
  alarm.severity = finding.severity;
  alarm.first = finding.first;
  alarm.says = finding.says;
  return alarm;
}

// Findings get a little better and worse with every point: only worse is worth saying, until the last word.
bool IsNews(const report::Alarm& before, const report::Alarm& now, bool at_end) {
  if (before.severity < now.severity) return true;
  return at_end && (before.severity != now.severity || !model::SamePosition(before.first, now.first));
}

}  // namespace

std::vector<report::Alarm> AlarmBook::Update(const model::Report& now, bool at_end) {
  std::vector<report::Alarm> news;
  std::map<std::string, report::Alarm> holding;
  for (const model::RunReport& run : now.runs) {
    const std::string name = now.runs.size() > 1 ? run.run.name : std::string();
    for (const model::Finding& finding : run.findings) {
      if (finding.severity < model::Severity::kWarning) continue;
      const auto [at, is_first] = holding.try_emplace(KeyOf(run.run, finding), AlarmOf(finding, name));
      if (!is_first) continue;
      const auto before = raised_.find(at->first);
      if (before == raised_.end() || IsNews(before->second, at->second, at_end)) {
        news.push_back(at->second);
      } else {
        at->second = before->second;
      }
    }
  }
  for (auto& [key, alarm] : raised_) {
    if (holding.contains(key)) continue;
    alarm.cleared = true;
    news.push_back(alarm);
  }
  raised_ = std::move(holding);
  return news;
}

}  // namespace vigil::app
