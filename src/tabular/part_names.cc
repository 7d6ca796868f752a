#include "tabular/part_names.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "catalogue/catalogue.h"

namespace vigil::tabular {
namespace {

bool IsDoubtful(const model::Series& series) {
  const auto meaning = catalogue::Interpret(series.raw);
  return meaning && meaning->weak;
}

void YieldDoubtful(model::Run& part, std::string_view signal) {
  const model::Series* best = nullptr;
  for (const model::Series& series : part.series) {
    if (series.signal != signal || series.empty()) continue;
    if (best == nullptr || (IsDoubtful(*best) && !IsDoubtful(series))) best = &series;
  }
  if (best == nullptr) return;
  const std::string kept = best->raw;
  for (model::Series& series : part.series) {
    if (series.signal == signal && series.raw != kept && IsDoubtful(series)) series.signal = series.raw;
  }
}

// The only series of the signal, by its place in the part.
std::optional<std::size_t> OnlyOne(const model::Run& part, std::string_view signal) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < part.series.size(); ++i) {
    if (part.series[i].signal != signal || part.series[i].empty()) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

bool AreAtSamePlaces(const model::Series& a, const model::Series& b) {
  if (a.axis != b.axis || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.steps[i] != b.steps[i]) return false;
  }
  return true;
}

// The series of the signal that was logged with `beside`, or else the first one.
std::optional<std::size_t> FindBeside(const model::Run& part, std::string_view signal, const model::Series& beside) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < part.series.size(); ++i) {
    if (part.series[i].signal != signal || part.series[i].empty()) continue;
    if (AreAtSamePlaces(part.series[i], beside)) return i;
    if (!first) first = i;
  }
  return first;
}

// "loss 0.5 acc 0.8 val_loss 0.6": between the two losses it stands with the training's, unless that one is named by
// its data and the accuracy is not, as in "train/loss, metrics/accuracy, val/loss".
bool MayBeTrainings(const model::Run& part, std::size_t accuracy, std::size_t loss, std::size_t eval_loss) {
  if (catalogue::TakeApart(part.series[accuracy].raw).is_train) return true;
  if (accuracy < loss || accuracy > eval_loss) return false;
  return !catalogue::TakeApart(part.series[loss].raw).is_train;
}

void NameEvaluationAccuracy(model::Run& part) {
  const auto accuracy = OnlyOne(part, "accuracy");
  if (!accuracy || part.Find("eval_accuracy") != nullptr) return;
  const auto eval_loss = FindBeside(part, "eval_loss", part.series[*accuracy]);
  const auto loss = FindBeside(part, "loss", part.series[*accuracy]);
  if (!eval_loss || !loss) return;
  if (!AreAtSamePlaces(part.series[*accuracy], part.series[*eval_loss])) return;
  if (!MayBeTrainings(part, *accuracy, *loss, *eval_loss)) part.series[*accuracy].signal = "eval_accuracy";
}

// "time/batch" of a clock that counts batches: whole numbers that rise with the steps are no times of a step.
bool CountsSteps(const model::Series& series) {
  constexpr std::size_t kFewest = 3;
  if (series.axis != model::Axis::kStep || series.size() < kFewest) return false;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double value = series.values[i];
    if (value != std::floor(value) || (i > 0 && value < series.values[i - 1])) return false;
  }
  const auto steps = static_cast<double>(series.steps.back() - series.steps.front());
  return series.values.back() - series.values.front() >= steps / 2;
}

void UnnameCounts(model::Run& part) {
  for (model::Series& series : part.series) {
    if (series.signal != "step_time_s" || !CountsSteps(series)) continue;
    series.signal = series.raw;
    series.unit.clear();
  }
}

}  // namespace

void SettleNames(model::Run& part) {
  UnnameCounts(part);
  YieldDoubtful(part, "loss");
  YieldDoubtful(part, "eval_loss");
  NameEvaluationAccuracy(part);
}

}  // namespace vigil::tabular
