// The arithmetic: products against plain loops, gradients against differences of the loss, bits against threads.
#include "gym/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "gym/optimizer.h"
#include "platform/process.h"
#include "support.h"

namespace vigil::gym {
namespace {

using platform::ThreadPool;

constexpr ModelShape kShape = {2, 32, 2, 16, 32};

std::vector<float> Normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

TEST(Kernels, MultiplyAsPlainLoopsDo) {
  ThreadPool pool(1);
  for (const std::size_t rows : {1U, 3U, 16U, 37U, 300U}) {
    for (const std::size_t columns : {16U, 48U, 64U}) {
      const std::size_t inner = 20;
      const auto a = Normals(rows * inner, 1);
      const auto b = Normals(inner * columns, 2);
      auto c = Normals(rows * columns, 3);
      const auto before = c;
      Multiply(pool, rows, columns, inner, {a.data(), inner, 1}, b.data(), c.data(), true);
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t j = 0; j < columns; ++j) {
          double sum = before[r * columns + j];
          for (std::size_t k = 0; k < inner; ++k) sum += double{a[r * inner + k]} * double{b[k * columns + j]};
          ASSERT_NEAR(c[r * columns + j], sum, 1e-4) << rows << " x " << columns << " at " << r << ", " << j;
        }
      }
    }
  }
}

TEST(Kernels, MultiplyTransposedViews) {
  ThreadPool pool(1);
  const std::size_t rows = 32, columns = 16, inner = 24;
  const auto a = Normals(inner * rows, 1);  // stored inner x rows
  const auto b = Normals(inner * columns, 2);
  std::vector<float> c(rows * columns);
  Multiply(pool, rows, columns, inner, {a.data(), 1, rows}, b.data(), c.data(), false);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < inner; ++k) sum += double{a[k * rows + r]} * double{b[k * columns + j]};
      ASSERT_NEAR(c[r * columns + j], sum, 1e-4);
    }
  }
}

TEST(Kernels, GeluIsThatOfTheTanhApproximation) {
  const auto x = Normals(64, 4);
  std::vector<float> y(64);
  Gelu(x.data(), y.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    EXPECT_NEAR(y[i], 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))), 1e-5);
  }
}

// Moves the weights of one tensor by `by` along `direction` and returns the loss.
double LossMoved(Model& model, const Batch& batch, const Tensor& tensor, const std::vector<double>& direction,
                 double by) {
  std::vector<float> kept(model.weights().begin(), model.weights().end());
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    model.weights()[tensor.offset + i] += static_cast<float>(by * direction[i]);
  }
  const double loss = model.Forward(batch);
  std::copy(kept.begin(), kept.end(), model.weights().begin());
  return loss;
}

double Slope(Model& model, const Batch& batch, const Tensor& tensor, const std::vector<double>& direction) {
  constexpr double kBy = 0.02;
  return (LossMoved(model, batch, tensor, direction, kBy) - LossMoved(model, batch, tensor, direction, -kBy)) /
         (2 * kBy);
}

// Weights far from the small ones of a start, so that every path carries a gradient that differences can measure.
void Stir(Model& model) {
  Random random(9);
  for (float& weight : model.weights()) weight += static_cast<float>(0.15 * random.Normal());
}

// Where the norms stand changes the way back.
class Gradients : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Norms, Gradients, testing::Bool(),
                         [](const auto& post) { return post.param ? "behind" : "before"; });

TEST_P(Gradients, AreTheSlopesOfTheLoss) {
  ThreadPool pool(2);
  ModelShape shape = kShape;
  shape.post_norm = GetParam();
  Model model(shape, 2, 7, pool);
  Stir(model);
  Batch batch = RandomBatch(kShape, 2, 5);
  batch.weights = {0.5F, 2.0F};
  static_cast<void>(model.Forward(batch));
  model.Backward(batch, 1);
  const std::vector<float> gradients(model.gradients().begin(), model.gradients().end());
  for (const Tensor& tensor : model.tensors()) {
    // Along the gradient itself the slope is its norm; along a random direction it is the product of both.
    std::vector<double> along(tensor.size());
    std::vector<double> across(tensor.size());
    double norm = 0;
    double across_norm = 0;
    Random random(3);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      along[i] = gradients[tensor.offset + i];
      across[i] = random.Normal() + along[i];
      norm += along[i] * along[i];
      across_norm += across[i] * across[i];
    }
    norm = std::sqrt(norm);
    across_norm = std::sqrt(across_norm);
    double expected = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      across[i] /= across_norm;
      expected += across[i] * along[i];
      along[i] /= norm;
    }
    ASSERT_GT(norm, 1e-3) << tensor.name;
    EXPECT_NEAR(Slope(model, batch, tensor, along), norm, 0.01 * norm) << tensor.name;
    EXPECT_NEAR(Slope(model, batch, tensor, across), expected, 0.01 * norm) << tensor.name;
  }
}

