// Coverage: which families could be judged with what the run left, taken from the rows: a check could run when the
// signal it judges was logged.
#include <algorithm>
#include <array>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

using model::CoverageState;
using model::Family;

// A phrase without arguments, made on demand: statements own memory, so a constant table cannot hold them.
using Phrase = model::Statement (*)();
template <class T>
model::Statement Say() {
  return T{};
}

model::Statement Enable(std::string_view signal, std::string_view framework) {
  for (const catalogue::EnablerRow& row : catalogue::Enablers()) {
    if (row.metric == signal && (row.framework == "*" || row.framework == framework)) {
      model::Statement setting;
      setting.id = row.phrase;
      return setting;
    }
  }
  return says::EnableMetric{.metric = signal};
}

// How important a metric is, for naming the one to add first.
std::size_t Rank(std::string_view signal) {
  const auto rows = catalogue::Enablers();
  const auto at =
      std::find_if(rows.begin(), rows.end(), [&](const catalogue::EnablerRow& row) { return row.metric == signal; });
  return static_cast<std::size_t>(at - rows.begin());
}

// Metrics whose absence is the rule and no gap: fp16 alone has a loss scale, preference training alone a margin, and a
// reference policy costs memory that few spend.
bool IsOptional(std::string_view signal, const RunView& run) {
  if (signal == "loss_scale") return PrecisionOf(run) != Precision::kFp16;
  if (signal.starts_with("preference_")) return !run.HasMethod("dpo");
  if (signal.starts_with("ebft_")) return !run.HasMethod("ebft");
  // One kind of memory is what a run is judged by, and few loaders time themselves.
  if (signal == "host_memory") return Logged(run, "mem_allocated");
  if (signal == "mem_allocated") return Logged(run, "host_memory");
  constexpr std::array<std::string_view, 8> kRare = {"data_time_s",   "comm_time_s",        "mem_reserved",
                                                     "mfu",           "clip_share",         "sampling_gap",
                                                     "padding_share", "sequence_length_max"};
  return std::find(kRare.begin(), kRare.end(), signal) != kRare.end();
}

// Whether the check of that metric could run: speed is logged in several ways.
bool CanBeJudged(const RunView& run, std::string_view signal) {
  const bool is_speed = signal == "step_time_s";
  return Logged(run, signal) || (is_speed && (Logged(run, "tokens_per_s") || Logged(run, "samples_per_s")));
}

struct Checks {
  std::size_t able = 0;
  std::vector<std::string_view> missing;  // judged metrics that were not logged, each once
};

// By the rows, so that a new detector is covered without a change here. The first metric of a row is what it judges.
Checks CountChecks(const RunView& run, Family family) {
  Checks checks;
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.family != family || row.detector.empty() || row.signals.empty()) continue;
    const std::string_view judged = row.signals.front();
    if (CanBeJudged(run, judged)) {
      ++checks.able;
    } else if (!IsOptional(judged, run) &&
               std::find(checks.missing.begin(), checks.missing.end(), judged) == checks.missing.end()) {
      checks.missing.push_back(judged);
    }
  }
  std::stable_sort(checks.missing.begin(), checks.missing.end(),
                   [](std::string_view a, std::string_view b) { return Rank(a) < Rank(b); });
  return checks;
}

std::vector<std::string> Titles(const std::vector<std::string_view>& signals) {
  std::vector<std::string> titles;
  titles.reserve(signals.size());
  for (const std::string_view id : signals) {
    const catalogue::SignalRow* row = catalogue::FindSignal(id);
    titles.emplace_back(row == nullptr ? id : row->title);
  }
  return titles;
}

model::Coverage Covered(Family family, CoverageState state, model::Statement reason, model::Statement enable = {}) {
  model::Coverage coverage;
  coverage.family = family;
  coverage.state = state;
  coverage.reason = std::move(reason);
  coverage.enable = std::move(enable);
  return coverage;
}

// A run without rewards, pairs or a method that has them is no reinforcement learning.
bool IsMatterForRl(const RunView& run) {
  return IsReinforcement(run) || run.HasMethod("dpo") || Logged(run, "preference_margin");
}

model::Coverage CoverBySignals(const RunView& run, Family family, const Checks& checks) {
  if (checks.able > 0 && checks.missing.empty())
    return Covered(family, CoverageState::kChecked, says::CoverageChecked{.checks = checks.able});
  return Covered(family, checks.able > 0 ? CoverageState::kPartly : CoverageState::kBlind,
                 says::CoverageNotLogged{.metrics = Titles(checks.missing)},
                 checks.missing.empty() ? model::Statement() : Enable(checks.missing.front(), run->framework));
}

struct Elsewhere {
  Family family;
  Phrase what;
  Phrase enable;
};

