// The inner loops that decide the speed, in the widest vectors that the processor has (Highway). Every sum has a fixed
// order that neither threads nor vector widths change, so the bits are the same on every machine with fused
// multiply-add.
#pragma once

#include <cstddef>

namespace vigil::gym {

// All widths are multiples of this, so that no kernel has a remainder to treat.
inline constexpr std::size_t kLane = 16;

// Where element (row, column) of a matrix stands: data[row * row_stride + column * column_stride].
struct View {
  const float* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t column_stride = 1;
};

// C = A B, or C += A B. C and B are stored by rows, `columns` is a multiple of kLane, A may be a transposed view.
void MultiplyTile(std::size_t rows, std::size_t columns, std::size_t inner, const View& a, const View& b, float* c,
                  std::size_t c_stride, bool add);

// Each in place, `count` a multiple of kLane.
void Exponentiate(float* values, std::size_t count, float shift);  // exp(v - shift)
// GELU with the tanh approximation; `out` and `in` may be the same.
void Gelu(const float* in, float* out, std::size_t count);
// Multiplies `gradient` by the derivative of GELU at `in`.
void GeluBackward(const float* in, float* gradient, std::size_t count);

// One AdamW step on a tensor; `rate` holds the bias correction of the first moment, `correction` of the second.
struct AdamStep {
  float rate = 0;
  float decay = 0;  // learning rate times weight decay
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float correction = 1;
  float epsilon = 1e-8F;
  float scale = 1;  // of the gradient: clipping
};
// Returns the squared norm of what was added to the weights. `count` is a multiple of kLane.
double AdamUpdate(const AdamStep& step, std::size_t count, const float* gradient, float* weight, float* first,
                  float* second);

}  // namespace vigil::gym
