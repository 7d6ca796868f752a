// Compiled once for every instruction set that Highway knows, by including itself; the best one is taken at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gym/kernels.cc"  // NOLINT(cppcoreguidelines-macro-usage)
#include <hwy/foreach_target.h>
// Highway wants its own order: above, what includes this file again.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "gym/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace vigil::gym::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kLane>;

// Rows that are computed together: as many as the accumulators leave registers for.
constexpr std::size_t kRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

// kHeight rows by kVectors vectors of C, held in registers while `inner` runs.
template <std::size_t kHeight, std::size_t kVectors>
HWY_INLINE void Block(std::size_t inner, const View& a, const float* HWY_RESTRICT b, std::size_t b_stride,
                      float* HWY_RESTRICT c, std::size_t c_stride, bool add) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<Floats> sums[kHeight][kVectors];
  for (std::size_t r = 0; r < kHeight; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const float* HWY_RESTRICT at = a.data;
  for (std::size_t k = 0; k < inner; ++k, at += a.column_stride, b += b_stride) {
    hn::Vec<Floats> row[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + v * lanes);
    for (std::size_t r = 0; r < kHeight; ++r) {
      const auto factor = hn::Set(d, at[r * a.row_stride]);
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(factor, row[v], sums[r][v]);
    }
  }
  for (std::size_t r = 0; r < kHeight; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* const to = c + r * c_stride + v * lanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sums[r][v]) : sums[r][v], d, to);
    }
  }
}

template <std::size_t kHeight>
HWY_INLINE void Strip(std::size_t columns, std::size_t inner, const View& a, const float* b, std::size_t b_stride,
                      float* c, std::size_t c_stride, bool add) {
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t column = 0;
  for (; column + 2 * lanes <= columns; column += 2 * lanes) {
    Block<kHeight, 2>(inner, a, b + column, b_stride, c + column, c_stride, add);
  }
  for (; column < columns; column += lanes) {
    Block<kHeight, 1>(inner, a, b + column, b_stride, c + column, c_stride, add);
  }
}

void MultiplyTile(std::size_t rows, std::size_t columns, std::size_t inner, const View& a, const View& b, float* c,
                  std::size_t c_stride, bool add) {
  View strip = a;
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows, strip.data += kRows * a.row_stride) {
    Strip<kRows>(columns, inner, strip, b.data, b.row_stride, c + row * c_stride, c_stride, add);
  }
  for (; row < rows; ++row, strip.data += a.row_stride) {
    Strip<1>(columns, inner, strip, b.data, b.row_stride, c + row * c_stride, c_stride, add);
  }
}

void Exponentiate(float* values, std::size_t count, float shift) {
  const Floats d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Exp(d, hn::Sub(hn::LoadU(d, values + i), hn::Set(d, shift))), d, values + i);
  }
}

// tanh(sqrt(2/pi) (x + 0.044715 x^3))
template <class D, class V>
HWY_INLINE V GeluTanh(D d, V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  return hn::Tanh(d, hn::Mul(hn::Set(d, 0.7978845608F), hn::MulAdd(hn::Set(d, 0.044715F), cube, x)));
}

void Gelu(const float* in, float* out, std::size_t count) {
  const Floats d;
  const auto one = hn::Set(d, 1.0F);
  const auto half = hn::Set(d, 0.5F);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, in + i);
    hn::StoreU(hn::Mul(hn::Mul(half, x), hn::Add(one, GeluTanh(d, x))), d, out + i);
  }
}

void GeluBackward(const float* in, float* gradient, std::size_t count) {
  const Floats d;
  const auto one = hn::Set(d, 1.0F);
  const auto half = hn::Set(d, 0.5F);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, in + i);
    const auto t = GeluTanh(d, x);
    const auto inner = hn::MulAdd(hn::Set(d, 3 * 0.044715F), hn::Mul(x, x), one);
    const auto slope = hn::Mul(hn::Mul(hn::Set(d, 0.7978845608F), inner), hn::NegMulAdd(t, t, one));
    const auto derivative = hn::Mul(half, hn::Add(hn::Add(one, t), hn::Mul(x, slope)));
    hn::StoreU(hn::Mul(hn::LoadU(d, gradient + i), derivative), d, gradient + i);
  }
}

double AdamUpdate(const AdamStep& step, std::size_t count, const float* gradient, float* weight, float* first,
                  float* second) {
  const Floats d;
  double squares = 0;
  HWY_ALIGN float change[kLane];
  for (std::size_t i = 0; i < count; i += kLane) {
    for (std::size_t lane = 0; lane < kLane; lane += hn::Lanes(d)) {
      const std::size_t at = i + lane;
      const auto g = hn::Mul(hn::LoadU(d, gradient + at), hn::Set(d, step.scale));
      const auto m =
          hn::MulAdd(hn::Set(d, 1 - step.beta1), g, hn::Mul(hn::Set(d, step.beta1), hn::LoadU(d, first + at)));
      const auto v = hn::MulAdd(hn::Set(d, 1 - step.beta2), hn::Mul(g, g),
                                hn::Mul(hn::Set(d, step.beta2), hn::LoadU(d, second + at)));
      const auto root = hn::Add(hn::Sqrt(hn::Mul(v, hn::Set(d, step.correction))), hn::Set(d, step.epsilon));
      const auto w = hn::LoadU(d, weight + at);
      const auto moved = hn::MulAdd(hn::Set(d, step.decay), w, hn::Mul(hn::Set(d, step.rate), hn::Div(m, root)));
      hn::StoreU(m, d, first + at);
      hn::StoreU(v, d, second + at);
      hn::StoreU(hn::Sub(w, moved), d, weight + at);
      hn::StoreU(moved, d, change + lane);
    }
    for (const float value : change) squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return squares;
}

}  // namespace vigil::gym::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vigil::gym {

HWY_EXPORT(MultiplyTile);
HWY_EXPORT(Exponentiate);
HWY_EXPORT(Gelu);
HWY_EXPORT(GeluBackward);
HWY_EXPORT(AdamUpdate);

void MultiplyTile(std::size_t rows, std::size_t columns, std::size_t inner, const View& a, const View& b, float* c,
                  std::size_t c_stride, bool add) {
  HWY_DYNAMIC_DISPATCH(MultiplyTile)(rows, columns, inner, a, b, c, c_stride, add);
}

void Exponentiate(float* values, std::size_t count, float shift) {
  HWY_DYNAMIC_DISPATCH(Exponentiate)(values, count, shift);
}

void Gelu(const float* in, float* out, std::size_t count) { HWY_DYNAMIC_DISPATCH(Gelu)(in, out, count); }

void GeluBackward(const float* in, float* gradient, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(GeluBackward)(in, gradient, count);
}

double AdamUpdate(const AdamStep& step, std::size_t count, const float* gradient, float* weight, float* first,
                  float* second) {
  return HWY_DYNAMIC_DISPATCH(AdamUpdate)(step, count, gradient, weight, first, second);
}

}  // namespace vigil::gym
#endif  // HWY_ONCE
