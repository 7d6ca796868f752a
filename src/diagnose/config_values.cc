// Values that no run can use, and values that none does.
#include <array>
#include <cmath>
#include <limits>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"

namespace vigil::diagnose {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// What a setting can be. `low_open`, `high_open`: the limit itself is not in it.
struct Range {
  std::string_view key;
  double low;
  double high;
  bool low_open;
  bool high_open;
};
constexpr std::array kPossible = {
    Range{"lr", 0, kNoLimit, false, false},
    Range{"weight_decay", 0, kNoLimit, false, false},
    Range{"batch_size", 1, kNoLimit, false, false},
    Range{"accumulation", 1, kNoLimit, false, false},
    Range{"warmup_ratio", 0, 1, false, false},
    Range{"adam_beta1", 0, 1, false, true},
    Range{"adam_beta2", 0, 1, false, true},
    Range{"adam_epsilon", 0, kNoLimit, false, false},
    Range{"momentum", 0, 1, false, true},
    Range{"dropout", 0, 1, false, true},
    Range{"lora_dropout", 0, 1, false, true},
    Range{"label_smoothing", 0, 1, false, true},
    Range{"num_generations", 2, kNoLimit, false, false},
    Range{"temperature", 0, kNoLimit, false, false},
    Range{"sequence_length", 1, kNoLimit, false, false},
    Range{"lora_rank", 1, kNoLimit, false, false},
    Range{"top_p", 0, 1, true, false},
    Range{"val_set_size", 0, kNoLimit, false, false},
    Range{"epochs", 0, kNoLimit, true, false},
};

bool IsOutside(double value, const Range& range) {
  if (value < range.low || (range.low_open && value == range.low)) return true;
  return value > range.high || (range.high_open && value == range.high);
}

model::Statement InWords(const Range& range) {
  if (std::isinf(range.high) && range.low_open) return says::ConfigValueImpossibleAbove{.low = range.low};
  if (std::isinf(range.high)) return says::ConfigValueImpossibleAtLeast{.low = range.low};
  if (range.high_open) return says::ConfigValueImpossibleBelow{.low = range.low, .high = range.high};
  return says::ConfigValueImpossibleBetween{.low = range.low, .high = range.high};
}

// A value of -1 stands for "not set" in many trainers, and 0 for an adapter that is not used.
bool MeansUnset(std::string_view key, double value) {
  const bool minus = value == -1 && (key == "batch_size" || key == "sequence_length" || key == "epochs");
  return minus || (value == 0 && (key == "lora_rank" || key == "num_generations"));
}

std::vector<Breach> ValueImpossible(const RunView& run) {
  std::vector<Breach> breaches;
  for (const Range& range : kPossible) {
    const model::Fact* fact = Stated(run, {range.key});
    const auto value = fact == nullptr ? std::nullopt : ParseNumber(fact->value);
    if (!value || MeansUnset(range.key, *value)) continue;
    if (!std::isnan(*value) && !IsOutside(*value, range)) continue;
    breaches.push_back({.says =
                            says::ConfigValueImpossibleBroken{
                                .setting = NameOf(*fact), .value = QuoteOf(run, *fact), .range = InWords(range)},
                        .fact = fact});
  }
  return breaches;
}

// What is usual, and how far from it nobody goes. A value of exactly 0 switches most of them off, which is a choice.
struct Usual {
  std::string_view key;
  double low;
  double high;
  double lowest;
  double highest;
  double proposed;
  bool zero_is_a_choice;
};
constexpr std::array kUsual = {
    Usual{"lr", 1e-7, 0.1, 0, 1, 1e-4, true},
    Usual{"weight_decay", 0, 0.1, 0, 1, 0.01, true},
    Usual{"max_grad_norm", 0.1, 10, 1e-3, 1e9, 1, true},
    Usual{"label_smoothing", 0, 0.2, 0, 0.5, 0.1, true},
    Usual{"dropout", 0, 0.5, 0, 0.7, 0.1, true},
    Usual{"lora_dropout", 0, 0.1, 0, 0.7, 0.05, true},
    Usual{"adam_beta1", 0.8, 0.95, 0, 0.99, 0.9, true},
    Usual{"adam_beta2", 0.9, 0.9999, 0.8, 0.99999, 0.999, true},
    Usual{"adam_epsilon", 1e-10, 1e-6, 0, 1e-2, 1e-8, true},
    Usual{"temperature", 0.6, 1.2, 0.05, 3, 1, false},
};

std::vector<Breach> ValueUnusual(const RunView& run) {
  std::vector<Breach> breaches;
  for (const Usual& usual : kUsual) {
    // A temperature of a model that is not sampled from is another one.
    if (usual.key == "temperature" && !IsReinforcement(run)) continue;
    // Where the method is known its own range says more.
    if (usual.key == "lr" && UsualLr(run).exact) continue;
    const model::Fact* fact = Stated(run, {usual.key});
    const auto value = fact == nullptr ? std::nullopt : ParseNumber(fact->value);
    if (!value || (usual.zero_is_a_choice && *value == 0) || *value < 0) continue;
    if (*value >= usual.lowest && *value <= usual.highest) continue;
    breaches.push_back(
        {.says =
             says::ConfigValueUnusualBroken{
                 .setting = NameOf(*fact), .value = QuoteOf(run, *fact), .low = usual.low, .high = usual.high},
         .fact = fact,
         .proposed = FormatExact(usual.proposed)});
  }
  return breaches;
}

constexpr std::array kChecks = {
    NamedCheck{"value-impossible", ValueImpossible},
    NamedCheck{"value-unusual", ValueUnusual},
};

}  // namespace

std::span<const NamedCheck> ValueChecks() { return kChecks; }

}  // namespace vigil::diagnose
