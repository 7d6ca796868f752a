#include <algorithm>
#include <limits>
#include <tuple>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Range SegmentRange(const model::Series& series, std::size_t segment) {
  const std::size_t begin = series.segment_starts[segment];
  const bool is_last = segment + 1 == series.segment_starts.size();
  return {begin, is_last ? series.size() : series.segment_starts[segment + 1]};
}

// The series one detector instance watches, by role; null where the run has none.
using Watched = std::vector<const model::Series*>;

// Feeds one segment of the leading series, and the companions' points of the same stretch, in step order. Companions of
// a step come before the leading series, so that it is judged with them known.
class SegmentFeeder {
 public:
  SegmentFeeder(Detector& detector, const Watched& watched, std::size_t lead)
      : detector_(detector), watched_(watched), lead_(lead) {}

  void Feed(std::size_t segment) {
    std::vector<Range> ranges(watched_.size());
    for (std::size_t role = 0; role < watched_.size(); ++role) {
      if (watched_[role] != nullptr) ranges[role] = StretchOf(role, segment);
    }
    for (;;) {
      std::size_t next = watched_.size();
      std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
      for (std::size_t role = watched_.size();
           role-- > 0;) {  // backwards: role 0 only when its step is strictly smallest
        if (ranges[role].begin >= ranges[role].end) continue;
        const std::int64_t step = watched_[role]->steps[ranges[role].begin];
        if (step < smallest) {
          smallest = step;
          next = role;
        }
      }
      if (next == watched_.size()) return;
      const model::Series& series = *watched_[next];
      const std::size_t at = ranges[next].begin++;
      const std::uint32_t line = series.lines.empty() ? 0 : series.lines[at];
      detector_.Observe({static_cast<std::uint32_t>(next), series.steps[at], series.values[at], line});
    }
  }

 private:
  // A companion with as many segments restarted with the leading series; one with fewer is read where its segments end.
  Range StretchOf(std::size_t role, std::size_t segment) const {
    const model::Series& series = *watched_[role];
    const std::size_t segments = series.segment_starts.size();
    const std::size_t lead_segments = watched_[lead_]->segment_starts.size();
    if (segments == lead_segments || segments == 0) return segments == 0 ? Range{} : SegmentRange(series, segment);
    if (segment >= segments) return {};
    const bool last_of_lead = segment + 1 == lead_segments;
    Range range = SegmentRange(series, segment);
    if (last_of_lead) range.end = series.size();
    return range;
  }

  Detector& detector_;
  const Watched& watched_;
  std::size_t lead_;
};

const model::Series* FindCompanion(const model::Run& run, std::string_view signal, const model::Labels& labels) {
  for (const model::Series& series : run.series) {
    if (series.signal == signal && series.labels == labels) return &series;
  }
  return run.Find(signal);
}

// Every leading series that a row is to be run on: each labelled series of its first signal, or when that is absent the
// first of its other signals.
std::vector<const model::Series*> FindLeads(const model::Run& run, const catalogue::FindingRow& row,
                                            std::size_t& role) {
  std::vector<const model::Series*> leads;
  for (role = 0; role < row.signals.size(); ++role) {
    for (const model::Series& series : run.series) {
      if (series.signal != row.signals[role] || series.empty()) continue;
      // Two names for one signal (a per-step and a per-epoch mean, say): the denser one is judged.
      const auto same = std::find_if(leads.begin(), leads.end(),
                                     [&](const model::Series* lead) { return lead->labels == series.labels; });
      if (same == leads.end()) {
        leads.push_back(&series);
      } else if ((*same)->size() < series.size()) {
        *same = &series;
      }
    }
    if (!leads.empty()) return leads;
  }
  return leads;
}

void FillIn(model::Finding& finding, const Context& context, bool severity_set) {
  finding.id = std::string(context.row->id);
  finding.family = context.row->family;
  if (!severity_set) finding.severity = context.row->severity;
  finding.severity = context.settings->SeverityOf(context.row->id, finding.severity);
  if (context.primary == nullptr) return;
  finding.signal = context.primary->signal;
  finding.labels = context.primary->labels;
  if (context.primary->source >= context.run->sources.size()) return;
  for (model::Evidence& evidence : finding.evidence) evidence.path = context.run->sources[context.primary->source].path;
}