// Families that error messages speak of too, or alone: what there is to say where no metric was logged.
constexpr std::array kByMessages = {
    Elsewhere{Family::kMemory, Say<says::CoverageWhatMemory>, Say<says::EnableMemory>},
    Elsewhere{Family::kThroughput, Say<says::CoverageWhatThroughput>, Say<says::EnableThroughput>},
    Elsewhere{Family::kHang, Say<says::CoverageWhatHang>, Say<says::EnableHang>},
    Elsewhere{Family::kEval, Say<says::CoverageWhatEval>, Say<says::EnableEval>},
};

// Families beyond those of the table have metrics, or rules of their own below.
model::Coverage CoverByMessages(const RunView& run, Family family) {
  const auto at =
      std::find_if(kByMessages.begin(), kByMessages.end(), [&](const Elsewhere& row) { return row.family == family; });
  if (at == kByMessages.end()) return Covered(family, CoverageState::kBlind, says::CoverageNothing{});
  if (HasLogText(run) && family != Family::kEval && family != Family::kThroughput)
    return Covered(family, CoverageState::kPartly, says::CoverageMessagesOnly{.what = at->what()}, at->enable());
  return Covered(family, CoverageState::kBlind, says::CoverageNothingShows{.what = at->what()}, at->enable());
}

bool HasMessages(Family family) {
  return std::any_of(kByMessages.begin(), kByMessages.end(),
                     [&](const Elsewhere& row) { return row.family == family; });
}

// Rules need settings, and error messages need what the run printed: each covers half.
model::Coverage CoverSetup(const RunView& run) {
  const bool text = HasLogText(run);
  const bool config = !run->facts.empty();
  if (text && config) return Covered(Family::kSetup, CoverageState::kChecked, says::CoverageSetupRead{});
  if (text)
    return Covered(Family::kSetup, CoverageState::kPartly, says::CoverageSetupNoSettings{}, says::EnableSettings{});
  if (config) return Covered(Family::kSetup, CoverageState::kPartly, says::CoverageSetupNoLog{}, says::EnableLog{});
  return Covered(Family::kSetup, CoverageState::kBlind, says::CoverageSetupNothing{}, says::EnableLog{});
}

// Restarts are judged by the loss on both sides, so without one there is nothing to compare.
model::Coverage CoverResume(const RunView& run) {
  const model::Series* loss = run.Find("loss");
  const bool restarted = loss != nullptr && loss->segment_starts.size() > 1;
  const bool resumed = std::any_of(run->events.begin(), run->events.end(), [](const model::Event& event) {
    return event.kind == model::EventKind::kResume && event.at.known() && event.at.value() > 0;
  });
  if (loss == nullptr || loss->empty())
    return Covered(Family::kResume, CoverageState::kBlind, says::CoverageResumeNoLoss{},
                   Enable("loss", run->framework));
  if (restarted || resumed) return Covered(Family::kResume, CoverageState::kChecked, says::CoverageResumeCompared{});
  return Covered(Family::kResume, CoverageState::kPartly, says::CoverageResumeNone{}, says::EnableResume{});
}

// Findings that wait for traces, snapshots, probes or code in the process: their rows say what would open them.
std::vector<std::string> ClosedOf(Family family) {
  std::vector<std::string> ids;
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.family == family && !row.needs.empty()) ids.emplace_back(row.id);
  }
  return ids;
}

// What is only a rule about settings was read from them, and not seen in the run.
bool HasFinding(const std::vector<model::Finding>& findings, Family family) {
  return std::any_of(findings.begin(), findings.end(), [&](const model::Finding& finding) {
    return finding.family == family && !finding.id.starts_with("config/");
  });
}

}  // namespace

std::vector<model::Coverage> Cover(const model::Run& run, const std::vector<model::Finding>& findings) {
  std::vector<model::Coverage> coverage;
  for (int i = 0; i <= static_cast<int>(Family::kSetup); ++i) {
    const auto family = static_cast<Family>(i);
    if (family == Family::kRl && !IsMatterForRl(run)) continue;
    if (family == Family::kSetup) {
      coverage.push_back(CoverSetup(run));
    } else if (family == Family::kResume) {
      coverage.push_back(CoverResume(run));
    } else if (const Checks checks = CountChecks(run, family);
               checks.able > 0 || (!checks.missing.empty() && !HasMessages(family))) {
      coverage.push_back(CoverBySignals(run, family, checks));
    } else {
      coverage.push_back(CoverByMessages(run, family));
    }
  }
  for (model::Coverage& one : coverage) {
    one.closed = ClosedOf(one.family);
    if (one.state == CoverageState::kBlind && HasFinding(findings, one.family)) {
      one.state = CoverageState::kPartly;
      one.reason = says::CoverageFoundOnly{};
    }
  }
  return coverage;
}

}  // namespace vigil::diagnose
