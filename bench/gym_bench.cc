// A training step of the gym (forward, backward, AdamW) on one thread against its floor: OpenBLAS on one thread doing
// the products of matrices of the same shapes and nothing else.
#include <dlfcn.h>

#include <cmath>
#include <vector>

#include "gym/data.h"
#include "gym/optimizer.h"
#include "platform/process.h"
#include "support.h"

namespace vigil::bench {
namespace {

// OpenBLAS as it lies on this machine, loaded when it is there: a benchmark without its floor still checks its step.
class Blas {
 public:
  Blas() : library_(::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    multiply_ = reinterpret_cast<Multiply*>(::dlsym(library_, "cblas_sgemm"));
    if (auto* const set_threads = reinterpret_cast<void (*)(int)>(::dlsym(library_, "openblas_set_num_threads")))
      set_threads(1);
  }
  ~Blas() {
    if (library_ != nullptr) ::dlclose(library_);
  }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  bool is_there() const { return multiply_ != nullptr; }
  // C (m x n) = A (m x k) B (k x n), rows one behind the other; `a_turned` and `b_turned`: as their transposes lie.
  void Product(int m, int n, int k, const float* a, bool a_turned, const float* b, bool b_turned, float* c) const {
    constexpr int kRowMajor = 101;
    constexpr int kAsItIs = 111;
    constexpr int kTransposed = 112;
    multiply_(kRowMajor, a_turned ? kTransposed : kAsItIs, b_turned ? kTransposed : kAsItIs, m, n, k, 1, a,
              a_turned ? m : k, b, b_turned ? k : n, 0, c, n);
  }

 private:
  using Multiply = void(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  void* library_;
  Multiply* multiply_ = nullptr;
};

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
void MultiplyByBlas(const Blas& blas, const Product& p, const std::vector<float>& a, const std::vector<float>& b,
                    std::vector<float>& c, std::vector<float>& d) {
  const int m = static_cast<int>(p.m);
  const int n = static_cast<int>(p.n);
  const int k = static_cast<int>(p.k);
  blas.Product(m, n, k, a.data(), false, b.data(), false, c.data());
  blas.Product(m, k, n, c.data(), false, b.data(), true, d.data());
  blas.Product(k, n, m, a.data(), true, c.data(), false, d.data());
}

double BlasSeconds(Bench& bench, const Blas& blas, const std::vector<Product>& products) {
  std::size_t most = 0;
  for (const Product& p : products) most = std::max({most, p.m * p.n, p.m * p.k, p.n * p.k});
  const std::vector<float> a(most, 1e-3F);
  const std::vector<float> b(most, 1e-3F);
  std::vector<float> c(most);
  std::vector<float> d(most);
  const double seconds = BestSeconds(bench.Repeats(20), [&] {
    for (const Product& p : products) {
      for (std::size_t i = 0; i < p.times; ++i) MultiplyByBlas(blas, p, a, b, c, d);
    }
  });
  const auto product = static_cast<float>(products.back().k) * 1e-6F;
  bench.Check(std::abs(c[0] - product) < 1e-3F * product, "OpenBLAS multiplied to {}, not {}", c[0], product);
  return seconds;
}

void Measure(Bench& bench, const Blas& blas, const gym::ModelShape& asked, std::size_t samples) {
  gym::Options options;
  options.shape = asked;
  options.batch = static_cast<std::int64_t>(samples);
  const auto corpus = gym::LoadCorpus("", asked.context);
  bench.Check(corpus.has_value(), "the text to train on could not be read");
  if (!corpus) return;
  options.shape.vocabulary = corpus->vocabulary;
  platform::ThreadPool pool(1);
  gym::Model model(options.shape, samples, 1, pool);
  gym::AdamW adam(model, 0.01);
  gym::Loader loader(*corpus, options);
  const gym::Batch batch = loader.Next(0, 1);
  double loss = 0;
  const double untrained = model.Forward(batch);
  const double step = BestSeconds(bench.Repeats(20), [&] {
    std::fill(model.gradients().begin(), model.gradients().end(), 0.0F);
    loss = model.Forward(batch);
    model.Backward(batch, 1);
    adam.Step(model, pool, 1e-4, 1);
  });
  const double trained = model.Forward(batch);
  bench.Check(trained < untrained, "training on one batch left its loss at {}, {} before", trained, untrained);
  const std::vector<Product> products = ProductsOf(options.shape, samples);
  const auto tokens = static_cast<double>(samples) * asked.context;
  bench.Print("{} layers, width {}, context {}, {} samples, {} parameters (loss {:.3f})\n", asked.layers, asked.width,
              asked.context, samples, FormatCount(model.weights().size()), loss);
  bench.Print("  {:<44} {:>9.0f} tokens/s {:>8.1f} GFLOP/s\n", "a step", tokens / step,
              Operations(products) * 1e-9 / step);
  if (!blas.is_there()) return;
  const double floor = BlasSeconds(bench, blas, products);
  bench.Print("  {:<44} {:>9.0f} tokens/s {:>8.1f} GFLOP/s\n", "its products alone, by OpenBLAS", tokens / floor,
              Operations(products) * 1e-9 / floor);
  bench.Print("  a step takes {:.2f} times its floor\n", step / floor);
}

void Main(Bench& bench) {
  const Blas blas;
  if (!blas.is_there()) Bench::NotRun("OpenBLAS", "libopenblas.so.0 is not on this machine");
  Measure(bench, blas, {2, 32, 2, 32, 0}, 8);
  if (bench.is_short()) return;
  Measure(bench, blas, {4, 64, 4, 64, 0}, 8);
  Measure(bench, blas, {6, 192, 6, 128, 0}, 8);
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
