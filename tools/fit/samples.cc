#include "fit/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

// A gym makes every fault about as often; people do not. Each class weighs as much as it is usual, within a factor of
// kFarthest, so that a few runs of a rare one do not count for hundreds.
void Rebalance(std::vector<Sample>& samples, const std::vector<std::string>& classes) {
  constexpr double kFarthest = 6;
  std::vector<double> weights(classes.size() + 1, 0);
  double faulty = 0;
  for (const Sample& sample : samples) {
    weights[sample.target] += sample.weight;
    faulty += sample.target == 0 ? 0 : sample.weight;
  }
  double usual = 0;
  for (const std::string& name : classes) usual += FrequencyOf(name);
  for (Sample& sample : samples) {
    if (sample.target == 0) continue;
    const double wanted = faulty * FrequencyOf(classes[sample.target - 1]) / usual;
    sample.weight *= std::clamp(wanted / weights[sample.target], 1 / kFarthest, kFarthest);
  }
}

// Whether a detector found what the fault is known to show.
bool WasSeen(const scale::Label& label, const std::vector<model::Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](const model::Finding& finding) {
    return finding.severity >= model::Severity::kWarning &&
           std::find(label.findings.begin(), label.findings.end(), finding.id) != label.findings.end();
  });
}

}  // namespace

namespace {

bool IsKeptByEpoch(std::string_view signal) {
  return signal == "loss" || signal == "eval_loss" || signal == "accuracy" || signal == "eval_accuracy" ||
         signal == "reward";
}

// The means of as many parts of equal length, each at its last step.
model::Series ByEpoch(const model::Series& series, std::size_t epochs) {
  if (series.size() <= epochs + epochs / 2) return series;
  model::Series means;
  means.TakeHeaderOf(series);
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    const std::size_t first = epoch * series.size() / epochs;
    const std::size_t end = (epoch + 1) * series.size() / epochs;
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += series.values[i];
    means.Append(series.steps[end - 1], sum / static_cast<double>(end - first));
  }
  return means;
}

void ReduceToEpochs(model::Run& run) {
  constexpr std::size_t kEpochs = 8;
  std::erase_if(run.series, [](const model::Series& series) { return !IsKeptByEpoch(series.signal); });
  for (model::Series& series : run.series) series = ByEpoch(series, kEpochs);
}

void KeepBeginning(model::Run& run) {
  for (model::Series& series : run.series) series.Truncate((series.size() + 2) / 3);
}

}  // namespace

model::Run SeenAs(const model::Run& run, View view) {
  model::Run seen = run;
  if (view == View::kAll) return seen;
  if (view == View::kBeginning) {
    KeepBeginning(seen);
    return seen;
  }
  seen.facts.clear();
  if (view == View::kEpochs) {
    ReduceToEpochs(seen);
    return seen;
  }
  if (view == View::kNoSettings) return seen;
  std::erase_if(seen.series, [](const model::Series& series) { return !IsKept(series.signal); });
  return seen;
}

Example ExampleOf(const model::Run& run, const std::vector<model::Finding>& findings) {
  const diagnose::Features features = diagnose::FeaturesOf(run, findings, FittedCauses());
  Example example;
  example.columns.assign(features.columns.begin(), features.columns.end());
  std::sort(example.columns.begin(), example.columns.end());
  example.columns.erase(std::unique(example.columns.begin(), example.columns.end()), example.columns.end());
  for (const double offset : features.offsets) example.offsets.push_back(static_cast<float>(offset));
  return example;
}

