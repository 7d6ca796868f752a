#include "gym/faults.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <limits>

#include "gym/random.h"
#include "platform/clock.h"
#include "platform/process.h"

namespace vigil::gym {
namespace {

constexpr Fault kFaults[] = {
    {"lr-too-high", "the learning rate is a multiple of what the model bears",
     "loss/divergence,grad/explosion,loss/non-finite,grad/non-finite,loss/not-decreasing,loss/plateau", "lr-too-high",
     "", 1000, "times the learning rate", true, 1},
    {"no-warmup", "no warm-up, with norms behind the sums, at a rate that the same run bears after a warm-up",
     "loss/divergence,grad/explosion,loss/non-finite,grad/non-finite,loss/not-decreasing,loss/plateau,lr/no-warmup",
     "no-warmup", "lr-too-high", 4, "times the learning rate (with 2 layers 13)", true, 1},
    {"no-clipping", "no clipping, with sample weights whose tail is heavy",
     "loss/divergence,grad/explosion,loss/non-finite,grad/non-finite,loss/not-decreasing,grad/spike,loss/spike",
     "no-clipping", "lr-too-high,bad-sample", 1, "exponent of the tail (1: weights of 1/u)", true, 1},
    {"non-finite-input", "one batch has samples whose weight is NaN", "loss/non-finite,grad/non-finite", "bad-sample",
     "layer-numerics", 1, "samples", false, 1},
    {"token-out-of-range", "one batch has token ids beyond the vocabulary",
     "data/token-out-of-range,log/index-out-of-range", "bad-config", "bad-sample", 1, "tokens", false, 1},
    {"layer-log-zero", "a layer takes the logarithm of a coefficient that anneals to 0",
     "loss/non-finite,grad/non-finite", "layer-numerics", "bad-sample", 0.1, "factor on the logarithm", false, 1},
    {"labels-shuffled", "targets belong to other positions", "loss/not-decreasing,loss/plateau", "wrong-targets",
     "frozen-params", 1, "share of the targets", true, 1},
    {"frozen-params", "the optimizer holds the last norm only", "loss/not-decreasing,loss/plateau", "frozen-params",
     "wrong-targets,lr-too-low", 1, "(none)", true, 1},
    {"host-memory-leak", "every step keeps a block of memory", "memory/leak,memory/growth", "memory-leak-host-ref", "",
     4, "MiB a step", false, 1},
    {"slow-data", "the loader makes every step wait", "throughput/data-starved,throughput/regression", "input-pipeline",
     "", 1, "times the usual step", false, 1},
    {"slow-step", "every step makes passes whose result nobody uses", "throughput/regression",
     "recompute-or-kernel-change", "", 2, "times the work", false, 1},
    {"straggler-rank", "the last rank makes passes whose result nobody uses",
     "throughput/straggler,throughput/regression", "recompute-or-kernel-change", "neighbour-load", 2, "times the work",
     false, 2},
    {"dead-rank", "the last rank is killed", "hang/dead-rank,memory/host-oom,log/killed-signal", "rank-died",
     "out-of-host-memory", 9, "signal number", false, 2},
    {"hang-rank", "the last rank never comes to the all-reduce",
     "hang/stalled,hang/missing-rank,hang/dead-rank,log/collective-timeout", "code-path-divergence", "rank-died", 1,
     "(none)", false, 2},
    {"bit-flip", "one bit of one weight changes",
     "loss/spike,loss/divergence,loss/non-finite,grad/spike,grad/explosion,grad/non-finite", "",
     "bad-sample,layer-numerics", 30, "number of the bit (23 to 30: exponent)", false, 1},
    {"resume-without-optimizer", "the checkpoint that is resumed from has weights only",
     "lr/schedule-break,loss/resume-jump", "optimizer-not-saved", "scheduler-not-saved", 1, "(none)", false, 1},
    {"resume-data-restart", "the resumed run starts the data from its beginning", "resume/data-restart,data/repeated",
     "sampler-not-saved", "", 1, "(none)", false, 1},
};

}  // namespace

std::span<const Fault> Faults() { return kFaults; }

const Fault* FindFault(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kFaults), std::end(kFaults), [&](const Fault& f) { return f.name == name; });
  return found == std::end(kFaults) ? nullptr : found;
}

