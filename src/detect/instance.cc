#include "detect/instance.h"

#include <algorithm>
#include <utility>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

std::unique_ptr<model::Series> WithoutPoints(const model::Series& series) {
  auto header = std::make_unique<model::Series>();
  header->TakeHeaderOf(series);
  return header;
}

// What the user asked for holds for the finding as its row describes it; a lesser form of it stays lesser.
model::Severity SeverityOf(const Context& context, std::optional<model::Severity> decided) {
  const model::Severity usual = context.row->severity;
  const model::Severity wanted = context.thresholds->SeverityOf(context.row->id, usual);
  if (!decided || *decided == usual) return wanted;
  if (wanted == usual) return *decided;
  return *decided < usual ? std::min(*decided, wanted) : wanted;
}

void FillIn(model::Finding& finding, const Context& context, bool severity_set) {
  finding.id = std::string(context.row->id);
  finding.family = context.row->family;
  finding.severity = SeverityOf(context, severity_set ? std::optional(finding.severity) : std::nullopt);
  PutOnAxis(finding, context.axis());
  if (context.primary == nullptr) return;
  finding.signal = context.primary->signal;
  finding.labels = context.primary->labels;
  if (context.primary->source >= context.run->sources.size()) return;
  for (model::Evidence& evidence : finding.evidence) evidence.path = context.run->sources[context.primary->source].path;
}

std::vector<model::Finding> ReportOf(Detector& detector, const Context& context) {
  std::vector<model::Finding> found;
  detector.SetLoggingInterval(context.logging_interval);
  detector.Report(found);
  for (model::Finding& finding : found) FillIn(finding, context, finding.severity != kFromRow);
  return found;
}

// The same but for companions that were not there before: detectors are made without looking at companions, and the
// feeder knows whether they come in time.
bool AddsCompanions(const Purpose& before, const Purpose& now) {
  return before.run == now.run &&
         std::equal(before.series.begin(), before.series.end(), now.series.begin(), now.series.end(),
                    [](std::uint64_t was, std::uint64_t is) { return was == is || was == 0; });
}

// What findings depend on while the instance stays: when none of it changed, nor do they.
std::pair<std::size_t, std::int64_t> JudgedOf(const Context& context, const Watched& watched) {
  std::size_t points = 0;
  for (const model::Series* series : watched) points += series == nullptr ? 0 : series->size();
  const model::Position planned = context.run->axes.To(context.primary->axis, context.run->Planned());
  return {points, planned.known() ? planned.value() : model::kNoStep};
}

}  // namespace

std::vector<model::Finding> Instance::JudgeOnce(const Context& context, const Watched& watched, std::size_t lead,
                                                const Resumes& resumes) {
  const auto detector = FindFactory(context.row->detector)(context);
  Feeder(lead).FeedAll(*detector, watched, resumes);
  return ReportOf(*detector, context);
}

const std::vector<model::Finding>& Instance::Judge(const Context& context, Purpose purpose, const Watched& watched,
                                                   std::size_t lead, const Resumes& resumes, std::uint64_t& replays) {
  const bool same = detector_ != nullptr && (purpose == purpose_ || AddsCompanions(purpose_, purpose));
  if (!same || !feeder_.StillHolds(watched, resumes)) {
    if (detector_ != nullptr) ++replays;
    // The companion was behind for longer than its points were waited for: wait longer from now on.
    if (same && feeder_.took_a_chance()) most_waiting_ = std::min(2 * most_waiting_, kMostEverWaiting);
    Begin(context, std::move(purpose), lead);
  } else if (feeder_.SameResumes(resumes) && JudgedOf(context, watched) == judged_) {
    return found_;
  } else {
    purpose_ = std::move(purpose);
  }
  judged_ = JudgedOf(context, watched);
  feeder_.FeedSettled(*detector_, watched, resumes, most_waiting_);
  primary_->source = context.primary->source;
  Context kept = context;
  kept.primary = primary_.get();
  if (feeder_.waiting() == 0) {
    found_ = ReportOf(*detector_, kept);
  } else {
    const std::unique_ptr<Detector> ahead = detector_->Clone();
    Feeder(feeder_).FeedAll(*ahead, watched, resumes);
    found_ = ReportOf(*ahead, kept);
  }
  return found_;
}

void Instance::Begin(const Context& context, Purpose purpose, std::size_t lead) {
  purpose_ = std::move(purpose);
  primary_ = WithoutPoints(*context.primary);
  Context kept = context;
  kept.primary = primary_.get();
  detector_ = FindFactory(context.row->detector)(kept);
  feeder_ = Feeder(lead);
}

}  // namespace vigil::detect