std::vector<std::string> WithoutSettings(const std::vector<std::string>& causes) {
  constexpr std::array<std::string_view, 4> kSettings = {"optimizer-settings", "clip-too-low", "batch-too-large",
                                                         "low-precision"};
  std::vector<std::string> left;
  for (const std::string& cause : causes) {
    if (std::find(kSettings.begin(), kSettings.end(), cause) == kSettings.end()) left.push_back(cause);
  }
  return left;
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

// A value that is not finite out of nothing is predicted by a bad sample and by a layer alike: what a gym makes of one
// more often than of the other must not decide between them.
bool IsFitted(std::string_view cause) {
  if (cause == "layer-numerics") return false;
  const catalogue::CauseRow* row = catalogue::FindCause(cause);
  return row != nullptr && (row->family == model::Family::kLoss || row->family == model::Family::kRl);
}

double FrequencyOf(std::string_view cause) {
  struct Usual {
    std::string_view cause;
    double frequency;
  };
  constexpr std::array kUsual = {
      Usual{"lr-too-high", 14},
      Usual{"overfitting", 8},
      Usual{"bad-sample", 8},
      Usual{"lr-too-low", 7},
      Usual{"wrong-targets", 8},
      Usual{"frozen-params", 7},
      Usual{"reward-broken", 6},
      Usual{"mode-collapse", 5},
      Usual{"label-masking", 5},
      Usual{"no-clipping", 5},
      Usual{"fp16-overflow", 5},
      Usual{"bad-schedule", 4},
      Usual{"no-warmup", 4},
      Usual{"weight-decay-too-high", 4},
      Usual{"leakage", 4},
      Usual{"bad-init", 4},
      Usual{"gradients-not-zeroed", 4},
      Usual{"objective-mismatch", 4},
      Usual{"dead-units", 4},
      Usual{"max-length-too-short", 4},
      Usual{"reward-hacking", 4},
      Usual{"vanishing-through-depth", 3},
      Usual{"lr-zero", 3},
      Usual{"task-too-hard", 3},
      Usual{"data-not-shuffled", 3},
      Usual{"unnormalised-inputs", 3},
  };
  const auto at = std::find_if(kUsual.begin(), kUsual.end(), [&](const Usual& usual) { return usual.cause == cause; });
  return at == kUsual.end() ? 2 : at->frequency;
}

std::vector<std::string> FittedCauses() {
  std::vector<std::string> causes;
  for (const catalogue::CauseRow& row : catalogue::Causes()) {
    if (IsFitted(row.id)) causes.emplace_back(row.id);
  }
  return causes;
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
  const std::vector<std::string> all = FittedCauses();
  std::vector<std::size_t> places;  // of the classes among all causes
  places.reserve(classes.size());
  for (const std::string& name : classes)
    places.push_back(static_cast<std::size_t>(std::find(all.begin(), all.end(), name) - all.begin()));
  std::vector<Sample> samples;
  for (const Example& example : examples) {
    if (!take[example.run]) continue;
    if (example.causes.empty()) continue;
    Sample sample;
    sample.columns = example.columns;
    sample.weight = example.weight;
    for (const std::size_t place : places) sample.offsets.push_back(example.offsets[place]);
    // What this view does not show cannot be learned from it.
    const auto known = [&](const std::string& cause) {
      const auto place = std::find(classes.begin(), classes.end(), cause);
      return place != classes.end() && sample.offsets[static_cast<std::size_t>(place - classes.begin())] >
                                           static_cast<float>(diagnose::kNotShown);
    };
    const auto cause = std::find_if(example.causes.begin(), example.causes.end(), known);
    if (cause == example.causes.end()) continue;
    const auto at = std::find(classes.begin(), classes.end(), *cause);
    sample.target = static_cast<std::uint32_t>(at - classes.begin()) + 1;
    for (const std::string& other : example.causes) {
      const auto place = std::find(classes.begin(), classes.end(), other);
      if (place != classes.end() && place != at && known(other))
        sample.accepted.push_back(static_cast<std::uint32_t>(place - classes.begin()) + 1);
    }
    samples.push_back(std::move(sample));
  }
  Rebalance(samples, classes);
  return samples;
}

std::vector<Sample> TroubleSamplesOf(const std::vector<Example>& examples, const std::vector<bool>& take) {
  const auto behind_measures = static_cast<std::uint32_t>(diagnose::FeatureSpace::Get().OfEvidence(0, false));
  std::vector<Sample> samples;
  for (const Example& example : examples) {
    if (!take[example.run]) continue;
    Sample sample;
    sample.columns = example.columns;
    sample.target = example.causes.empty() ? 0 : 1;
    sample.weight = example.weight;
    // A run that no detector found anything in is judged by its measures alone: they have to know what a finding
    // would have said.
    const auto end = std::lower_bound(sample.columns.begin(), sample.columns.end(), behind_measures);
    if (end != sample.columns.end()) {
      sample.weight /= 2;
      Sample& measured = samples.emplace_back(sample);
      measured.columns.resize(static_cast<std::size_t>(end - sample.columns.begin()));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

// Two digits are more than the data know; what rounds to nothing is nothing.
diagnose::FittedModel ModelOf(const Solution& causes, const std::vector<std::string>& classes,
                              const Solution& trouble) {
  const auto rounded = [](float weight) { return std::round(100.0 * static_cast<double>(weight)) / 100; };
  diagnose::FittedModel model;
  model.causes = classes;
  for (const float prior : causes.priors) model.priors.push_back(rounded(prior));
  for (const float weight : causes.weights) model.weights.push_back(rounded(weight));
  model.trouble_prior = rounded(trouble.priors.front());
  for (const float weight : trouble.weights) model.trouble.push_back(rounded(weight));
  return model;
}

namespace {

std::string WriteRow(std::string_view id, double prior, const std::function<double(std::size_t column)>& weight_of) {
  const diagnose::FeatureSpace& space = diagnose::FeatureSpace::Get();
  std::string text = fmt::format("\n[[fitted]]\nid = \"{}\"\nprior = {}\n[fitted.weights]\n", id, prior);
  for (std::size_t column = 0; column < space.columns();) {
    const std::string_view name = space.NameOf(column);
    const std::size_t count = space.Find(name).count;
    std::vector<std::string> weights;
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = weight_of(column + i);
      any = any || weight != 0;
      weights.push_back(fmt::format("{}", weight == 0 ? 0.0 : weight));
    }
    if (any) text += fmt::format("\"{}\" = [{}]\n", name, Join(weights, ", "));
    column += count;
  }
  return text;
}

}  // namespace

std::string WriteWeights(const diagnose::FittedModel& model, const std::string& origin) {
  std::string text = origin;
  text +=
      WriteRow(catalogue::kAnyCause, model.trouble_prior, [&](std::size_t column) { return model.trouble[column]; });
  for (std::size_t cause = 0; cause < model.causes.size(); ++cause)
    text += WriteRow(model.causes[cause], model.priors[cause],
                     [&](std::size_t column) { return model.Weight(column, cause); });
  return text;
}

}  // namespace vigil::fit
