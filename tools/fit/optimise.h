// Multinomial logistic regression with a class of its own for "nothing is wrong", whose score is 0: the weights that
// make the known causes of the samples likeliest, less a penalty that keeps them few and small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace vigil::fit {

// The columns that hold, sorted, and what is known to be the case: 0 for nothing wrong, else a class from 1 on.
struct Sample {
  std::vector<std::uint32_t> columns;
  std::vector<float> offsets;  // what is added to the score of each class before any weight; empty for nothing
  std::uint32_t target = 0;
  std::vector<std::uint32_t> accepted;  // other classes that the data cannot distinguish from it
  double weight = 1;
};

struct FitOptions {
  double sparse = 2e-5;  // penalty on the sum of the absolute weights: drives most of them to exactly 0
  double small = 2e-4;   // penalty on the sum of their squares
  int rounds = 400;
  unsigned threads = 0;  // 0: as many as there are cores
  std::function<void(int round, double loss)> progress;
};

// Weights are columns x classes (without class 0), priors one for each class.
struct Solution {
  std::vector<float> weights;
  std::vector<float> priors;
};

// Accelerated proximal gradient with a step of its own for each column, by how often it holds. Starts from `from` where
// that has weights.
Solution Optimise(const std::vector<Sample>& samples, std::size_t columns, std::size_t classes,
                  const FitOptions& options, const Solution& from = {});

}  // namespace vigil::fit
