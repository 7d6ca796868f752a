// Items of the checklist that what a run logged, and what was found in it, answer.
#include <algorithm>
#include <array>

#include "catalogue/says.h"
#include "diagnose/checklist_answer.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"

namespace vigil::diagnose {
namespace {

using model::RunReport;
using model::Series;

// The first of these metrics that the run logged, null when it logged none.
const Series* FirstLogged(const model::Run& run, std::initializer_list<std::string_view> signals) {
  for (const std::string_view signal : signals) {
    const Series* series = run.Find(signal);
    if (series != nullptr && !series->empty()) return series;
  }
  return nullptr;
}

double PointsOf(const Series& series) { return static_cast<double>(series.size()); }

std::vector<std::string> IdsOf(const RunReport& report, std::initializer_list<std::string_view> prefixes) {
  std::vector<std::string> ids;
  for (const model::Finding& finding : report.findings) {
    const bool wanted = finding.severity > model::Severity::kInfo &&
                        std::any_of(prefixes.begin(), prefixes.end(),
                                    [&](std::string_view prefix) { return finding.id.starts_with(prefix); });
    if (wanted && std::find(ids.begin(), ids.end(), finding.id) == ids.end()) ids.push_back(finding.id);
  }
  return ids;
}

// ---- data

CheckAnswer Batches(const RunReport& report) {
  std::vector<std::string> ids = IdsOf(report, {"data/"});
  if (ids.empty()) return NotPossible(says::ChecklistBatchesNotPossible{});
  return NotDone(says::ChecklistBatchesNotDone{.findings = std::move(ids)});
}

std::string AsHex(std::uint64_t hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(hash >> static_cast<unsigned>(shift)) & 0xfU];
  return text;
}

// Where the worst incident begins; unknown when it has no place.
model::Position FirstBad(const RunReport& report) {
  if (!report.diagnoses.empty() && report.diagnoses.front().first.known()) return report.diagnoses.front().first;
  for (const model::Finding& finding : report.findings) {
    if (finding.severity > model::Severity::kInfo && finding.first.known()) return finding.first;
  }
  return {};
}

CheckAnswer BadBatch(const RunReport& report) {
  const bool bad = std::any_of(report.findings.begin(), report.findings.end(), [](const model::Finding& finding) {
    return finding.severity > model::Severity::kInfo && !finding.id.starts_with("config/");
  });
  if (!bad) return NotPossible(says::ChecklistBadBatchNothingBad{});
  const model::Position first = report.run.axes.To(model::Axis::kStep, FirstBad(report));
  if (!first.known()) return NotPossible(says::ChecklistBadBatchNoPlace{});
  const model::BatchFingerprints& batches = report.run.batches;
  for (std::size_t i = 0; i < batches.steps.size(); ++i) {
    if (batches.steps[i].value == first.value())
      return Done(says::ChecklistBadBatchDone{.at = first, .hash = AsHex(batches.hashes[i])});
  }
  return NotDone(says::ChecklistBadBatchNotDone{.at = first});
}

// ---- measure

CheckAnswer GradientNorm(const RunReport& report) {
  const Series* series = FirstLogged(report.run, {"grad_norm"});
  if (series == nullptr) return NotDone(says::ChecklistGradientNormNotDone{});
  return Done(says::ChecklistGradientNormDone{.points = PointsOf(*series), .metric = series->raw});
}

CheckAnswer LayerStatistics(const RunReport& report) {
  std::size_t count = 0;
  const Series* first = nullptr;
  for (const Series& series : report.run.series) {
    if (series.empty() || model::FindLabel(series.labels, "layer").empty()) continue;
    if (first == nullptr) first = &series;
    ++count;
  }
  if (first == nullptr) return NotDone(says::ChecklistLayerStatisticsNotDone{});
  return Done(says::ChecklistLayerStatisticsDone{.series = static_cast<double>(count), .metric = first->raw});
}

CheckAnswer RateLogged(const RunReport& report) {
  const Series* series = FirstLogged(report.run, {"lr"});
  if (series == nullptr) return NotDone(says::ChecklistRateLoggedNotDone{});
  return Done(says::ChecklistRateLoggedDone{.points = PointsOf(*series), .metric = series->raw});
}

CheckAnswer Memory(const RunReport& report) {
  const Series* series = FirstLogged(report.run, {"mem_allocated", "mem_reserved", "host_memory"});
  if (series == nullptr) return NotDone(says::ChecklistMemoryNotDone{});
  return Done(says::ChecklistMemoryDone{.points = PointsOf(*series), .metric = series->raw});
}

CheckAnswer Messages(const RunReport& report) {
  return HasLogText(report.run) ? Done(says::ChecklistMessagesDone{}) : NotDone(says::ChecklistMessagesNotDone{});
}

CheckAnswer Evaluation(const RunReport& report) {
  const Series* series =
      FirstLogged(report.run, {"eval_loss", "eval_accuracy", "eval_perplexity", "eval_bits", "eval_reward_of"});
  if (series == nullptr) return NotDone(says::ChecklistEvaluationNotDone{});
  return Done(says::ChecklistEvaluationDone{.points = PointsOf(*series), .metric = series->raw});
}

// ---- what takes another training, or the model itself

CheckAnswer SmallExperiment(const RunReport&) { return NotPossible(says::ChecklistSmallExperimentNotPossible{}); }
CheckAnswer FirstOperation(const RunReport&) { return NotPossible(says::ChecklistFirstOperationNotPossible{}); }
CheckAnswer MinimalReproduction(const RunReport&) {
  return NotPossible(says::ChecklistMinimalReproductionNotPossible{});
}

// ---- several processes

CheckAnswer RanksAgree(const RunReport& report) {
  const model::Run& run = report.run;
  if (run.ranks <= 1) return NotPossible(says::ChecklistRanksAgreeNotPossible{});
  std::vector<std::string> ids;
  for (const model::Finding& finding : report.findings) {
    if (finding.severity > model::Severity::kInfo && !finding.ranks.empty()) ids.push_back(finding.id);
  }
  if (!ids.empty()) return NotDone(says::ChecklistRanksAgreeStandsOut{.findings = std::move(ids)});
  for (const std::string_view signal : {"loss", "grad_norm", "step_time_s"}) {
    const auto apart = std::count_if(run.series.begin(), run.series.end(), [&](const Series& series) {
      return series.signal == signal && !series.empty() && !model::FindLabel(series.labels, "rank").empty();
    });
    if (apart > 1)
      return Done(says::ChecklistRanksAgreeDone{.metric = std::string(signal), .ranks = static_cast<double>(apart)});
  }
  return NotDone(says::ChecklistRanksAgreeNotDone{.ranks = static_cast<double>(run.ranks)});
}

// ---- what to keep

// Folders of the trainers that keep the state of the optimizer in a file of its own, which was looked for.
bool IsOfTrainer(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return path.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with("checkpoint-");
}

CheckAnswer WholeCheckpoint(const RunReport& report) {
  const auto& checkpoints = report.run.checkpoints;
  if (checkpoints.empty()) return NotPossible(says::ChecklistCheckpointNotPossible{});
  const auto find_whole = [&](bool of_trainer) {
    return std::find_if(checkpoints.rbegin(), checkpoints.rend(), [&](const model::CheckpointFiles& files) {
      return files.missing.empty() && (!of_trainer || IsOfTrainer(files.path));
    });
  };
  if (const auto whole = find_whole(true); whole != checkpoints.rend())
    return Done(says::ChecklistCheckpointDone{.checkpoint = whole->path});
  if (const auto other = find_whole(false); other != checkpoints.rend())
    return NotPossible(says::ChecklistCheckpointContentUnknown{.checkpoint = other->path});
  const model::CheckpointFiles& last = checkpoints.back();
  return NotDone(says::ChecklistCheckpointNotDone{.checkpoint = last.path, .missing = last.missing});
}

constexpr std::array kChecks = {
    NamedCheck{"Batches", Batches},
    NamedCheck{"BadBatch", BadBatch},
    NamedCheck{"GradientNorm", GradientNorm},
    NamedCheck{"LayerStatistics", LayerStatistics},
    NamedCheck{"RateLogged", RateLogged},
    NamedCheck{"Memory", Memory},
    NamedCheck{"Messages", Messages},
    NamedCheck{"Evaluation", Evaluation},
    NamedCheck{"SmallExperiment", SmallExperiment},
    NamedCheck{"FirstOperation", FirstOperation},
    NamedCheck{"RanksAgree", RanksAgree},
    NamedCheck{"WholeCheckpoint", WholeCheckpoint},
    NamedCheck{"MinimalReproduction", MinimalReproduction},
};

}  // namespace

std::span<const NamedCheck> ChecksOfRecords() { return kChecks; }

}  // namespace vigil::diagnose
