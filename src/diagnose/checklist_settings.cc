// Items of the checklist that the settings of a run answer.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/checklist_answer.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "diagnose/launch.h"
#include "diagnose/remedy.h"
#include "model/baseline.h"

namespace vigil::diagnose {
namespace {

using model::Fact;
using model::RunReport;

// As the user wrote it.
std::string NameOf(const Fact& fact) { return fact.raw_key.empty() ? fact.key : fact.raw_key; }

std::optional<double> NumberOf(const Fact* fact) {
  return fact == nullptr ? std::nullopt : ParseNumber(Trim(fact->value));
}

// ---- make it happen again

CheckAnswer Seed(const RunReport& report) {
  const Fact* seed = report.run.FindFact("seed");
  // HF takes -1, and others "none", for no seed at all.
  const auto number = NumberOf(seed);
  if (seed != nullptr && number && *number >= 0)
    return Done(says::ChecklistSeedDone{.setting = NameOf(*seed), .value = seed->value}, seed);
  if (report.run.facts.empty()) return NotPossible(says::ChecklistNoSettings{});
  return NotDone(says::ChecklistSeedNotDone{}, seed);
}

CheckAnswer OneProcess(const RunReport& report) {
  const model::Run& run = report.run;
  if (run.ranks > 1) return NotDone(says::ChecklistOneProcessNotDone{.ranks = static_cast<double>(run.ranks)});
  const Fact* world = run.FindFact("world_size");
  const auto processes = NumberOf(world);
  if (processes && *processes > 1) return NotDone(says::ChecklistOneProcessNotDone{.ranks = *processes}, world);
  if (processes && *processes == 1)
    return Done(says::ChecklistOneProcessDone{.setting = NameOf(*world), .value = world->value}, world);
  return NotPossible(says::ChecklistOneProcessNotPossible{});
}

CheckAnswer OneDataWorker(const RunReport& report) {
  const Fact* workers = report.run.FindFact("data_workers");
  const auto count = NumberOf(workers);
  if (!count) return NotPossible(says::ChecklistOneDataWorkerNotPossible{});
  if (*count <= 1)
    return Done(says::ChecklistOneDataWorkerDone{.setting = NameOf(*workers), .value = workers->value}, workers);
  return WithChange(
      NotDone(says::ChecklistOneDataWorkerNotDone{.setting = NameOf(*workers), .value = workers->value}, workers),
      NameOf(*workers), "0");
}

CheckAnswer Repeated(const RunReport&) { return WithRun(NotPossible(says::ChecklistRepeatedNotPossible{})); }

// ---- numbers and their precision

std::string_view NameOf(Precision precision) {
  constexpr std::array<std::string_view, 5> kNames = {"", "fp16", "bf16", "fp32", "fp8"};
  return kNames[static_cast<std::size_t>(precision)];
}

// The setting that switches mixed precision on, null when none is stated.
const Fact* PrecisionSetting(const model::Run& run) {
  for (const std::string_view key : {"bf16", "fp16"}) {
    if (FactSwitch(run, key).value_or(false)) return run.FindFact(key);
  }
  return run.FindFact("precision");
}

// What switches mixed precision off, in the words of the setting.
std::string_view Fp32Value(const Fact& setting) {
  if (setting.key != "precision") return "false";
  const std::string name = ToLower(NameOf(setting));
  if (name.find("dtype") != std::string::npos || name.find("_param") != std::string::npos) return "float32";
  return name.find("mixed") != std::string::npos ? "no" : "32";
}

CheckAnswer Fp32(const RunReport& report) {
  const Precision precision = PrecisionOf(report.run);
  const Fact* setting = PrecisionSetting(report.run);
  if (precision == Precision::kUnknown) return NotPossible(says::ChecklistFp32Unknown{});
  if (precision == Precision::kFp32) return Done(says::ChecklistFp32Done{}, setting);
  const CheckAnswer answer = NotPossible(says::ChecklistFp32NotPossible{.precision = std::string(NameOf(precision))});
  if (setting == nullptr) return WithRun(answer);
  return WithChange(answer, NameOf(*setting), Fp32Value(*setting));
}

CheckAnswer LossScale(const RunReport& report) {
  const Precision precision = PrecisionOf(report.run);
  if (const model::Series* scale = report.run.Find("loss_scale"); scale != nullptr && !scale->empty()) {
    const Course course(report.run, scale);
    return Done(says::ChecklistLossScaleDone{.points = static_cast<double>(scale->size()),
                                             .metric = scale->raw,
                                             .low = Smallest(course.View()),
                                             .high = Largest(course.View())});
  }
  if (precision == Precision::kUnknown) return NotPossible(says::ChecklistLossScaleNotPossible{});
  if (precision != Precision::kFp16)
    return NotPossible(says::ChecklistLossScaleNotNeeded{.precision = std::string(NameOf(precision))});
  return NotDone(says::ChecklistLossScaleNotDone{}, PrecisionSetting(report.run));
}

// ---- learning rate

CheckAnswer WarmUp(const RunReport& report) {
  const Fact* off = nullptr;
  for (const std::string_view key : {"warmup_steps", "warmup_ratio"}) {
    const Fact* fact = report.run.FindFact(key);
    const auto amount = NumberOf(fact);
    if (amount && *amount > 0)
      return Done(says::ChecklistWarmUpStated{.setting = NameOf(*fact), .value = fact->value}, fact);
    if (amount) off = fact;
  }
  const Course rate = LastCourse(report.run, "lr");
  constexpr std::size_t kFewest = 5;
  constexpr double kRises = 0.7;  // below this share of its highest the rate began low
  if (rate.size() >= kFewest) {
    const auto highest = std::max_element(rate.values.begin(), rate.values.end());
    const double first = rate.values.front();
    const auto at = static_cast<std::size_t>(highest - rate.values.begin());
    if (first < kRises * *highest)
      return Done(says::ChecklistWarmUpLogged{.low = first, .high = *highest, .at = rate.PositionOf(at)});
    return NotDone(says::ChecklistWarmUpNotDone{.high = *highest});
  }
  if (off == nullptr) return NotPossible(says::ChecklistWarmUpNotPossible{});
  return NotDone(says::ChecklistWarmUpStatedOff{.setting = NameOf(*off), .value = off->value}, off);
}

// Whether the run that this one is compared with has a lower rate.
const model::DifferingSetting* LowerRateInBaseline(const RunReport& report, const Fact& rate) {
  if (!report.baseline) return nullptr;
  for (const model::DifferingSetting& setting : report.baseline->settings) {
    const auto here = ParseNumber(setting.value);
    const auto there = ParseNumber(setting.reference);
    if (setting.setting == NameOf(rate) && here && there && *there < *here) return &setting;
  }
  return nullptr;
}

CheckAnswer LowerRate(const RunReport& report) {
  constexpr double kThird = 3;
  const CheckAnswer cannot = NotPossible(says::ChecklistLowerRateNotPossible{});
  const Fact* rate = report.run.FindFact("lr");
  const auto value = NumberOf(rate);
  if (!value || !(*value > 0)) {
    const model::Series* logged = report.run.Find("lr");
    const double peak = PeakLr(report.run);
    return logged != nullptr && peak > 0 ? WithChange(cannot, logged->raw, Rounded(peak / kThird)) : WithRun(cannot);
  }
  if (const model::DifferingSetting* lower = LowerRateInBaseline(report, *rate))
    return Done(says::ChecklistLowerRateDone{.setting = lower->setting,
                                             .value = lower->value,
                                             .reference = lower->reference,
                                             .baseline = report.baseline->name},
                rate);
  return WithChange(cannot, NameOf(*rate), Rounded(*value / kThird));
}

// ---- safety nets

CheckAnswer GradientClipping(const RunReport& report) {
  const Clipping clipping = ClippingOf(report.run);
  const Fact* setting = report.run.FindFact("max_grad_norm");
  if (clipping.state == Clip::kOn && clipping.stated && setting != nullptr)
    return Done(says::ChecklistClippingStated{.setting = NameOf(*setting), .value = setting->value}, setting);
  if (clipping.state == Clip::kOff && setting != nullptr)
    return WithChange(
        NotDone(says::ChecklistClippingNotDone{.setting = NameOf(*setting), .value = setting->value}, setting),
        NameOf(*setting), "1.0");
  // A default counts only where settings were read: else one that differs may not have been seen.
  if (clipping.state == Clip::kOn && !clipping.stated && !report.run.facts.empty())
    return Done(says::ChecklistClippingByDefault{.framework = report.run.framework, .limit = clipping.limit});
  return NotPossible(says::ChecklistClippingNotPossible{});
}

bool IsAboutTheOptimizer(const model::Finding& finding) {
  constexpr std::array<std::string_view, 4> kRules = {"config/weight-decay-high", "config/8bit-optimizer-sharded",
                                                      "config/value-unusual", "config/value-impossible"};
  return std::find(kRules.begin(), kRules.end(), finding.id) != kRules.end();
}

CheckAnswer Optimizer(const RunReport& report) {
  std::vector<std::string> rules;
  for (const model::Finding& finding : report.findings) {
    if (IsAboutTheOptimizer(finding)) rules.push_back(finding.id);
  }
  if (!rules.empty()) return NotDone(says::ChecklistOptimizerNotDone{.rules = rules});
  std::vector<std::string> settings;
  for (const std::string_view key :
       {"optimizer", "weight_decay", "adam_epsilon", "adam_beta1", "adam_beta2", "momentum"}) {
    if (const Fact* fact = report.run.FindFact(key)) settings.push_back(NameOf(*fact) + "=" + fact->value);
  }
  if (settings.empty()) return NotPossible(says::ChecklistOptimizerNotPossible{});
  return Done(says::ChecklistOptimizerDone{.settings = settings});
}

CheckAnswer EffectiveBatch(const RunReport& report) {
  const auto samples = SamplesPerStep(report.run);
  if (!samples) return NotPossible(says::ChecklistEffectiveBatchNotPossible{});
  std::vector<std::string> factors;
  const Fact* shown_by = nullptr;
  for (const std::string_view key : {"global_batch_size", "batch_size", "accumulation", "world_size"}) {
    const Fact* fact = report.run.FindFact(key);
    if (fact == nullptr) continue;
    if (shown_by == nullptr) shown_by = fact;
    factors.push_back(NameOf(*fact) + "=" + fact->value);
  }
  return Done(says::ChecklistEffectiveBatchDone{.samples = *samples, .factors = factors}, shown_by);
}

constexpr std::array kChecks = {
    NamedCheck{"Seed", Seed},
    NamedCheck{"Repeated", Repeated},
    NamedCheck{"OneProcess", OneProcess},
    NamedCheck{"OneDataWorker", OneDataWorker},
    NamedCheck{"Fp32", Fp32},
    NamedCheck{"LossScale", LossScale},
    NamedCheck{"WarmUp", WarmUp},
    NamedCheck{"LowerRate", LowerRate},
    NamedCheck{"GradientClipping", GradientClipping},
    NamedCheck{"Optimizer", Optimizer},
    NamedCheck{"EffectiveBatch", EffectiveBatch},
};

}  // namespace

std::span<const NamedCheck> ChecksOfSettings() { return kChecks; }

}  // namespace vigil::diagnose
