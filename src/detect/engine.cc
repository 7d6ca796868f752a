#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "detect/detectors.h"
#include "detect/whole_run.h"

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
  // `resumes`: the last steps before the run was stopped and went on, in rising order.
  SegmentFeeder(Detector& detector, const Watched& watched, std::size_t lead, const std::vector<std::int64_t>& resumes)
      : detector_(detector), watched_(watched), lead_(lead), resumes_(resumes) {}

  void Feed(std::size_t segment) {
    std::vector<Range> ranges(watched_.size());
    for (std::size_t role = 0; role < watched_.size(); ++role) {
      if (watched_[role] != nullptr) ranges[role] = StretchOf(role, segment);
    }
    std::int64_t last = model::kNoStep;
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
      if (last != model::kNoStep && ResumedBetween(last, series.steps[at])) detector_.Resume(series.steps[at]);
      last = series.steps[at];
      const std::uint32_t line = series.lines.empty() ? 0 : series.lines[at];
      detector_.Observe({static_cast<std::uint32_t>(next), series.steps[at], series.values[at], line});
    }
  }

 private:
  bool ResumedBetween(std::int64_t last, std::int64_t next) const {
    const auto at = std::lower_bound(resumes_.begin(), resumes_.end(), last);
    return at != resumes_.end() && *at < next;
  }

  // A companion with as many segments restarted with the leading series. Another one is read where it covers the same
  // steps: a file that a restart overwrote has one segment, and one that was written twice has more.
  Range StretchOf(std::size_t role, std::size_t segment) const {
    const model::Series& series = *watched_[role];
    const std::size_t segments = series.segment_starts.size();
    const std::size_t lead_segments = watched_[lead_]->segment_starts.size();
    if (segments == lead_segments || segments == 0) return segments == 0 ? Range{} : SegmentRange(series, segment);
    constexpr std::size_t kMostPairs = 1'000'000;
    if (segments > kMostPairs / lead_segments) return segment < segments ? SegmentRange(series, segment) : Range{};
    const Range lead = SegmentRange(*watched_[lead_], segment);
    // What was logged before the first point or after the last one belongs to the outermost segments.
    const std::int64_t first =
        segment == 0 ? std::numeric_limits<std::int64_t>::min() : watched_[lead_]->steps[lead.begin];
    const std::int64_t last =
        segment + 1 == lead_segments ? std::numeric_limits<std::int64_t>::max() : watched_[lead_]->steps[lead.end - 1];
    Range best;
    for (std::size_t i = 0; i < segments; ++i) {
      const Range covered = Within(series, SegmentRange(series, i), first, last);
      // The later of two that cover as much is the one that stands.
      if (covered.end - covered.begin >= best.end - best.begin) best = covered;
    }
    return best;
  }

  // The points of a segment with steps from `first` to `last`.
  static Range Within(const model::Series& series, Range segment, std::int64_t first, std::int64_t last) {
    const auto begin = series.steps.begin() + static_cast<std::ptrdiff_t>(segment.begin);
    const auto end = series.steps.begin() + static_cast<std::ptrdiff_t>(segment.end);
    const auto from = std::lower_bound(begin, end, first);
    const auto to = std::upper_bound(from, end, last);
    return {static_cast<std::size_t>(from - series.steps.begin()), static_cast<std::size_t>(to - series.steps.begin())};
  }

  Detector& detector_;
  const Watched& watched_;
  std::size_t lead_;
  const std::vector<std::int64_t>& resumes_;
};

// The series of each signal by their labels, made once: a run may hold a hundred thousand.
class SeriesIndex {
 public:
  explicit SeriesIndex(const model::Run& run) : run_(run) {
    for (const model::Series& series : run.series) {
      if (!series.empty()) by_signal_[series.signal][series.labels].push_back(&series);
    }
  }

  const model::Series* Companion(std::string_view signal, const model::Labels& labels) {
    const auto same = by_signal_.find(signal);
    if (same == by_signal_.end()) return nullptr;
    const auto at = same->second.find(labels);
    if (at != same->second.end()) return at->second.front();
    const auto [known, is_new] = preferred_.try_emplace(signal, nullptr);
    if (is_new) known->second = run_.Find(signal);
    return known->second;
  }

  // Series that are called a loss and that no signal of the vocabulary stands for, no more than kMostLeads.
  std::vector<const model::Series*> OtherLosses() const {
    std::vector<const model::Series*> losses;
    for (const model::Series& series : run_.series) {
      if (series.empty() || series.signal != series.raw || losses.size() == kMostLeads) continue;
      const std::string name = ToLower(series.raw);
      const bool is_evaluation = name.find("val") != std::string::npos || name.find("test") != std::string::npos;
      if (name.find("loss") != std::string::npos && !is_evaluation) losses.push_back(&series);
    }
    return losses;
  }

