#include "identify/naming.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"

namespace vigil::identify {
namespace {

// Learning rates above it were never seen; "eta 35" is a time to go.
constexpr double kLargestRate = 10;
constexpr double kLargestShare = 1.5;

// A million points say no more about a name than some hundred of them.
constexpr std::size_t kMostLookedAt = 4096;

std::span<const double> Beginning(const model::Series& series) {
  return {series.values.begin(), std::min(series.size(), kMostLookedAt)};
}

// The signal that a weak name would mean; empty for every other name.
std::string_view WeakSignalOf(const model::Series& series) {
  const auto meaning = catalogue::Interpret(series.raw);
  return meaning && meaning->weak ? meaning->signal : std::string_view();
}

bool IsRate(std::span<const double> values) {
  const bool is_positive = std::any_of(values.begin(), values.end(), [](double v) { return v > 0; });
  return is_positive &&
         std::all_of(values.begin(), values.end(), [](double v) { return !(v < 0) && !(v > kLargestRate); });
}

// Counts of errors are whole; so are six digits of a large loss.
bool IsMeasured(std::span<const double> values) {
  constexpr double kNoCount = 1e5;
  return std::any_of(values.begin(), values.end(),
                     [](double v) { return v != std::floor(v) || std::isnan(v) || std::abs(v) >= kNoCount; });
}

// Time since the start only rises; the time of a step goes up and down.
bool IsOfSteps(std::span<const double> values) {
  std::size_t falls = 0;
  for (std::size_t i = 1; i < values.size(); ++i) falls += values[i] < values[i - 1] ? 1 : 0;
  return falls * 8 >= values.size();
}

// A count of what was loaded, or a time since the start. A wait is the same for long, and then another.
bool AddsUp(std::span<const double> values) {
  std::size_t rises = 0;
  for (std::size_t i = 1; i < values.size(); ++i) rises += values[i] > values[i - 1] ? 1 : 0;
  return rises * 8 >= values.size() * 7;
}

bool GoesAs(std::string_view signal, std::span<const double> values) {
  if (signal == "lr") return IsRate(values);
  if (signal == "step_time_s") return IsOfSteps(values);
  if (signal == "data_time_s") return IsMeasured(values) && !AddsUp(values);
  return signal != "loss" && signal != "eval_loss" ? true : IsMeasured(values);
}

std::string_view LeafOf(std::string_view raw) { return raw.substr(raw.rfind('/') + 1); }

// "encoder/grad_norm", "decoder/grad_norm": one number of each part, and none of the whole.
bool AreOfParts(const model::Series& a, const model::Series& b) {
  return a.raw.find('/') != std::string::npos && a.raw != b.raw && LeafOf(a.raw) == LeafOf(b.raw);
}

// Whether another series of the same labels is surer to be that signal, or as sure and longer.
bool HasBetter(const model::Run& run, const model::Series& weak, std::string_view signal) {
  return std::any_of(run.series.begin(), run.series.end(), [&](const model::Series& other) {
    if (&other == &weak || other.labels != weak.labels) return false;
    const std::string_view of_other = WeakSignalOf(other);
    if (of_other.empty()) return other.signal == signal;
    if (of_other != signal) return false;
    if (AreOfParts(weak, other)) return true;
    return other.size() > weak.size() || (other.size() == weak.size() && &other < &weak);
  });
}

double MedianSize(std::span<const double> values) {
  std::vector<double> sizes;
  for (const double value : values) {
    if (std::isfinite(value)) sizes.push_back(std::abs(value));
  }
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

// "L1 : 84.2 ... val_loss : 0.41": what is a hundred times the evaluation loss is a score of something called so.
bool IsFarFromEvalLoss(const model::Run& run, std::string_view signal, const model::Series& weak) {
  constexpr double kFar = 30;  // a loss sum over a batch and a mean over samples differ by less in most runs
  if (signal != "loss") return false;
  const auto eval = std::find_if(run.series.begin(), run.series.end(), [](const model::Series& series) {
    return series.signal == "eval_loss" && WeakSignalOf(series).empty();
  });
  const double usual = eval == run.series.end() ? 0 : MedianSize(Beginning(*eval));
  return usual > 0 && MedianSize(Beginning(weak)) > kFar * usual;
}

void SettleWeak(const model::Run& run, std::string_view signal, model::Series& series) {
  const bool holds =
      !HasBetter(run, series, signal) && GoesAs(signal, Beginning(series)) && !IsFarFromEvalLoss(run, signal, series);
  const catalogue::SignalRow* const row = holds ? catalogue::FindSignal(signal) : nullptr;
  series.signal = row == nullptr ? series.raw : std::string(row->id);
  series.unit = row == nullptr ? std::string() : std::string(row->unit);
}

void StatePercent(model::Series& series) {
  if ((series.signal != "accuracy" && series.signal != "eval_accuracy") || !series.unit.empty()) return;
  const auto values = Beginning(series);
  if (std::any_of(values.begin(), values.end(), [](double v) { return v > kLargestShare && std::isfinite(v); }))
    series.unit.assign(1, '%');  // an assigned literal is taken for an overflow by g++ 12 at -O2
}

// Names that mean something else beside another one. ESPnet's iter_time is that of the data loader, and train_time that
// of the step, of which the optimizer takes a part. Spinning Up's KL is between the policies before and after an
// update.
struct NameBeside {
  std::string_view raw;
  std::string_view beside;
  std::string_view signal;
};
constexpr std::array kBeside = {
    NameBeside{"iter_time", "train_time", "data_time_s"}, NameBeside{"train_time", "iter_time", "step_time_s"},
    NameBeside{"optim_step_time", "backward_time", {}}, NameBeside{"KL", "LossPi", "policy_kl"}};

// Gives the series that signal and its unit; its own name where there is none.
void Rename(std::string_view signal, model::Series& series) {
  const catalogue::SignalRow* const row = signal.empty() ? nullptr : catalogue::FindSignal(signal);
  series.signal = row == nullptr ? series.raw : std::string(row->id);
  series.unit = row == nullptr ? std::string() : std::string(row->unit);
}

bool HasRaw(const model::Run& run, std::string_view raw) {
  return std::any_of(run.series.begin(), run.series.end(),
                     [&](const model::Series& series) { return series.raw == raw; });
}

void SettleBeside(model::Run& run) {
  for (const NameBeside& name : kBeside) {
    if (!HasRaw(run, name.raw) || !HasRaw(run, name.beside)) continue;
    for (model::Series& series : run.series) {
      if (series.raw == name.raw) Rename(name.signal, series);
    }
  }
}

// "steps_per_sec", "it/s": the time of a step, the other way round.
bool CountsStepsPerSecond(std::string_view raw) {
  constexpr std::array<std::string_view, 9> kSteps = {"steps",      "step",        "it",    "iter",   "iters",
                                                      "iterations", "global_step", "batch", "batches"};
  constexpr std::array<std::string_view, 5> kPerSecond = {"/s", "/sec", "_per_sec", "_per_second", "_per_s"};
  std::string name = ToLower(raw.substr(raw.rfind("rain/") == std::string_view::npos ? 0 : raw.rfind("rain/") + 5));
  std::replace(name.begin(), name.end(), ' ', '_');
  return std::any_of(kPerSecond.begin(), kPerSecond.end(), [&](std::string_view rate) {
    if (!name.ends_with(rate)) return false;
    const std::string_view counted = std::string_view(name).substr(0, name.size() - rate.size());
    return std::find(kSteps.begin(), kSteps.end(), counted) != kSteps.end();
  });
}

// "Loss: 2.05, Val Loss: 1.75, Train: 0.21, Val: 0.29, Test: 0.23": beside a loss, shares that are named after nothing
// but their data are accuracies.
struct ShareOfSplit {
  bool is_share = false;
  bool is_eval = false;
};

ShareOfSplit ShareOf(const model::Series& series) {
  if (series.signal != series.raw) return {};
  const catalogue::SplitName name = catalogue::TakeApart(series.raw);
  if (!name.stems.empty() || !name.quantity.empty() || name.is_eval == name.is_train) return {};
  const auto values = Beginning(series);
  const bool fits = std::all_of(values.begin(), values.end(), [](double v) { return v >= 0 && v <= 1; });
  return {fits, name.is_eval};
}

bool HasSignal(const model::Run& run, std::string_view signal) {
  return std::any_of(run.series.begin(), run.series.end(),
                     [&](const model::Series& series) { return series.signal == signal; });
}

void SettleShares(model::Run& run) {
  const auto count = [&](bool is_eval) {
    return std::count_if(run.series.begin(), run.series.end(), [&](const model::Series& series) {
      const ShareOfSplit share = ShareOf(series);
      return share.is_share && share.is_eval == is_eval;
    });
  };
  if (!HasSignal(run, "loss") || count(false) != 1 || count(true) == 0) return;
  // The first of several evaluations is the one that the training is watched by.
  for (model::Series& series : run.series) {
    const ShareOfSplit share = ShareOf(series);
    const std::string_view signal = share.is_eval ? "eval_accuracy" : "accuracy";
    if (share.is_share && !HasSignal(run, signal)) Rename(signal, series);
  }
}

// A table of "train" and "valid" that has no loss: those are the losses, unless they are shares that rise.
void SettleLossesOfSplits(model::Run& run) {
  if (HasSignal(run, "loss") || HasSignal(run, "eval_loss")) return;
  model::Series* train = nullptr;
  model::Series* held_out = nullptr;
  for (model::Series& series : run.series) {
    if (series.signal != series.raw || series.size() < 2) continue;
    const catalogue::SplitName name = catalogue::TakeApart(series.raw);
    if (!name.stems.empty() || !name.quantity.empty() || name.is_eval == name.is_train) continue;
    model::Series*& place = name.is_eval ? held_out : train;
    if (place == nullptr) place = &series;
  }
  if (train == nullptr || held_out == nullptr) return;
  const auto values = Beginning(*train);
  const bool fits = std::all_of(values.begin(), values.end(), [](double v) { return !(v < 0); });
  if (!fits || !IsMeasured(values) || (ShareOf(*train).is_share && values.back() > 1.05 * values.front())) return;
  Rename("loss", *train);
  Rename("eval_loss", *held_out);
}

void TurnRateIntoTime(const model::Run& run, model::Series& series) {
  constexpr std::string_view kTime = "step_time_s";
  if (HasSignal(run, kTime) || series.signal != series.raw || !CountsStepsPerSecond(series.raw)) return;
  // A rate of nothing is no time at all.
  for (double& value : series.values.Mutable()) value = value > 0 ? 1 / value : model::kNoValue;
  Rename(kTime, series);
}

}  // namespace

void SettleNames(model::Run& run) {
  SettleBeside(run);
  SettleShares(run);
  SettleLossesOfSplits(run);
  for (model::Series& series : run.series) {
    StatePercent(series);
    if (const std::string_view signal = WeakSignalOf(series); !signal.empty()) SettleWeak(run, signal, series);
    TurnRateIntoTime(run, series);
  }
}

}  // namespace vigil::identify
