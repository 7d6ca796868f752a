// What the guard of the training did, from the events of its journal or of the lines that it printed.
#include <array>
#include <span>

#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

struct Kind {
  std::string_view name;  // of the recorded event, or the decision that a line of a log says
  model::Statement (*says)(std::size_t count);
};

model::Statement SaysSkipped(std::size_t count) { return says::GuardSkipped{.steps = count}; }
model::Statement SaysRolledBack(std::size_t count) {
  if (count == 1) return says::GuardRolledBackOnce{};
  return says::GuardRolledBack{.times = count};
}
model::Statement SaysStopped(std::size_t count) {
  if (count == 1) return says::GuardStoppedOnce{};
  return says::GuardStopped{.times = count};
}
model::Statement SaysObserved(std::size_t count) { return says::GuardObserved{.steps = count}; }

constexpr std::array<Kind, 4> kKinds = {{{model::kGuardSkipped, SaysSkipped},
                                         {model::kGuardRolledBack, SaysRolledBack},
                                         {model::kGuardStopped, SaysStopped},
                                         {model::kGuardObserved, SaysObserved}}};
using Counts = std::array<std::size_t, kKinds.size()>;

// The kind of decision that an event records: kKinds.size() when it records none.
std::size_t KindOf(const model::Event& event) {
  std::size_t kind = 0;
  while (kind < kKinds.size() && event.name != kKinds[kind].name && event.decision != kKinds[kind].name) ++kind;
  return kind;
}

// "1 step left out, set back once (step 5: the loss is nan; left out)".
model::Statement Says(const Counts& counts, const model::Quote& why) {
  std::array<model::Statement, kKinds.size()> parts;
  std::size_t used = 0;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (counts[i] == 0) continue;
    const model::Statement part = kKinds[i].says(counts[i]);
    parts[used] = used == 0 ? part : model::Statement(says::ListNext{.item = part});
    ++used;
  }
  return says::GuardActedDid{.first = parts[0], .second = parts[1], .third = parts[2], .fourth = parts[3], .why = why};
}

// The decisions of one source: a journal and a log of one run hold the same ones.
struct Decisions {
  Counts counts = {};
  std::vector<const model::Event*> events;
};

Decisions DecisionsOf(const model::Run& run) {
  Decisions decisions;
  for (const model::Event& event : run.events) {
    const std::size_t kind = KindOf(event);
    if (kind == kKinds.size()) continue;
    if (!decisions.events.empty() && event.place.source != decisions.events.front()->place.source) continue;
    ++decisions.counts[kind];
    decisions.events.push_back(&event);
  }
  return decisions;
}

model::PositionRange SpanOf(const std::vector<const model::Event*>& events) {
  model::PositionRange span{events.front()->at, events.front()->at};
  for (const model::Event* event : events) {
    const model::Position at = event->at;
    if (!span.first.known()) span = {at, at};
    if (std::is_gt(CompareOnAxis(at, span.last))) span.last = at;
  }
  return span;
}

}  // namespace

std::vector<model::Finding> FindingsOfGuard(const model::Run& run, const catalogue::Thresholds& thresholds) {
  constexpr std::string_view kId = "guard/acted";
  constexpr std::size_t kMostShown = 5;
  constexpr std::size_t kStops = 2;
  if (!thresholds.Enabled(kId)) return {};
  const Decisions decisions = DecisionsOf(run);
  if (decisions.events.empty()) return {};
  model::Finding finding = FindingOfRow(kId, thresholds, SpanOf(decisions.events),
                                        Says(decisions.counts, model::QuoteOf(run, *decisions.events.front())));
  for (const model::Event* event : std::span(decisions.events).first(std::min(kMostShown, decisions.events.size()))) {
    const model::Quote quote = model::QuoteOf(run, *event);
    AddEvidenceAt(finding, says::QuotedText{.text = quote}, event->at, model::kNoValue);
    finding.evidence.back().path = quote.path;
    finding.evidence.back().line = quote.line;
  }
  constexpr std::size_t kFolder = std::string_view("guard/").size();
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    AddMeasure(finding, std::string(kKinds[i].name.substr(kFolder)), static_cast<double>(decisions.counts[i]));
  if (decisions.counts[kStops] > 0) finding.severity = std::max(finding.severity, model::Severity::kError);
  return {finding};
}

}  // namespace vigil::detect