TEST(Model, TheGateOfALayerIsInItsGradientToo) {
  ThreadPool pool(1);
  Model model(kShape, 2, 7, pool);
  Stir(model);
  model.set_gate(0.6F);
  const Batch batch = RandomBatch(kShape, 2, 5);
  static_cast<void>(model.Forward(batch));
  model.Backward(batch, 1);
  const Tensor& tensor = model.tensors()[2 + 6 + 4];  // mlp.up of the gated block
  ASSERT_EQ(tensor.name, "blocks.1.mlp.up");
  std::vector<double> along(tensor.size());
  const double norm = std::sqrt(SumOfSquares(model.PartOf(model.gradients(), tensor)));
  for (std::size_t i = 0; i < tensor.size(); ++i) along[i] = model.gradients()[tensor.offset + i] / norm;
  EXPECT_NEAR(Slope(model, batch, tensor, along), norm, 0.01 * norm);
}

TEST(Model, ThreadsChangeNoBit) {
  const Batch batch = RandomBatch(kShape, 3, 11);
  std::vector<std::vector<float>> gradients;
  std::vector<double> losses;
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    Model model(kShape, 3, 7, pool);
    losses.push_back(model.Forward(batch));
    model.Backward(batch, 1);
    gradients.emplace_back(model.gradients().begin(), model.gradients().end());
  }
  for (std::size_t i = 1; i < gradients.size(); ++i) {
    EXPECT_EQ(losses[i], losses[0]);
    EXPECT_EQ(gradients[i], gradients[0]);
  }
}

TEST(Model, LooksOnlyBack) {
  ThreadPool pool(1);
  Model model(kShape, 1, 7, pool);
  Stir(model);
  Batch batch = RandomBatch(kShape, 1, 5);
  static_cast<void>(model.Forward(batch));
  const std::size_t width = 32;
  const std::vector<float> before(model.OutputOf(1).begin(), model.OutputOf(1).end());
  batch.inputs[10] = (batch.inputs[10] + 1) % kShape.vocabulary;
  static_cast<void>(model.Forward(batch));
  const std::span<const float> after = model.OutputOf(1);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 10 * width, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 10 * width, before.end(), after.begin() + 10 * width));
}

TEST(Model, BeginsAtTheLogarithmOfTheVocabulary) {
  ThreadPool pool(1);
  Model model(kShape, 4, 7, pool);
  EXPECT_NEAR(model.Forward(RandomBatch(kShape, 4, 5)), std::log(32.0), 0.1);
}

TEST(Model, ANanInAWeightReachesTheLoss) {
  ThreadPool pool(1);
  const Batch batch = RandomBatch(kShape, 2, 5);
  for (std::size_t i = 2; i < 8; ++i) {
    Model model(kShape, 2, 7, pool);
    model.weights()[model.tensors()[i].offset] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(model.Forward(batch))) << model.tensors()[i].name;
  }
}

TEST(Model, NamesATokenThatItDoesNotHave) {
  ThreadPool pool(1);
  Model model(kShape, 2, 7, pool);
  Batch batch = RandomBatch(kShape, 2, 5);
  EXPECT_EQ(model.FindBadToken(batch), "");
  batch.inputs[16 + 3] = 32;
  EXPECT_EQ(model.FindBadToken(batch),
            "token id 32 at position 3 of sample 1 is out of range: the vocabulary has 32 entries");
  batch.inputs[16 + 3] = 0;
  batch.targets[2] = -1;
  EXPECT_THAT(model.FindBadToken(batch), testing::HasSubstr("token id -1 at position 2 of sample 0"));
}

TEST(AdamW, MovesAsTheFormulaSays) {
  ThreadPool pool(1);
  Model model({1, 16, 1, 16, 16}, 1, 3, pool);
  AdamW adam(model, 0.1);
  const std::size_t at = model.tensors()[3].offset + 5;  // a matrix, which decays
  double weight = model.weights()[at], first = 0, second = 0;
  for (int step = 1; step <= 3; ++step) {
    const double gradient = 0.3 * step;
    std::fill(model.gradients().begin(), model.gradients().end(), static_cast<float>(gradient));
    adam.Step(model, pool, 0.01, 0.5);
    first = 0.9 * first + 0.1 * 0.5 * gradient;
    second = 0.95 * second + 0.05 * 0.25 * gradient * gradient;
    weight -= 0.01 * 0.1 * weight;
    weight -= 0.01 * first / (1 - std::pow(0.9, step)) / (std::sqrt(second / (1 - std::pow(0.95, step))) + 1e-8);
    EXPECT_NEAR(model.weights()[at], weight, 1e-6);
  }
}

TEST(Schedule, WarmsUpAndFallsToATenth) {
  EXPECT_DOUBLE_EQ(RateAt(1, 100, 10, 1.0), 0.1);
  EXPECT_DOUBLE_EQ(RateAt(10, 100, 10, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(RateAt(55, 100, 10, 1.0), 0.55);
  EXPECT_DOUBLE_EQ(RateAt(100, 100, 10, 1.0), 0.1);
  EXPECT_NEAR(RateAt(1, 100, 0, 1.0), 1.0, 1e-3);
}

}  // namespace
}  // namespace vigil::gym
