#include "fit/optimise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

namespace vigil::fit {
namespace {

// Sums over a part of the samples.
struct Gradient {
  std::vector<float> weights;
  std::vector<float> priors;
  double loss = 0;
};

class Problem {
 public:
  Problem(const std::vector<Sample>& samples, std::size_t columns, std::size_t classes, unsigned threads)
      : samples_(samples), columns_(columns), classes_(classes), parts_(std::max(1U, threads)) {
    for (const Sample& sample : samples) total_ += sample.weight;
    for (Gradient& part : parts_) {
      part.weights.resize(columns * classes);
      part.priors.resize(classes);
    }
  }

  // The gradient of the mean loss at a point; the loss itself is returned.
  double GradientAt(const Solution& at, Solution& gradient) {
    std::vector<std::jthread> workers;
    workers.reserve(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) workers.emplace_back([this, &at, i] { AddPart(at, i, parts_[i]); });
    workers.clear();
    std::fill(gradient.weights.begin(), gradient.weights.end(), 0.0F);
    std::fill(gradient.priors.begin(), gradient.priors.end(), 0.0F);
    double loss = 0;
    for (const Gradient& part : parts_) {
      loss += part.loss;
      for (std::size_t j = 0; j < part.weights.size(); ++j) gradient.weights[j] += part.weights[j];
      for (std::size_t j = 0; j < classes_; ++j) gradient.priors[j] += part.priors[j];
    }
    return loss / total_;
  }

  // Bounds of the curvature: a step of their inverse never overshoots.
  std::vector<float> Curvatures() const {
    std::vector<float> curvatures(columns_ + 1, 0.0F);
    for (const Sample& sample : samples_) {
      const auto share =
          static_cast<float>(0.5 * sample.weight / total_ * static_cast<double>(sample.columns.size() + 1));
      for (const std::uint32_t column : sample.columns) curvatures[column] += share;
      curvatures[columns_] += share;
    }
    return curvatures;
  }

 private:
  void AddPart(const Solution& at, std::size_t part, Gradient& sum) const {
    std::fill(sum.weights.begin(), sum.weights.end(), 0.0F);
    std::fill(sum.priors.begin(), sum.priors.end(), 0.0F);
    sum.loss = 0;
    std::vector<float> scores(classes_);
    for (std::size_t i = part; i < samples_.size(); i += parts_.size()) AddSample(at, samples_[i], scores, sum);
  }

  void AddSample(const Solution& at, const Sample& sample, std::vector<float>& scores, Gradient& sum) const {
    scores = at.priors;
    for (std::size_t k = 0; k < sample.offsets.size(); ++k) scores[k] += sample.offsets[k];
    for (const std::uint32_t column : sample.columns) {
      const float* row = &at.weights[column * classes_];
      for (std::size_t k = 0; k < classes_; ++k) scores[k] += row[k];
    }
    float highest = 0;
    for (const float score : scores) highest = std::max(highest, score);
    const float target = sample.target == 0 ? 0 : scores[sample.target - 1];
    float total = std::exp(-highest);
    for (float& score : scores) total += score = std::exp(score - highest);
    sum.loss += sample.weight * (std::log(static_cast<double>(total)) + highest - target);
    const auto scale = static_cast<float>(sample.weight / total_);
    for (float& score : scores) score *= scale / total;
    if (sample.target != 0) SubtractTarget(sample, scale, scores);
    for (std::size_t k = 0; k < classes_; ++k) sum.priors[k] += scores[k];
    for (const std::uint32_t column : sample.columns) {
      float* row = &sum.weights[column * classes_];
      for (std::size_t k = 0; k < classes_; ++k) row[k] += scores[k];
    }
  }

  // Part of the truth is the target itself, the rest whichever of the accepted classes is likely already.
  static void SubtractTarget(const Sample& sample, float scale, std::vector<float>& scores) {
    constexpr float kTargetItself = 0.3F;
    float total = scores[sample.target - 1];
    for (const std::uint32_t other : sample.accepted) total += scores[other - 1];
    if (sample.accepted.empty() || total <= 0) {
      scores[sample.target - 1] -= scale;
      return;
    }
    const float shared = (1 - kTargetItself) * scale / total;
    scores[sample.target - 1] -= kTargetItself * scale + shared * scores[sample.target - 1];
    for (const std::uint32_t other : sample.accepted) scores[other - 1] -= shared * scores[other - 1];
  }

  const std::vector<Sample>& samples_;
  std::size_t columns_;
  std::size_t classes_;
  std::vector<Gradient> parts_;
  double total_ = 0;
};

// The weight after a step, pulled towards 0 and held there by the penalty.
float Shrink(float weight, float step, const FitOptions& options) {
  const auto sparse = static_cast<float>(options.sparse) * step;
  const float shrunk = weight > sparse ? weight - sparse : (weight < -sparse ? weight + sparse : 0.0F);
  return shrunk / (1 + 2 * step * static_cast<float>(options.small));
}

// Columns that hold for a handful of samples have next to no curvature; their step is bounded all the same.
constexpr float kLeastCurvature = 1e-5F;
// Share of the bound of the curvature that steps begin with.
constexpr float kBoldest = 0.05F;

}  // namespace

Solution Optimise(const std::vector<Sample>& samples, std::size_t columns, std::size_t classes,
                  const FitOptions& options, const Solution& from) {
  const unsigned threads = options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  Problem problem(samples, columns, classes, threads);
  std::vector<float> curvatures = problem.Curvatures();
  for (float& curvature : curvatures) curvature = std::max(curvature, kLeastCurvature);
  Solution now = from;
  now.weights.resize(columns * classes);
  now.priors.resize(classes);
  Solution ahead = now;
  Solution gradient = now;
  double momentum = 1;
  double last_loss = std::numeric_limits<double>::infinity();
  // The bounds are far from reached where most samples are already sure: longer steps are tried first.
  float caution = kBoldest;
  for (int round = 0; round < options.rounds; ++round) {
    const double loss = problem.GradientAt(ahead, gradient);
    if (options.progress) options.progress(round, loss);
    const double next = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    // A loss that rises shows that the steps or their momentum carry past the goal.
    const bool overshot = loss > last_loss;
    if (overshot) caution = std::min(1.0F, caution * 1.3F);
    const auto carry = overshot ? 0.0F : static_cast<float>((momentum - 1) / next);
    momentum = overshot ? 1 : next;
    last_loss = loss;
    for (std::size_t column = 0; column < columns; ++column) {
      const float step = 1 / (caution * curvatures[column]);
      for (std::size_t j = column * classes; j < (column + 1) * classes; ++j) {
        const float moved = Shrink(ahead.weights[j] - step * gradient.weights[j], step, options);
        ahead.weights[j] = moved + carry * (moved - now.weights[j]);
        now.weights[j] = moved;
      }
    }
    for (std::size_t k = 0; k < classes; ++k) {
      const float moved = ahead.priors[k] - gradient.priors[k] / (caution * curvatures[columns]);
      ahead.priors[k] = moved + carry * (moved - now.priors[k]);
      now.priors[k] = moved;
    }
  }
  return now;
}

}  // namespace vigil::fit