  // Of each labelled series of the signal one: of two names for one signal (a per-step and a per-epoch mean, say) the
  // denser. No more than kMostLeads, in the order of their labels.
  std::vector<const model::Series*> Leads(std::string_view signal) const {
    std::vector<const model::Series*> leads;
    const auto same = by_signal_.find(signal);
    if (same == by_signal_.end()) return leads;
    for (const auto& [labels, series] : same->second) {
      const auto denser = [](const model::Series* a, const model::Series* b) { return a->size() < b->size(); };
      leads.push_back(*std::max_element(series.begin(), series.end(), denser));
      if (leads.size() == kMostLeads) break;
    }
    return leads;
  }

 private:
  static constexpr std::size_t kMostLeads = 4096;
  const model::Run& run_;
  std::map<std::string_view, std::map<model::Labels, std::vector<const model::Series*>>> by_signal_;
  std::map<std::string_view, const model::Series*> preferred_;  // where no labels fit: found once
};

// Every leading series that a row is to be run on: each labelled series of its first signal, or when that is absent the
// first of its other signals.
std::vector<const model::Series*> FindLeads(const SeriesIndex& index, const catalogue::FindingRow& row,
                                            std::size_t& role) {
  for (role = 0; role < row.signals.size(); ++role) {
    std::vector<const model::Series*> leads = index.Leads(row.signals[role]);
    if (!leads.empty()) return leads;
  }
  return {};
}

// What the user asked for holds for the finding as its row describes it; a lesser form of it stays lesser.
model::Severity SeverityOf(const Context& context, std::optional<model::Severity> decided) {
  const model::Severity usual = context.row->severity;
  const model::Severity wanted = context.settings->SeverityOf(context.row->id, usual);
  if (!decided || *decided == usual) return wanted;
  if (wanted == usual) return *decided;
  return *decided < usual ? std::min(*decided, wanted) : wanted;
}

void FillIn(model::Finding& finding, const Context& context, bool severity_set) {
  finding.id = std::string(context.row->id);
  finding.family = context.row->family;
  finding.severity = SeverityOf(context, severity_set ? std::optional(finding.severity) : std::nullopt);
  finding.axis = context.axis();
  for (model::Evidence& evidence : finding.evidence) evidence.axis = context.axis();
  if (context.primary == nullptr) return;
  finding.signal = context.primary->signal;
  finding.labels = context.primary->labels;
  if (context.primary->source >= context.run->sources.size()) return;
  for (model::Evidence& evidence : finding.evidence) evidence.path = context.run->sources[context.primary->source].path;
}

constexpr std::size_t kMostRestarts = 1000;

