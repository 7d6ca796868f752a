// The engine: which detectors run on which series, and which of their findings are reported.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "detect/detectors.h"
#include "detect/instance.h"
#include "detect/mapped_series.h"
#include "detect/series_index.h"
#include "detect/settings.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

// The last places before the run was stopped and went on, as its logs state, in rising order on that axis. One whose
// place on it is not known says nothing there.
std::vector<std::int64_t> ResumesOf(const model::Run& run, model::Axis axis) {
  constexpr std::size_t kMostResumes = 1000;
  std::vector<std::int64_t> counts;
  for (const model::Event& event : run.events) {
    if (event.kind != model::EventKind::kResume || counts.size() >= kMostResumes) continue;
    const model::Position at = run.axes.To(axis, event.at);
    if (at.known()) counts.push_back(at.value());
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

// Progress needs room: a run that goes on is not blamed for the lack of it at its beginning. How much is in the rows of
// the findings that this holds for.
bool ComesTooEarly(const Context& context, const model::Finding& finding) {
  constexpr std::string_view kRoom = "room";
  const catalogue::FindingRow* row = catalogue::FindFinding(finding.id);
  if (context.ended || row == nullptr) return false;
  const bool needs_room = std::any_of(row->thresholds.begin(), row->thresholds.end(),
                                      [&](const catalogue::ThresholdRow& one) { return one.name == kRoom; });
  const model::Position planned = context.Planned();
  if (!needs_room || !planned.known()) return false;
  const double room = context.thresholds->Threshold(finding.id, kRoom);
  return static_cast<double>(finding.last.value()) < room * static_cast<double>(planned.value());
}

// The order of the rows: of findings at one step and severity, the more specific one first.
std::ptrdiff_t RowOrder(const model::Finding& finding) {
  const catalogue::FindingRow* row = catalogue::FindFinding(finding.id);
  return row == nullptr ? -1 : row - catalogue::Findings().data();
}

// Places on two axes that nothing leads between overlap nowhere.
bool Overlap(const model::AxisMap& axes, const model::Finding& a, const model::Finding& b) {
  return axes.Compare(a.last, b.first) >= 0 && axes.Compare(a.first, b.last) <= 0;
}

bool IsCovered(const model::AxisMap& axes, const model::Finding& finding, const std::vector<model::Finding>& all) {
  const catalogue::FindingRow* row = catalogue::FindFinding(finding.id);
  if (row == nullptr) return false;
  return std::any_of(all.begin(), all.end(), [&](const model::Finding& root) {
    const bool covers = std::find(row->covered_by.begin(), row->covered_by.end(), root.id) != row->covered_by.end();
    return covers && root.labels == finding.labels && root.severity >= model::Severity::kWarning &&
           Overlap(axes, root, finding);
  });
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

// What detectors are made with beside their series, known once for all of them.
struct RunTraits {
  bool ended = true;
  bool reinforcement = false;
  bool loss_scaler = false;
};

// Of all that constructors of detectors read from the run. Findings of a detector that was made for another training
// method would be wrong.
std::uint64_t PrintOf(const model::Run& run, const RunTraits& traits) {
  std::uint64_t print = (traits.reinforcement ? 2U : 0U) + (traits.loss_scaler ? 1U : 0U);
  const auto add = [&](std::string_view text) {
    print = print * 0x9e3779b97f4a7c15U + std::hash<std::string_view>()(text) + 1;
  };
  add(run.framework);
  add(run.method.name);
  add(run.method.confidence >= model::kMethodKnown ? "known" : "");
  add(std::to_string(run.planned_steps.value_or(model::StepAt()).value));
  for (const model::Fact& fact : run.facts) {
    if (!IsReadByDetectors(fact.key)) continue;
    add(fact.key);
    add(fact.value);
  }
  // A line that shows that the run's code replaces NaN changes what a loss of 0 means.
  const bool hides = std::any_of(run.events.begin(), run.events.end(),
                                 [](const model::Event& event) { return event.kind == model::EventKind::kNanHider; });
  add(hides ? "hides NaN" : "");
  add(IsLanguagePolicy(run) ? "writes text" : "");
  return print;
}

// Where a finding stands among the others. Counts of two axes have no order among each other, so they are not mixed:
// first what has no place, then what has one on the main axis of the run or is led there by its map, then the rest,
// axis by axis.
struct PlaceInOrder {
  enum class Group : std::uint8_t { kNoPlace, kOnMainAxis, kElsewhere };
  Group group = Group::kNoPlace;
  model::Axis axis = model::Axis::kStep;
  std::int64_t count = 0;

  auto operator<=>(const PlaceInOrder&) const = default;
};

PlaceInOrder PlaceOf(const model::AxisMap& axes, model::Axis main_axis, const model::Finding& finding) {
  using Group = PlaceInOrder::Group;
  if (!finding.first.known()) return {};
  if (const model::Position at = axes.To(main_axis, finding.first); at.known())
    return {Group::kOnMainAxis, main_axis, at.value()};
  return {Group::kElsewhere, finding.first.axis(), finding.first.value()};
}

// Orders all findings, and leaves out what others cover.
std::vector<model::Finding> Arrange(const model::Run& run, std::vector<model::Finding> found,
                                    std::vector<model::Finding> of_the_run) {
  KeepTheFirst(found);
  std::vector<model::Finding> findings = std::move(of_the_run);
  for (const model::Finding& finding : found) {
    if (!IsCovered(run.axes, finding, found)) findings.push_back(finding);
  }
  const model::Axis main_axis = model::MainAxis(run);
  std::sort(findings.begin(), findings.end(), [&](const model::Finding& a, const model::Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    const PlaceInOrder of_a = PlaceOf(run.axes, main_axis, a);
    const PlaceInOrder of_b = PlaceOf(run.axes, main_axis, b);
    if (of_a != of_b) return of_a < of_b;
    return std::make_tuple(RowOrder(a), a.id, a.labels) < std::make_tuple(RowOrder(b), b.id, b.labels);
  });
  return findings;
}

// How often the run was stopped and went on, as far as it shows: what batches are judged with.
std::size_t RestartsOf(const model::Run& run) {
  const model::Series* loss = run.Find("loss");
  return run.events.size() + (loss == nullptr ? 0 : loss->segment_starts.size());
}

std::vector<model::Finding> FindingsOfTheRun(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<model::Finding> findings = FindingsFromEvents(run, thresholds);
  const std::vector<model::Finding> cadence = FindingsOfCadence(run, findings, thresholds);
  findings.insert(findings.end(), cadence.begin(), cadence.end());
  for (const auto find :
       {FindingsAcrossRanks, FindingsOfGuard, FindingsOfRestarts, FindingsOfAdversaries, FindingsAcrossLabels}) {
    std::vector<model::Finding> more = find(run, thresholds);
    findings.insert(findings.end(), more.begin(), more.end());
  }
  return findings;
}

}  // namespace

class Engine::State {
 public:
  explicit State(const catalogue::Thresholds& thresholds) : thresholds_(thresholds) {}

  // With `once` nothing is kept for a later look.
  std::vector<model::Finding> Findings(const model::Run& run, bool ended, bool once) {
    Prepare(run, ended, once);
    std::vector<model::Finding> found;
    for (const catalogue::FindingRow& row : catalogue::Findings()) {
      if (row.detector.empty() || !thresholds_.Enabled(row.id)) continue;
      const std::size_t before = found.size();
      JudgeLeads(row, found);
      if (found.size() == before) JudgeOthers(row, found);
    }
    std::vector<model::Finding> of_the_run = FindingsOfTheRun(run, thresholds_);
    JudgeBatches();
    of_the_run.insert(of_the_run.end(), of_batches_.begin(), of_batches_.end());
    return Arrange(run, std::move(found), std::move(of_the_run));
  }

  std::uint64_t replays() const { return replays_; }

 private:
  void Prepare(const model::Run& run, bool ended, bool once) {
    // Detectors hold pointers into the run they were made for.
    if (run_ != &run) instances_.clear();
    run_ = &run;
    once_ = once;
    traits_ = {ended, IsReinforcementLearning(run), UsesLossScaler(run)};
    print_ = once ? 0 : PrintOf(run, traits_);
    if (!index_ || !index_->Fits(run)) {
      index_ = std::make_unique<SeriesIndex>(run);
    } else {
      index_->Refresh();
    }
    for (auto& [axis, resumes] : resumes_) resumes = nullptr;
    old_mapped_ = std::move(mapped_);
    mapped_.clear();
    same_map_ = axes_ == run.axes;
    if (!same_map_) axes_ = run.axes;
  }

  // All batches are compared with all before them: many are compared again only when a sixtieth more has come, or
  // the run was stopped and went on.
  void JudgeBatches() {
    constexpr std::size_t kFew = 65'536;
    const std::size_t batches = run_->batches.steps.size();
    const std::size_t restarts = RestartsOf(*run_);
    const bool same = batches >= judged_batches_ && batches - judged_batches_ <= judged_batches_ / 60;
    if (!once_ && batches > kFew && same && restarts == judged_restarts_) return;
    of_batches_ = FindingsOfBatches(*run_, thresholds_);
    judged_batches_ = batches;
    judged_restarts_ = restarts;
  }

  // The resumes on the axis of a leading series: looked up once a look, and the same object when they are the same.
  const Resumes& ResumesOn(model::Axis axis) {
    Resumes& now = resumes_[axis];
    if (now != nullptr) return now;
    auto found = std::make_shared<const std::vector<std::int64_t>>(ResumesOf(*run_, axis));
    Resumes& last = last_resumes_[axis];
    if (last == nullptr || *last != *found) last = std::move(found);
    return now = last;
  }

  // A companion for a leading series on that axis: itself, a copy whose counts are mapped, or nothing where no map
  // leads.
  MappedSeries OnAxis(const model::Series* series, model::Axis axis) {
    if (series == nullptr) return {};
    if (series->axis == axis) return {series, index_->IdOf(*series)};
    const auto key = std::make_pair(index_->IdOf(*series), axis);
    if (const auto known = mapped_.find(key); known != mapped_.end()) return known->second.View();
    const auto old = old_mapped_.find(key);
    MappedCopy copy =
        MapOnto(run_->axes, *series, axis, key.first, old == old_mapped_.end() ? nullptr : &old->second, same_map_);
    return mapped_.emplace(key, std::move(copy)).first->second.View();
  }

  void JudgeLeads(const catalogue::FindingRow& row, std::vector<model::Finding>& found) {
    std::size_t lead_role = 0;
    for (const model::Series* lead : index_->LeadsOf(row, lead_role)) {
      Watched watched(row.signals.size(), nullptr);
      std::vector<std::uint64_t> ids(row.signals.size(), 0);
      for (std::size_t role = lead_role; role < row.signals.size(); ++role) {
        const auto* series = role == lead_role ? lead : index_->Companion(row.signals[role], lead->labels);
        const MappedSeries on_axis = OnAxis(series, lead->axis);
        watched[role] = on_axis.series;
        ids[role] = on_axis.id;
      }
      Judge(row, watched, std::move(ids), lead_role, found);
    }
  }

  // What the row is asked for where its own signals show nothing.
  void JudgeOthers(const catalogue::FindingRow& row, std::vector<model::Finding>& found) {
    const std::size_t before = found.size();
    for (const std::string_view signal : row.also) {
      if (found.size() != before) break;
      const bool any_loss = signal == catalogue::kOtherLosses;
      for (const model::Series* lead : any_loss ? index_->OtherLosses() : index_->Leads(signal))
        Judge(row, {lead}, {index_->IdOf(*lead)}, 0, found);
      // Parts of a loss are NaN where a batch has nothing for them; it is another matter when they stay so.
      if (any_loss)
        found.erase(std::remove_if(found.begin() + static_cast<std::ptrdiff_t>(before), found.end(), IsPassing),
                    found.end());
    }
  }

  void Judge(const catalogue::FindingRow& row, const Watched& watched, std::vector<std::uint64_t> ids, std::size_t lead,
             std::vector<model::Finding>& found) {
    const Context context = ContextOf(row, *watched[lead]);
    const auto keep = [&](const std::vector<model::Finding>& its) {
      for (const model::Finding& finding : its) {
        if (!ComesTooEarly(context, finding)) found.push_back(finding);
      }
    };
    const Resumes& resumes = ResumesOn(watched[lead]->axis);
    if (once_) return keep(Instance::JudgeOnce(context, watched, lead, resumes));
    Purpose purpose{print_, std::move(ids)};
    // A series that leads in several rows, or in one row beside others and alone, has an instance for each.
    Instance& instance = instances_[{&row, purpose.series[lead], watched.size()}];
    keep(instance.Judge(context, std::move(purpose), watched, lead, resumes, replays_));
  }

  Context ContextOf(const catalogue::FindingRow& row, const model::Series& lead) const {
    Context context;
    context.run = run_;
    context.thresholds = &thresholds_;
    context.row = &row;
    context.primary = &lead;
    context.logging_interval = std::max(1.0, lead.LoggingInterval());
    context.ended = traits_.ended;
    context.reinforcement = traits_.reinforcement;
    context.loss_scaler = traits_.loss_scaler;
    return context;
  }

  using Key = std::tuple<const catalogue::FindingRow*, std::uint64_t, std::size_t>;

  catalogue::Thresholds thresholds_;
  const model::Run* run_ = nullptr;
  bool once_ = false;
  RunTraits traits_;
  std::uint64_t print_ = 0;
  std::map<model::Axis, Resumes> resumes_;       // of this look
  std::map<model::Axis, Resumes> last_resumes_;  // as they were last
  std::unique_ptr<SeriesIndex> index_;
  std::map<std::pair<std::uint64_t, model::Axis>, MappedCopy> mapped_;
  std::map<std::pair<std::uint64_t, model::Axis>, MappedCopy> old_mapped_;  // of the look before
  std::map<Key, Instance> instances_;
  std::vector<model::Finding> of_batches_;
  std::size_t judged_batches_ = 0;
  std::size_t judged_restarts_ = 0;
  model::AxisMap axes_;  // of the look before, and whether it is still the run's
  bool same_map_ = false;
  std::uint64_t replays_ = 0;
};

Engine::Engine(const catalogue::Thresholds& thresholds) : state_(std::make_unique<State>(thresholds)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

std::vector<model::Finding> Engine::Findings(const model::Run& run, bool ended) {
  return state_->Findings(run, ended, false);
}

std::vector<model::Finding> Engine::FindingsAtEnd(const model::Run& run, bool ended) {
  return state_->Findings(run, ended, true);
}

std::uint64_t Engine::replays() const { return state_->replays(); }

std::vector<model::Finding> Detect(const model::Run& run, const catalogue::Thresholds& thresholds, bool ended) {
  return Engine(thresholds).FindingsAtEnd(run, ended);
}

}  // namespace vigil::detect
