// AdamW and the learning-rate schedule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "gym/model.h"

namespace vigil::gym {

// Linear warm-up, then a cosine down to a tenth of the peak. Steps count from 1.
double RateAt(std::int64_t step, std::int64_t steps, std::int64_t warmup, double peak);

class AdamW {
 public:
  AdamW(const Model& model, double decay);

  // Moves the weights by the model's gradients, which are multiplied by `scale` first. UpdateNorms() says how far each
  // tensor went.
  void Step(Model& model, ThreadPool& pool, double rate, double scale);
  // A step that is left out: no tensor went anywhere.
  void Rest() { std::fill(update_norms_.begin(), update_norms_.end(), 0.0); }
  std::span<const double> UpdateNorms() const { return update_norms_; }

  // Leaves a tensor where it is from now on.
  void Freeze(std::size_t tensor) { frozen_[tensor] = true; }

  // Moments as one flat array each, in the order of the weights; steps made with them.
  std::span<float> first() { return first_; }
  std::span<float> second() { return second_; }
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  double decay_;
  std::int64_t steps_ = 0;
  std::vector<float> first_, second_;
  std::vector<bool> frozen_;
  std::vector<double> update_norms_;
};

}  // namespace vigil::gym
