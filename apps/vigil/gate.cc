#include "gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/baseline.h"
#include "diagnose/checklist.h"
#include "exports.h"
#include "model/baseline.h"
#include "pipeline/pipeline.h"

namespace vigil::app {
namespace {

// "loss, lr, grad_norm", for a message.
std::string MetricsOf(const model::Run& run) {
  constexpr std::size_t kMost = 8;
  std::set<std::string> names;
  for (const model::Series& series : run.series) names.insert(series.signal);
  if (names.empty()) return "no metric";
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() > kMost) {
    shown.resize(kMost);
    shown.emplace_back("...");
  }
  return Join(shown, ", ");
}

void ComplainOfNoComparison(const model::RunReport& run, const model::RunReport& reference) {
  Complain(fmt::format(
      "{}: nothing could be compared with {}: the run logs {}; the reference logs {}; metrics with a known direction "
      "(loss, evaluation, reward, accuracy, speed, memory), at positions that both have, can be",
      run.run.name, reference.run.name, MetricsOf(run.run), MetricsOf(reference.run)));
}

}  // namespace

void AddGateOptions(CLI::App& command, Gate& gate) {
  command
      .add_option("--baseline", gate.baseline,
                  "compare with this reference run: a finding for each metric that is worse beyond noise")
      ->type_name("PATH")
      ->check(WhyNoPath);
  command.add_flag(
      "--checklist", gate.checklist,
      "fill in the checklist for unstable trainings: done, not done or not possible, each with the reason");
}

Result<std::optional<model::RunReport>> LoadReference(const Gate& gate, const catalogue::Thresholds& thresholds) {
  if (gate.baseline.empty()) return std::optional<model::RunReport>();
  auto loaded = pipeline::LoadBaseline(gate.baseline, thresholds);
  if (!loaded) return tl::unexpected(loaded.error());
  return std::optional<model::RunReport>(std::move(*loaded));
}

bool PassGate(const Gate& gate, const std::optional<model::RunReport>& reference,
              const catalogue::Thresholds& thresholds, model::Report& report) {
  bool compared = true;
  for (model::RunReport& run : report.runs) {
    if (reference) {
      diagnose::CompareWithBaseline(run, *reference, thresholds);
      if (!run.baseline->IsOfUse()) {
        ComplainOfNoComparison(run, *reference);
        compared = false;
      }
    }
    if (gate.checklist) run.checklist = diagnose::FillChecklist(run);
  }
  return compared;
}

}  // namespace vigil::app
