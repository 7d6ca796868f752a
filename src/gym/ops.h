// The layers of a GPT as functions on rows of floats, forward and backward. Work is cut into pieces whose size does not
// depend on the number of threads, and each number is summed inside one piece: any pool gives the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gym/kernels.h"
#include "platform/process.h"

namespace vigil::gym {

using platform::ThreadPool;

inline constexpr std::size_t kRowsOfPiece = 32;

// Calls `work` with the first and the last row (excluded) of each piece.
template <class Work>
void ForRows(ThreadPool& pool, std::size_t rows, std::size_t rows_of_piece, const Work& work) {
  const std::size_t pieces = (rows + rows_of_piece - 1) / rows_of_piece;
  pool.Run(pieces,
           [&](std::size_t piece) { work(piece * rows_of_piece, std::min(rows, (piece + 1) * rows_of_piece)); });
}

// C (rows x columns) = or += A B.
void Multiply(ThreadPool& pool, std::size_t rows, std::size_t columns, std::size_t inner, const View& a, const float* b,
              float* c, bool add);
// `to` (columns x rows) = the transpose of `from` (rows x columns).
void Transpose(std::size_t rows, std::size_t columns, const float* from, std::size_t from_stride, float* to);

// What layer norm keeps for the way back: the normalised rows and 1 / deviation of each.
struct Normalised {
  float* normal = nullptr;
  float* inverse = nullptr;
};
// Layer norm with a gain and no bias.
void NormForward(ThreadPool& pool, std::size_t rows, std::size_t width, const float* in, const float* gain,
                 const Normalised& kept, float* out);
// Adds the gradient of the input to `d_in` and that of the gain to `d_gain`.
void NormBackward(ThreadPool& pool, std::size_t rows, std::size_t width, const float* d_out, const float* gain,
                  const Normalised& kept, float* d_in, float* d_gain);

// Causal attention. Rows of `qkv` hold query, key and value of all heads, one after the other.
struct AttentionShape {
  std::size_t samples = 0;
  std::size_t context = 0;
  std::size_t heads = 0;
  std::size_t head_width = 0;
  std::size_t width() const { return heads * head_width; }
};
// `shares`: samples x heads x context x context, kept for the way back.
void AttentionForward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, float* shares, float* out);
void AttentionBackward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, const float* shares,
                       const float* d_out, float* d_qkv);

// Rows of logits become probabilities, `losses` gets -log of each target's.
void CrossEntropy(ThreadPool& pool, std::size_t rows, std::size_t classes, std::span<const std::int32_t> targets,
                  float* logits, double* losses);

double SumOfSquares(std::span<const float> values);

}  // namespace vigil::gym
