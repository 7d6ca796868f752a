#include "fit/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "diagnose/diagnose.h"
#include "scale/score.h"

namespace vigil::fit {
namespace {

bool IsKept(std::string_view signal) {
  return signal == "loss" || signal == "eval_loss" || signal == "lr" || signal == "epoch";
}

bool StopsTheRun(const scale::Label& label) { return label.fault.starts_with("crash"); }

// Faults of time and memory leave learning alone.
bool LeavesLearningAlone(const scale::Label& label) {
  return label.fault == "slow-down" || label.fault == "data-stall" || label.fault == "memory-leak" ||
         label.fault == "graph-retained" || label.fault == "step-outliers";
}

// Whether a detector found what the fault is known to show.
bool WasSeen(const scale::Label& label, const std::vector<model::Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](const model::Finding& finding) {
    return finding.severity >= model::Severity::kWarning &&
           std::find(label.findings.begin(), label.findings.end(), finding.id) != label.findings.end();
  });
}

}  // namespace

model::Run SeenAs(const model::Run& run, View view) {
  model::Run seen = run;
  if (view == View::kAll) return seen;
  seen.facts.clear();
  if (view == View::kNoSettings) return seen;
  std::erase_if(seen.series, [](const model::Series& series) { return !IsKept(series.signal); });
  return seen;
}

std::vector<std::uint32_t> ColumnsOf(const model::Run& run, const std::vector<model::Finding>& findings) {
  std::vector<std::uint32_t> columns;
  for (const std::size_t column : diagnose::FeaturesOf(run, findings))
    columns.push_back(static_cast<std::uint32_t>(column));
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

Truth TruthOf(const scale::Record& record, const std::vector<model::Finding>& findings) {
  const scale::Label& label = record.label;
  if (StopsTheRun(label)) return std::nullopt;
  if (LeavesLearningAlone(label)) return std::vector<std::string>();
  const bool seen = WasSeen(label, findings);
  switch (label.kind) {
    case scale::Class::kHealthy:
      return std::vector<std::string>();
    case scale::Class::kHarmless:
      return seen ? label.causes : std::vector<std::string>();
    case scale::Class::kWeak:
      return seen ? Truth(label.causes) : std::nullopt;
    case scale::Class::kFatal:
      if (!seen && label.is_seen_in_known && label.seen_in.empty()) return std::nullopt;
      return label.causes;
    default:
      return std::nullopt;
  }
}

bool IsFitted(std::string_view cause) {
  const catalogue::CauseRow* row = catalogue::FindCause(cause);
  return row != nullptr && (row->family == model::Family::kLoss || row->family == model::Family::kRl);
}

std::vector<std::string> ClassesOf(const std::vector<Example>& examples, int fewest) {
  std::map<std::string, int> counts;
  for (const Example& example : examples) {
    const auto first = std::find_if(example.causes.begin(), example.causes.end(), IsFitted);
    if (first != example.causes.end()) ++counts[*first];
  }
  std::vector<std::string> classes;
  for (const auto& [cause, count] : counts) {
    if (count >= fewest) classes.push_back(cause);
  }
  return classes;
}

std::vector<Sample> SamplesOf(const std::vector<Example>& examples, const std::vector<std::string>& classes,
                              const std::vector<bool>& take) {
  std::vector<Sample> samples;
  for (const Example& example : examples) {
    if (!take[example.run]) continue;
    Sample sample{example.columns, 0, example.weight};
    if (!example.causes.empty()) {
      const auto known = [&](const std::string& cause) {
        return std::find(classes.begin(), classes.end(), cause) != classes.end();
      };
      const auto cause = std::find_if(example.causes.begin(), example.causes.end(), known);
      if (cause == example.causes.end()) continue;
      const auto at = std::find(classes.begin(), classes.end(), *cause);
      sample.target = static_cast<std::uint32_t>(at - classes.begin()) + 1;
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

// Two digits are more than the data know; what rounds to nothing is nothing.
diagnose::FittedModel ModelOf(const Solution& solution, const std::vector<std::string>& classes) {
  const auto rounded = [](float weight) { return std::round(100.0 * static_cast<double>(weight)) / 100; };
  diagnose::FittedModel model;
  model.causes = classes;
  for (const float prior : solution.priors) model.priors.push_back(rounded(prior));
  for (const float weight : solution.weights) model.weights.push_back(rounded(weight));
  return model;
}

std::string WriteWeights(const diagnose::FittedModel& model, const std::string& origin) {
  std::string text = origin;
  const diagnose::FeatureSpace& space = diagnose::FeatureSpace::Get();
  for (std::size_t cause = 0; cause < model.causes.size(); ++cause) {
    text += fmt::format("\n[[fitted]]\nid = \"{}\"\nprior = {}\n[fitted.weights]\n", model.causes[cause],
                        model.priors[cause]);
    for (std::size_t column = 0; column < space.columns();) {
      const std::string_view name = space.NameOf(column);
      const std::size_t count = space.Find(name).count;
      std::vector<std::string> weights;
      bool any = false;
      for (std::size_t i = 0; i < count; ++i) {
        const double weight = model.Weight(column + i, cause);
        any = any || weight != 0;
        weights.push_back(fmt::format("{}", weight == 0 ? 0.0 : weight));
      }
      if (any) text += fmt::format("\"{}\" = [{}]\n", name, Join(weights, ", "));
      column += count;
    }
  }
  return text;
}

}  // namespace vigil::fit
