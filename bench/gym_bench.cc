// A training step of the gym (forward, backward, AdamW) on one thread against its floor: OpenBLAS on one thread doing
// the products of matrices of the same shapes and nothing else.
#include <cblas.h>

#include <vector>

#include "gym/data.h"
#include "gym/optimizer.h"
#include "platform/process.h"
#include "support.h"

namespace vigil::bench {
namespace {

extern "C" void openblas_set_num_threads(int threads);

// C (m x n) = A (m x k) B (k x n), once in the way forward and twice, with the same number of operations, back.
struct Product {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  std::size_t times = 1;
};

std::vector<Product> ProductsOf(const gym::ModelShape& shape, std::size_t samples) {
  const auto width = static_cast<std::size_t>(shape.width);
  const auto context = static_cast<std::size_t>(shape.context);
  const auto layers = static_cast<std::size_t>(shape.layers);
  const std::size_t rows = samples * context;
  const std::size_t heads = samples * static_cast<std::size_t>(shape.heads);
  const std::size_t head_width = width / static_cast<std::size_t>(shape.heads);
  return {{rows, 3 * width, width, layers},
          {rows, width, width, layers},
          {rows, 4 * width, width, layers},
          {rows, width, 4 * width, layers},
          {context, context, head_width, layers * heads},
          {context, head_width, context, layers * heads},
          {rows, static_cast<std::size_t>(shape.vocabulary), width, 1}};
}

double Operations(const std::vector<Product>& products) {
  double sum = 0;
  for (const Product& p : products) sum += 3 * 2.0 * static_cast<double>(p.m * p.n * p.k * p.times);
  return sum;
}

// C = A B, then the gradients: dA = dC B^T and dB = A^T dC.
void MultiplyByBlas(const Product& p, const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c,
                    std::vector<float>& d) {
  const int m = static_cast<int>(p.m);
  const int n = static_cast<int>(p.n);
  const int k = static_cast<int>(p.k);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.data(), k, b.data(), n, 0, c.data(), n);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, n, 1, c.data(), n, b.data(), n, 0, d.data(), k);
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, n, m, 1, a.data(), k, c.data(), n, 0, d.data(), n);
}

double BlasSeconds(const std::vector<Product>& products) {
  std::size_t most = 0;
  for (const Product& p : products) most = std::max({most, p.m * p.n, p.m * p.k, p.n * p.k});
  const std::vector<float> a(most, 1e-3F);
  const std::vector<float> b(most, 1e-3F);
  std::vector<float> c(most);
  std::vector<float> d(most);
  return BestSeconds(20, [&] {
    for (const Product& p : products) {
      for (std::size_t i = 0; i < p.times; ++i) MultiplyByBlas(p, a, b, c, d);
    }
  });
}

void Measure(const gym::ModelShape& asked, std::size_t samples) {
  gym::Options options;
  options.shape = asked;
  options.batch = static_cast<std::int64_t>(samples);
  const auto corpus = gym::LoadCorpus("", asked.context);
  if (!corpus) return;
  options.shape.vocabulary = corpus->vocabulary;
  platform::ThreadPool pool(1);
  gym::Model model(options.shape, samples, 1, pool);
  gym::AdamW adam(model, 0.01);
  gym::Loader loader(*corpus, options);
  const gym::Batch batch = loader.Next(0, 1);
  double loss = 0;
  const double step = BestSeconds(20, [&] {
    std::fill(model.gradients().begin(), model.gradients().end(), 0.0F);
    loss = model.Forward(batch);
    model.Backward(batch, 1);
    adam.Step(model, pool, 1e-4, 1);
  });
  const std::vector<Product> products = ProductsOf(options.shape, samples);
  const double floor = BlasSeconds(products);
  const auto tokens = static_cast<double>(samples) * asked.context;
  fmt::print("{} layers, width {}, context {}, {} samples, {} parameters (loss {:.3f})\n", asked.layers, asked.width,
             asked.context, samples, FormatCount(model.weights().size()), loss);
  fmt::print("  {:<44} {:>9.0f} tokens/s {:>8.1f} GFLOP/s\n", "a step", tokens / step,
             Operations(products) * 1e-9 / step);
  fmt::print("  {:<44} {:>9.0f} tokens/s {:>8.1f} GFLOP/s\n", "its products alone, by OpenBLAS", tokens / floor,
             Operations(products) * 1e-9 / floor);
  fmt::print("  a step takes {:.2f} times its floor\n", step / floor);
}

int Main() {
  openblas_set_num_threads(1);
  Measure({2, 32, 2, 32, 0}, 8);
  Measure({4, 64, 4, 64, 0}, 8);
  Measure({6, 192, 6, 128, 0}, 8);
  return 0;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
