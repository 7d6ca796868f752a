// Measures that are settings of the run: what is far from any use decides more than the shape of a curve.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/base.h"
#include "diagnose/facts.h"
#include "diagnose/measures.h"
#include "diagnose/places.h"

namespace vigil::diagnose {
namespace {

std::optional<double> WeightDecay(const RunDigest& run) { return run.Setting("weight_decay"); }
std::optional<double> AdamEpsilon(const RunDigest& run) { return run.Setting("adam_epsilon"); }
std::optional<double> Momentum(const RunDigest& run) { return run.Setting("momentum"); }
std::optional<double> Dropout(const RunDigest& run) { return run.Setting("dropout"); }
std::optional<double> LabelSmoothing(const RunDigest& run) { return run.Setting("label_smoothing"); }
std::optional<double> Temperature(const RunDigest& run) { return run.Setting("temperature"); }
std::optional<double> KlCoefficient(const RunDigest& run) { return run.Setting("kl_coefficient"); }
std::optional<double> Discount(const RunDigest& run) { return run.Setting("discount"); }
std::optional<double> EntropyCoefficient(const RunDigest& run) { return run.Setting("entropy_coefficient"); }
std::optional<double> CompletionLimit(const RunDigest& run) { return run.Setting("max_completion_length"); }
std::optional<double> Generations(const RunDigest& run) { return run.Setting("num_generations"); }
std::optional<double> Accumulation(const RunDigest& run) { return run.Setting("accumulation"); }
std::optional<double> BatchSize(const RunDigest& run) { return run.Setting("batch_size"); }

// 0 where clipping is off.
std::optional<double> ClipLimit(const RunDigest& run) {
  const Clipping clipping = ClippingOf(run.run());
  if (clipping.state == Clip::kUnknown) return std::nullopt;
  return clipping.state == Clip::kOff ? 0 : clipping.limit;
}

// "0.9, 0.999", as a list of settings is written.
std::optional<double> ItemOf(const RunDigest& run, std::string_view key, std::size_t index) {
  const model::Fact* fact = FindSetting(run.run(), key);
  if (fact == nullptr) return std::nullopt;
  std::string text = fact->value;
  std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == '(' || c == ')'; });
  const std::vector<std::string_view> items = Split(text, ',');
  return index < items.size() ? ParseNumber(Trim(items[index])) : std::nullopt;
}

std::optional<double> Beta1(const RunDigest& run) {
  const auto stated = run.Setting("adam_beta1");
  return stated ? stated : ItemOf(run, "betas", 0);
}
std::optional<double> Beta2(const RunDigest& run) {
  const auto stated = run.Setting("adam_beta2");
  return stated ? stated : ItemOf(run, "betas", 1);
}

// Decoupled decay takes lr x decay of the weights in each step: above about 1 over a run nothing of what was learned
// early is left.
std::optional<double> DecayOverRun(const RunDigest& run) {
  const auto decay = WeightDecay(run);
  const auto rate = run.PeakRate();
  const double steps = EndOf(run.run(), model::Axis::kStep).length();
  return decay && rate && steps > 0 ? std::optional(*decay * *rate * steps) : std::nullopt;
}

std::optional<double> BatchShare(const RunDigest& run) {
  const auto batch = BatchSize(run);
  const auto samples = run.Setting("train_samples");
  if (!batch || !samples || !(*samples > 0)) return std::nullopt;
  return *batch * Accumulation(run).value_or(1) / *samples;
}

std::optional<double> Fp16(const RunDigest& run) {
  const Precision precision = PrecisionOf(run.run());
  return precision == Precision::kUnknown ? std::nullopt : std::optional(precision == Precision::kFp16 ? 1.0 : 0.0);
}
std::optional<double> Bf16(const RunDigest& run) {
  const Precision precision = PrecisionOf(run.run());
  return precision == Precision::kUnknown ? std::nullopt : std::optional(precision == Precision::kBf16 ? 1.0 : 0.0);
}

std::optional<double> WarmupShare(const RunDigest& run) {
  if (const auto share = run.Setting("warmup_ratio")) return share;
  const auto steps = run.Setting("warmup_steps");
  const double length = EndOf(run.run(), model::Axis::kStep).length();
  return steps && length > 0 ? std::optional(*steps / length) : std::nullopt;
}

std::optional<double> Epochs(const RunDigest& run) {
  const Digest* epoch = run.Of("epoch");
  if (epoch != nullptr && !epoch->empty()) return *std::max_element(epoch->values.begin(), epoch->values.end());
  return run.Setting("epochs");
}

constexpr std::array kMeasures = {
    NamedMeasure{"weight-decay", WeightDecay},
    NamedMeasure{"decay-over-run", DecayOverRun},
    NamedMeasure{"adam-epsilon", AdamEpsilon},
    NamedMeasure{"adam-beta1", Beta1},
    NamedMeasure{"adam-beta2", Beta2},
    NamedMeasure{"momentum", Momentum},
    NamedMeasure{"clip-limit", ClipLimit},
    NamedMeasure{"dropout", Dropout},
    NamedMeasure{"label-smoothing", LabelSmoothing},
    NamedMeasure{"temperature", Temperature},
    NamedMeasure{"kl-coefficient", KlCoefficient},
    NamedMeasure{"discount", Discount},
    NamedMeasure{"entropy-coefficient", EntropyCoefficient},
    NamedMeasure{"completion-limit", CompletionLimit},
    NamedMeasure{"generations", Generations},
    NamedMeasure{"batch-size", BatchSize},
    NamedMeasure{"batch-share", BatchShare},
    NamedMeasure{"accumulation", Accumulation},
    NamedMeasure{"fp16", Fp16},
    NamedMeasure{"bf16", Bf16},
    NamedMeasure{"warmup-share", WarmupShare},
    NamedMeasure{"epochs-seen", Epochs},
};

}  // namespace

std::span<const NamedMeasure> SettingMeasures() { return kMeasures; }

}  // namespace vigil::diagnose
