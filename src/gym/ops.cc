#include "gym/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace vigil::gym {
namespace {

constexpr float kNormEpsilon = 1e-5F;

// Sums in kLane strands, joined in a fixed order: fast, and the same bits on every machine.
template <class Term>
float Sum(std::size_t count, const Term& term) {
  float strands[kLane] = {};
  for (std::size_t i = 0; i < count; i += kLane) {
    for (std::size_t lane = 0; lane < kLane; ++lane) strands[lane] += term(i + lane);
  }
  float sum = 0;
  for (const float strand : strands) sum += strand;
  return sum;
}

// The largest value; NaN when there is one, so that it cannot get lost behind exp().
float Largest(const float* values, std::size_t count) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] > largest || std::isnan(values[i])) largest = values[i];
  }
  return largest;
}

// exp(v - largest) in place; returns the sum and the largest.
std::pair<float, float> SoftmaxNumerators(float* values, std::size_t count) {
  const float largest = Largest(values, count);
  Exponentiate(values, count, largest);
  return {Sum(count, [&](std::size_t i) { return values[i]; }), largest};
}

void SoftmaxCausal(float* row, std::size_t position, std::size_t context, float scale) {
  for (std::size_t j = 0; j <= position; ++j) row[j] *= scale;
  for (std::size_t j = position + 1; j < context; ++j) row[j] = -std::numeric_limits<float>::infinity();
  const float inverse = 1 / SoftmaxNumerators(row, context).first;
  for (std::size_t j = 0; j < context; ++j) row[j] *= inverse;
}

// One head of one sample: where its query, key and value stand.
struct Head {
  std::size_t from = 0;    // of its query in qkv
  std::size_t out = 0;     // of its first row in the output
  std::size_t shares = 0;  // of its square of shares
  std::size_t stride = 0;  // of qkv
  std::size_t width = 0;   // of all heads: stride of the output, and from query to key to value
  float scale = 1;
};

Head HeadOf(const AttentionShape& shape, std::size_t piece) {
  const std::size_t sample = piece / shape.heads;
  const std::size_t head = piece % shape.heads;
  Head made;
  made.width = shape.width();
  made.stride = 3 * made.width;
  made.from = sample * shape.context * made.stride + head * shape.head_width;
  made.out = sample * shape.context * made.width + head * shape.head_width;
  made.shares = piece * shape.context * shape.context;
  made.scale = 1 / std::sqrt(static_cast<float>(shape.head_width));
  return made;
}

// From the gradient of the shares to that of the scores, in place.
void SoftmaxBackward(std::size_t context, const float* shares, float* gradient, float scale) {
  for (std::size_t i = 0; i < context; ++i) {
    const float* const p = shares + i * context;
    float* const g = gradient + i * context;
    const float mean = Sum(context, [&](std::size_t j) { return p[j] * g[j]; });
    for (std::size_t j = 0; j < context; ++j) g[j] = p[j] * (g[j] - mean) * scale;
  }
}

}  // namespace

void Multiply(ThreadPool& pool, std::size_t rows, std::size_t columns, std::size_t inner, const View& a, const float* b,
              float* c, bool add) {
  // Few rows (gradients of weights) are cut finer, so that every thread has some.
  const std::size_t rows_of_piece = rows >= 8 * kRowsOfPiece ? kRowsOfPiece : kLane;
  ForRows(pool, rows, rows_of_piece, [&](std::size_t from, std::size_t to) {
    View part = a;
    part.data += from * a.row_stride;
    MultiplyTile(to - from, columns, inner, part, {b, columns}, c + from * columns, columns, add);
  });
}

void Transpose(std::size_t rows, std::size_t columns, const float* from, std::size_t from_stride, float* to) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * from_stride + c];
  }
}

void NormForward(ThreadPool& pool, std::size_t rows, std::size_t width, const float* in, const float* gain,
                 const Normalised& kept, float* out) {
  const float share = 1 / static_cast<float>(width);
  ForRows(pool, rows, kRowsOfPiece, [&](std::size_t first, std::size_t last) {
    for (std::size_t r = first; r < last; ++r) {
      const float* const x = in + r * width;
      float* const n = kept.normal + r * width;
      const float mean = Sum(width, [&](std::size_t i) { return x[i]; }) * share;
      const float variance = Sum(width, [&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); }) * share;
      kept.inverse[r] = 1 / std::sqrt(variance + kNormEpsilon);
      for (std::size_t i = 0; i < width; ++i) n[i] = (x[i] - mean) * kept.inverse[r];
      for (std::size_t i = 0; i < width; ++i) out[r * width + i] = n[i] * gain[i];
    }
  });
}