// The last steps before the run was stopped and went on, as its logs tell, in rising order.
std::vector<std::int64_t> ResumesTold(const model::Run& run) {
  std::vector<std::int64_t> steps;
  for (const model::Event& event : run.events) {
    const bool told = event.kind == model::EventKind::kResume && event.step != model::kNoStep;
    if (told && steps.size() < kMostRestarts) steps.push_back(event.step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

// Progress needs room: a run that goes on is not blamed for the lack of it before a fifth of its way.
bool ComesTooEarly(const Context& context, const model::Finding& finding) {
  constexpr std::array<std::string_view, 4> kOfProgress = {"loss/not-decreasing", "loss/plateau", "loss/oscillation",
                                                           "rl/reward-flat"};
  constexpr double kRoom = 0.2;
  if (context.ended || std::find(kOfProgress.begin(), kOfProgress.end(), finding.id) == kOfProgress.end()) return false;
  const model::Position planned = context.Planned();
  return planned.known() && static_cast<double>(finding.last_step) < kRoom * static_cast<double>(planned.value());
}

void RunDetector(const Context& context, const Watched& watched, std::size_t lead,
                 const std::vector<std::int64_t>& resumes, std::vector<model::Finding>& findings) {
  const auto detector = FindFactory(context.row->detector)(context);
  SegmentFeeder feeder(*detector, watched, lead, resumes);
  const model::Series& series = *watched[lead];
  std::size_t restarts = 0;
  for (std::size_t segment = 0; segment < series.segment_starts.size(); ++segment) {
    // A step that is written twice is no restart; steps that go back all the time are no count of steps, and what they
    // would overwrite is left as it was: the points are judged all the same.
    const std::size_t first = series.segment_starts[segment];
    const bool goes_back = segment > 0 && series.steps[first] < series.steps[first - 1];
    if (goes_back && ++restarts <= kMostRestarts) detector->Restart(series.steps[first]);
    feeder.Feed(segment);
  }
  std::vector<model::Finding> found;
  detector->Report(found);
  for (model::Finding& finding : found) {
    FillIn(finding, context, finding.severity != kFromRow);
    if (ComesTooEarly(context, finding)) continue;
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
    {"grad/explosion", "grad/spike"},        {"rl/reward-collapse", "rl/reward-flat"},
    {"loss/eval-break", "loss/overfit"},
};

bool IsCovered(const model::Finding& finding, const std::vector<model::Finding>& all) {
  for (const Cover& cover : kCovers) {
    if (cover.covered != finding.id) continue;
    for (const model::Finding& root : all) {
      const bool overlaps = root.last_step >= finding.first_step && root.first_step <= finding.last_step;
      const bool same = root.id == cover.root && root.labels == finding.labels;
      if (same && overlaps && root.severity >= model::Severity::kWarning) return true;
    }
  }
  return false;
}

// Thousands of ranks or layers that tell the same are one story; the first of each severity and id stand for the rest.
void KeepTheFirst(std::vector<model::Finding>& findings) {
  constexpr std::size_t kMostOfAKind = 64;
  std::map<std::pair<std::string, model::Severity>, std::size_t> seen;
  std::erase_if(findings,
                [&](const model::Finding& finding) { return ++seen[{finding.id, finding.severity}] > kMostOfAKind; });
}

// Not bad from one point on to the end, or of too few points to tell.
bool IsPassing(const model::Finding& finding) {
  constexpr double kEnough = 5;
  const double count = finding.MeasureOr("count", 0);
  const bool lasts = finding.MeasureOr("longest", 0) == count && finding.MeasureOr("good_since", 1) == 0;
  return !lasts || count < kEnough || finding.MeasureOr("points", 0) - count < kEnough;
}

struct RunTraits {
  bool ended = true;
  bool reinforcement = false;
  bool loss_scaler = false;
};

Context ContextOf(const model::Run& run, const catalogue::Settings& settings, const catalogue::FindingRow& row,
                  const model::Series& lead, const RunTraits& traits) {
  Context context;
  context.run = &run;
  context.settings = &settings;
  context.row = &row;
  context.primary = &lead;
  context.logging_interval = std::max(1.0, lead.LoggingInterval());
  context.ended = traits.ended;
  context.reinforcement = traits.reinforcement;
  context.loss_scaler = traits.loss_scaler;
  return context;
}

}  // namespace

std::vector<model::Finding> Detect(const model::Run& run, const catalogue::Settings& settings, bool ended) {
  std::vector<model::Finding> found;
  SeriesIndex index(run);
  const std::vector<std::int64_t> resumes = ResumesTold(run);
  const RunTraits traits = {ended, IsReinforcementLearning(run), UsesLossScaler(run)};
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.detector.empty() || !settings.Enabled(row.id)) continue;
    const std::size_t before = found.size();
    std::size_t lead_role = 0;
    for (const model::Series* lead : FindLeads(index, row, lead_role)) {
      Watched watched(row.signals.size(), nullptr);
      for (std::size_t role = lead_role; role < row.signals.size(); ++role) {
        watched[role] = role == lead_role ? lead : index.Companion(row.signals[role], lead->labels);
      }
      RunDetector(ContextOf(run, settings, row, *lead, traits), watched, lead_role, resumes, found);
    }
    for (const std::string_view signal : row.also) {
      if (found.size() != before) break;
      const bool any_loss = signal == catalogue::kOtherLosses;
      for (const model::Series* lead : any_loss ? index.OtherLosses() : index.Leads(signal))
        RunDetector(ContextOf(run, settings, row, *lead, traits), {lead}, 0, resumes, found);
      // Parts of a loss are NaN where a batch has nothing for them; it is another matter when they stay so.
      if (any_loss)
        found.erase(std::remove_if(found.begin() + static_cast<std::ptrdiff_t>(before), found.end(), IsPassing),
                    found.end());
    }
  }
  KeepTheFirst(found);
  std::vector<model::Finding> findings = FindingsFromEvents(run, settings);
  for (const auto find : {FindingsAcrossRanks, FindingsOfGuard, FindingsOfBatches}) {
    std::vector<model::Finding> more = find(run, settings);
    findings.insert(findings.end(), more.begin(), more.end());
  }
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