constexpr std::size_t kMostRestarts = 1000;

void RunDetector(const Context& context, const Watched& watched, std::size_t lead,
                 std::vector<model::Finding>& findings) {
  const auto detector = FindFactory(context.row->detector)(context);
  SegmentFeeder feeder(*detector, watched, lead);
  const model::Series& series = *watched[lead];
  for (std::size_t segment = 0; segment < series.segment_starts.size(); ++segment) {
    // A step that is written twice is no restart; steps that go back all the time are no count of steps.
    const std::size_t first = series.segment_starts[segment];
    if (segment > 0 && series.steps[first] < series.steps[first - 1]) detector->Restart(series.steps[first]);
    if (segment > kMostRestarts) break;
    feeder.Feed(segment);
  }
  std::vector<model::Finding> found;
  detector->Report(found);
  for (model::Finding& finding : found) {
    FillIn(finding, context, finding.severity != kFromRow);
    findings.push_back(std::move(finding));
  }
}

// The order of the rows: of findings at one step and severity, the more telling one first.
std::ptrdiff_t RowOrder(const model::Finding& finding) {
  const catalogue::FindingRow* row = catalogue::FindFinding(finding.id);
  return row == nullptr ? -1 : row - catalogue::Findings().data();
}

// When the first id was found, the second says nothing new where it overlaps it.
struct Cover {
  std::string_view root;
  std::string_view covered;
};
constexpr Cover kCovers[] = {
    {"loss/non-finite", "loss/collapse"},    {"loss/collapse", "loss/not-decreasing"},
    {"loss/collapse", "loss/plateau"},       {"loss/not-decreasing", "loss/plateau"},
    {"loss/divergence", "loss/plateau"},     {"loss/oscillation", "loss/plateau"},
    {"loss/divergence", "loss/oscillation"}, {"loss/divergence", "loss/not-decreasing"},
    {"grad/explosion", "grad/spike"},
};

bool IsCovered(const model::Finding& finding, const std::vector<model::Finding>& all) {
  for (const Cover& cover : kCovers) {
    if (cover.covered != finding.id) continue;
    for (const model::Finding& root : all) {
      const bool overlaps = root.last_step >= finding.first_step && root.first_step <= finding.last_step;
      if (root.id == cover.root && overlaps && root.severity >= model::Severity::kWarning) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<model::Finding> Detect(const model::Run& run, const catalogue::Settings& settings, bool ended) {
  std::vector<model::Finding> found;
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.detector.empty() || !settings.Enabled(row.id)) continue;
    std::size_t lead_role = 0;
    for (const model::Series* lead : FindLeads(run, row, lead_role)) {
      Watched watched(row.signals.size(), nullptr);
      for (std::size_t role = lead_role; role < row.signals.size(); ++role) {
        watched[role] = role == lead_role ? lead : FindCompanion(run, row.signals[role], lead->labels);
      }
      Context context;
      context.run = &run;
      context.settings = &settings;
      context.row = &row;
      context.primary = lead;
      context.logging_interval = std::max(1.0, lead->LoggingInterval());
      context.ended = ended;
      RunDetector(context, watched, lead_role, found);
    }
  }
  std::vector<model::Finding> findings = FindingsFromEvents(run, settings);
  for (const model::Finding& finding : found) {
    if (!IsCovered(finding, found)) findings.push_back(finding);
  }
  std::sort(findings.begin(), findings.end(), [](const model::Finding& a, const model::Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    if (a.first_step != b.first_step) return a.first_step < b.first_step;
    return std::make_tuple(RowOrder(a), a.id, a.labels) < std::make_tuple(RowOrder(b), b.id, b.labels);
  });
  return findings;
}

}  // namespace vigil::detect
