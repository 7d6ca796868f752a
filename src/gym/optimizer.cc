#include "gym/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vigil::gym {

double RateAt(std::int64_t step, std::int64_t steps, std::int64_t warmup, double peak) {
  constexpr double kFloor = 0.1;
  if (step <= warmup) return peak * static_cast<double>(step) / static_cast<double>(warmup);
  const double done =
      static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, steps - warmup));
  return peak * (kFloor + (1 - kFloor) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done))));
}

AdamW::AdamW(const Model& model, double decay)
    : decay_(decay),
      first_(model.tensors().back().offset + model.tensors().back().size()),
      second_(first_.size()),
      frozen_(model.tensors().size()),
      update_norms_(model.tensors().size()) {}

void AdamW::Step(Model& model, ThreadPool& pool, double rate, double scale) {
  constexpr double kBeta1 = 0.9;
  constexpr double kBeta2 = 0.95;
  ++steps_;
  AdamStep step;
  step.beta1 = static_cast<float>(kBeta1);
  step.beta2 = static_cast<float>(kBeta2);
  step.rate = static_cast<float>(rate / (1 - std::pow(kBeta1, static_cast<double>(steps_))));
  step.correction = static_cast<float>(1 / (1 - std::pow(kBeta2, static_cast<double>(steps_))));
  step.scale = static_cast<float>(scale);
  pool.Run(model.tensors().size(), [&](std::size_t i) {
    const Tensor& tensor = model.tensors()[i];
    if (frozen_[i]) return;
    AdamStep mine = step;
    mine.decay = tensor.decays ? static_cast<float>(rate * decay_) : 0.0F;
    update_norms_[i] = std::sqrt(AdamUpdate(mine, tensor.size(), model.gradients().data() + tensor.offset,
                                            model.weights().data() + tensor.offset, first_.data() + tensor.offset,
                                            second_.data() + tensor.offset));
  });
}

}  // namespace vigil::gym
