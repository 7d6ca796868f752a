// Runs that are watched: read, joined and judged as they grow.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <span>
#include <utility>

#include "detect/detect.h"
#include "diagnose/diagnose.h"
#include "formats/formats.h"
#include "pipeline/join_parts.h"
#include "pipeline/live_review.h"
#include "pipeline/live_runs.h"
#include "pipeline/pipeline.h"
#include "pipeline/rules.h"
#include "report/report.h"

namespace vigil::pipeline {
namespace {

// As many points as a line on a screen shows several times over.
constexpr std::size_t kShownPoints = 512;
// Of runs with a series for each layer and rank, nobody looks at more on a screen.
constexpr std::size_t kShownSeries = 4096;

constexpr std::size_t kShownEvents = 512;

template <class Number>
model::Column<Number> LastOf(const model::Column<Number>& column, std::size_t count) {
  return model::Column<Number>(std::span(column).last(std::min(count, column.size())));
}

model::Series Recent(const model::Series& series) {
  model::Series recent;
  recent.TakeHeaderOf(series);
  recent.steps = LastOf(series.steps, kShownPoints);
  recent.values = LastOf(series.values, kShownPoints);
  recent.times = LastOf(series.times, kShownPoints);
  recent.lines = LastOf(series.lines, kShownPoints);
  if (!recent.empty()) recent.segment_starts = {0};
  for (std::size_t i = 1; i < recent.size(); ++i) {
    if (recent.steps[i] <= recent.steps[i - 1]) recent.segment_starts.push_back(static_cast<std::uint32_t>(i));
  }
  return recent;
}

// The run as it is shown: a copy of all points would cost more than judging what is new.
model::Run Recent(const model::Run& run) {
  model::Run recent;
  recent.TakeHeaderOf(run);
  if (recent.events.size() > kShownEvents)
    recent.events.erase(recent.events.begin(), recent.events.end() - static_cast<std::ptrdiff_t>(kShownEvents));
  const std::size_t shown = std::min(run.series.size(), kShownSeries);
  recent.series.reserve(shown);
  for (std::size_t i = 0; i < shown; ++i) recent.series.push_back(Recent(run.series[i]));
  return recent;
}

}  // namespace

class Monitor::Runs {
 public:
  Runs(std::vector<std::string> paths, const catalogue::Thresholds& thresholds)
      : thresholds_(thresholds), paths_(std::move(paths)), files_(paths_, formats::Formats()), live_(files_) {}

  bool Poll() {
    if (!files_.Poll() && !failed_) return false;
    try {
      live_.Update();
      failed_ = false;
    } catch (const std::exception& problem) {
      const Error error{ErrorCode::kInternal, Join(paths_, ", "), std::nullopt,
                        fmt::format("what is new could not be joined: {}", problem.what())};
      // What was shown last stays; the next look joins all of it again.
      live_.Forget();
      ForgetEngines();
      failed_ = true;
      report_.unread = {{error.path, error.message}};
      return true;
    }
    ForgetEngines();
    NameUnread();
    report_.runs.clear();
    for (const auto& run : live_.runs()) AddJudged(*run);
    return true;
  }

  const model::Report& report() const { return report_; }

  void AddStalls(double silent_s) {
    for (model::RunReport& run : report_.runs) {
      auto stall = detect::FindStall(run.run, silent_s, thresholds_);
      const bool known = !run.findings.empty() && stall && run.findings.front().id == stall->id;
      if (stall && !known) run.findings.insert(run.findings.begin(), std::move(*stall));
    }
  }

  model::Report Conclude() {
    files_.Poll();
    files_.Conclude();
    model::Report report;
    report.unread = files_.unread();
    for (model::Run& run : JoinFollowed(files_, report.unread)) AddDiagnosis(std::move(run), thresholds_, report);
    diagnose::CompareRuns(report.runs, thresholds_);
    return report;
  }

  Work work() const {
    Work work{live_.joins(), replays_};
    for (const auto& [run, engine] : engines_) work.replays += engine.replays();
    return work;
  }

 private:
  void NameUnread() {
    report_.unread = files_.unread();
    report_.unread.insert(report_.unread.end(), live_.unread().begin(), live_.unread().end());
  }

  void AddJudged(const model::Run& run) {
    try {
      report_.runs.push_back(Judge(run));
    } catch (const std::exception& problem) {
      const Error error{ErrorCode::kInternal, run.sources.empty() ? run.name : run.sources.front().path, std::nullopt,
                        fmt::format("could not be judged: {}", problem.what())};
      report_.unread.push_back({error.path, error.message});
      reviews_.erase(&run);
      engines_.erase(&run);  // it may be in the middle of a change
    }
  }

  model::RunReport Judge(const model::Run& run) {
    model::RunReport report;
    detect::Engine& engine = engines_.try_emplace(&run, thresholds_).first->second;
    report.findings = engine.Findings(run, false);
    reviews_[&run].Apply(run, thresholds_, report.findings);
    AppendRules(report.findings, diagnose::CheckConfig(run, thresholds_));
    report.run = Recent(run);
    return report;
  }

  // Another run may come to lie where one was: an engine never outlives its own.
  void ForgetEngines() {
    std::erase_if(engines_, [&](const auto& entry) {
      const bool removed = std::none_of(live_.runs().begin(), live_.runs().end(),
                                        [&](const auto& run) { return run.get() == entry.first; });
      if (removed) replays_ += entry.second.replays();
      if (removed) reviews_.erase(entry.first);
      return removed;
    });
  }

  catalogue::Thresholds thresholds_;
  std::vector<std::string> paths_;
  ingest::Follower files_;
  LiveRuns live_;
  std::map<const model::Run*, detect::Engine> engines_;
  std::map<const model::Run*, LiveReview> reviews_;
  std::uint64_t replays_ = 0;  // of engines that are no longer there
  bool failed_ = false;        // the last look: the next one joins again, even when nothing came
  model::Report report_;
};

Monitor::Monitor(std::vector<std::string> paths, const catalogue::Thresholds& thresholds)
    : runs_(std::make_unique<Runs>(std::move(paths), thresholds)) {}
Monitor::~Monitor() = default;
bool Monitor::Poll() { return runs_->Poll(); }
const model::Report& Monitor::report() const { return runs_->report(); }
void Monitor::AddStalls(double silent_s) { runs_->AddStalls(silent_s); }
model::Report Monitor::Conclude() { return runs_->Conclude(); }
Monitor::Work Monitor::work() const { return runs_->work(); }

}  // namespace vigil::pipeline