void NormBackward(ThreadPool& pool, std::size_t rows, std::size_t width, const float* d_out, const float* gain,
                  const Normalised& kept, float* d_in, float* d_gain) {
  const float share = 1 / static_cast<float>(width);
  ForRows(pool, rows, kRowsOfPiece, [&](std::size_t first, std::size_t last) {
    for (std::size_t r = first; r < last; ++r) {
      const float* const d = d_out + r * width;
      const float* const n = kept.normal + r * width;
      const float mean = Sum(width, [&](std::size_t i) { return d[i] * gain[i]; }) * share;
      const float along = Sum(width, [&](std::size_t i) { return d[i] * gain[i] * n[i]; }) * share;
      float* const to = d_in + r * width;
      for (std::size_t i = 0; i < width; ++i) to[i] += (d[i] * gain[i] - mean - n[i] * along) * kept.inverse[r];
    }
  });
  ForRows(pool, width, kLane, [&](std::size_t first, std::size_t last) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = first; i < last; ++i) d_gain[i] += d_out[r * width + i] * kept.normal[r * width + i];
    }
  });
}

void AttentionForward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, float* shares, float* out) {
  const std::size_t context = shape.context;
  pool.Run(shape.samples * shape.heads, [&](std::size_t piece) {
    const Head head = HeadOf(shape, piece);
    const float* const query = qkv + head.from;
    float* const p = shares + head.shares;
    std::vector<float> key_columns(context * shape.head_width);
    Transpose(context, shape.head_width, query + head.width, head.stride, key_columns.data());
    MultiplyTile(context, context, shape.head_width, {query, head.stride, 1}, {key_columns.data(), context}, p, context,
                 false);
    for (std::size_t i = 0; i < context; ++i) SoftmaxCausal(p + i * context, i, context, head.scale);
    MultiplyTile(context, shape.head_width, context, {p, context, 1}, {query + 2 * head.width, head.stride},
                 out + head.out, head.width, false);
  });
}

void AttentionBackward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, const float* shares,
                       const float* d_out, float* d_qkv) {
  const std::size_t context = shape.context;
  pool.Run(shape.samples * shape.heads, [&](std::size_t piece) {
    const Head head = HeadOf(shape, piece);
    const float* const query = qkv + head.from;
    const float* const key = query + head.width;
    const float* const p = shares + head.shares;
    const float* const d_rows = d_out + head.out;
    float* const d_query = d_qkv + head.from;
    std::vector<float> value_columns(context * shape.head_width);
    std::vector<float> d_scores(context * context);
    Transpose(context, shape.head_width, query + 2 * head.width, head.stride, value_columns.data());
    MultiplyTile(context, context, shape.head_width, {d_rows, head.width, 1}, {value_columns.data(), context},
                 d_scores.data(), context, false);
    SoftmaxBackward(context, p, d_scores.data(), head.scale);
    // The second view of each square is its transpose.
    MultiplyTile(context, shape.head_width, context, {p, 1, context}, {d_rows, head.width}, d_query + 2 * head.width,
                 head.stride, false);
    MultiplyTile(context, shape.head_width, context, {d_scores.data(), context, 1}, {key, head.stride}, d_query,
                 head.stride, false);
    MultiplyTile(context, shape.head_width, context, {d_scores.data(), 1, context}, {query, head.stride},
                 d_query + head.width, head.stride, false);
  });
}

void CrossEntropy(ThreadPool& pool, std::size_t rows, std::size_t classes, std::span<const std::int32_t> targets,
                  float* logits, double* losses) {
  ForRows(pool, rows, kRowsOfPiece, [&](std::size_t first, std::size_t last) {
    for (std::size_t r = first; r < last; ++r) {
      float* const row = logits + r * classes;
      const auto target = static_cast<double>(row[targets[r]]);
      const auto [sum, largest] = SoftmaxNumerators(row, classes);
      losses[r] = std::log(static_cast<double>(sum)) + static_cast<double>(largest) - target;
      const float inverse = 1 / sum;
      for (std::size_t i = 0; i < classes; ++i) row[i] *= inverse;
    }
  });
}

double SumOfSquares(std::span<const float> values) {
  double strands[kLane] = {};
  std::size_t i = 0;
  for (; i + kLane <= values.size(); i += kLane) {
    for (std::size_t lane = 0; lane < kLane; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      strands[lane] += value * value;
    }
  }
  for (; i < values.size(); ++i) strands[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double sum = 0;
  for (const double strand : strands) sum += strand;
  return sum;
}

}  // namespace vigil::gym
