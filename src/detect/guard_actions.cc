#include <fmt/format.h>

#include <array>
#include <optional>

#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

struct Kind {
  std::string_view name;  // of the recorded event
  std::string_view sign;  // by which a log's line is told
  std::string_view one;
  std::string_view several;
};

constexpr std::array<Kind, 4> kKinds = {{{"guard/skip", "; left out", "1 step left out", "steps left out"},
                                         {"guard/rollback", "; back to step", "set back once", "times set back"},
                                         {"guard/stop", "; stopped", "stopped the run", "times stopped"},
                                         {"guard/observe", "; observed", "1 bad step observed", "bad steps observed"}}};

// The kind of decision that an event tells of: kKinds.size() when it tells of none.
std::size_t KindOf(const model::Event& event) {
  const bool logged = event.kind == model::EventKind::kSignature && event.name == "log/guard";
  std::size_t kind = 0;
  while (kind < kKinds.size()) {
    const bool named = event.name == kKinds[kind].name;
    if (named || (logged && event.text.find(kKinds[kind].sign) != std::string::npos)) break;
    ++kind;
  }
  return kind;
}

// A line of a log says itself which step it is about; it stands before the line of that step.
std::int64_t StepOf(const model::Event& event) {
  constexpr std::string_view kLead = "step ";
  const std::size_t at = event.text.find(kLead);
  if (at == std::string::npos) return event.step;
  std::size_t used = 0;
  const auto step = ParseNumberPrefix(std::string_view(event.text).substr(at + kLead.size()), used);
  return step ? static_cast<std::int64_t>(*step) : event.step;
}

}  // namespace

std::vector<model::Finding> FindingsOfGuard(const model::Run& run, const catalogue::Settings& settings) {
  constexpr std::string_view kId = "guard/acted";
  constexpr std::size_t kMostShown = 5;
  if (!settings.Enabled(kId)) return {};
  model::Finding finding = MakeFinding(model::kNoStep, model::kNoStep, "");
  std::array<std::size_t, kKinds.size()> counts = {};
  std::optional<std::uint32_t> source;  // a journal and a log of one run tell the same: those of one count
  for (const model::Event& event : run.events) {
    const std::size_t kind = KindOf(event);
    if (kind == kKinds.size()) continue;
    if (!source) source = event.place.source;
    if (event.place.source != *source) continue;
    ++counts[kind];
    const std::int64_t step = StepOf(event);
    if (finding.first_step == model::kNoStep) finding.first_step = step;
    finding.last_step = std::max(finding.last_step, step);
    if (finding.evidence.size() < kMostShown) {
      AddEvidence(finding, event.text, step, model::kNoValue, event.place.line);
      if (event.place.source < run.sources.size()) finding.evidence.back().path = run.sources[event.place.source].path;
    }
  }
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (counts[i] == 1) words.emplace_back(kKinds[i].one);
    if (counts[i] > 1) words.push_back(fmt::format("{} {}", counts[i], kKinds[i].several));
    AddMeasure(finding, std::string(kKinds[i].name.substr(6)), static_cast<double>(counts[i]));
  }
  if (words.empty()) return {};
  finding.message = "the guard acted: " + Join(words, ", ");
  if (!finding.evidence.empty()) finding.message += fmt::format(" ({})", finding.evidence.front().text);
  const catalogue::FindingRow* row = catalogue::FindFinding(kId);
  finding.id = std::string(kId);
  finding.family = row->family;
  finding.severity = settings.SeverityOf(kId, row->severity);
  constexpr std::size_t kStops = 2;
  if (counts[kStops] > 0) finding.severity = std::max(finding.severity, model::Severity::kError);
  return {finding};
}

}  // namespace vigil::detect