Sabotage::Sabotage(const Options& options, int rank)
    : name_(options.fault),
      onset_(options.onset),
      strength_(options.strength),
      seed_(Mix(static_cast<std::uint64_t>(options.seed) ^ 0xfa017U)),
      is_last_rank_(rank == options.ranks - 1) {}

bool Sabotage::IsResume(const Options& options) {
  return options.fault == "resume-without-optimizer" || options.fault == "resume-data-restart";
}

Options Sabotage::ChangedOptions(Options options) {
  if (options.fault == "lr-too-high" || options.fault == "no-warmup") options.lr *= options.strength;
  if (options.fault == "no-warmup") {
    options.warmup = 0;
    options.shape.post_norm = true;
  }
  if (options.fault == "no-clipping") options.clip = 0;
  return options;
}

void Sabotage::SpoilBatch(std::int64_t step, int vocabulary, Batch& batch) {
  // Follows from the step, so that a resumed run meets the same.
  Random random(Mix(seed_ + static_cast<std::uint64_t>(step)) ^ batch.fingerprint);
  const auto count = static_cast<std::size_t>(std::max(1.0, strength_));
  if (Is("no-clipping")) {
    for (float& weight : batch.weights) {
      // Divided by the median, so that most samples weigh about 1.
      weight = static_cast<float>(std::pow(2 * (1 - random.Uniform()), -strength_));
    }
  }
  if (Is("labels-shuffled")) {
    for (std::size_t i = batch.targets.size(); i > 1; --i) {
      if (random.Uniform() < strength_) std::swap(batch.targets[i - 1], batch.targets[random.Below(i)]);
    }
  }
  if (IsAt("non-finite-input", step)) {
    std::fill_n(batch.weights.begin(), std::min(count, batch.weights.size()), std::numeric_limits<float>::quiet_NaN());
  }
  if (IsAt("token-out-of-range", step)) {
    for (std::size_t i = 0; i < count; ++i) {
      batch.inputs[random.Below(batch.inputs.size())] = vocabulary + static_cast<std::int32_t>(random.Below(1000));
    }
  }
}

double Sabotage::LoadingDelay(std::int64_t step, double usual_s) const {
  return IsFrom("slow-data", step) ? strength_ * usual_s : 0;
}

void Sabotage::SpoilModel(std::int64_t step, Model& model, AdamW& adam) {
  if (Is("layer-log-zero")) {
    const double tau = std::max(0.0, 1 - static_cast<double>(step) / static_cast<double>(onset_));
    model.set_gate(static_cast<float>(1 + strength_ * std::log(tau)));
  }
  if (Is("frozen-params")) {
    for (std::size_t i = 0; i < model.tensors().size(); ++i) {
      if (model.tensors()[i].name != "norm") adam.Freeze(i);
    }
  }
  if (IsAt("bit-flip", step) && is_last_rank_) FlipBit(model);
}

void Sabotage::FlipBit(Model& model) const {
  const std::size_t at = Mix(seed_) % model.weights().size();
  float& weight = model.weights()[at];
  const auto bit = static_cast<unsigned>(std::clamp(strength_, 0.0, 31.0));
  weight = std::bit_cast<float>(std::bit_cast<std::uint32_t>(weight) ^ (1U << bit));
}

int Sabotage::NeedlessPasses(std::int64_t step) const {
  const bool slow = IsFrom("slow-step", step) || (IsFrom("straggler-rank", step) && is_last_rank_);
  return slow ? std::max(1, static_cast<int>(std::lround(strength_)) - 1) : 0;
}

void Sabotage::MeetOthers(std::int64_t step) const {
  if (!is_last_rank_) return;
  if (IsAt("dead-rank", step)) platform::EndThisProcess(static_cast<int>(strength_));
  while (IsFrom("hang-rank", step)) platform::SleepSeconds(1);
}

void Sabotage::Leak(std::int64_t step) {
  if (!IsFrom("host-memory-leak", step)) return;
  leaked_.emplace_back(static_cast<std::size_t>(strength_ * 1024 * 1024), static_cast<char>(step));
}

}  // namespace vigil::gym
