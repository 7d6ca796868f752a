#include "gym/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "gym/random.h"

namespace vigil::gym {
namespace {

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

// Tensors in the order of the forward pass.
class Layout {
 public:
  void Add(std::string name, std::size_t rows, std::size_t columns, bool decays) {
    tensors_.push_back({std::move(name), offset_, rows, columns, decays});
    offset_ += rows * columns;
  }
  std::vector<Tensor> Take() { return std::move(tensors_); }

 private:
  std::vector<Tensor> tensors_;
  std::size_t offset_ = 0;
};

}  // namespace

std::vector<Tensor> TensorsOf(const ModelShape& shape) {
  const std::size_t width = Size(shape.width);
  Layout layout;
  layout.Add("embed.tokens", Size(shape.vocabulary), width, false);
  layout.Add("embed.positions", Size(shape.context), width, false);
  for (int i = 0; i < shape.layers; ++i) {
    const std::string block = fmt::format("blocks.{}.", i);
    layout.Add(block + "norm1", 1, width, false);
    layout.Add(block + "attn.qkv", width, 3 * width, true);
    layout.Add(block + "attn.out", width, width, true);
    layout.Add(block + "norm2", 1, width, false);
    layout.Add(block + "mlp.up", width, 4 * width, true);
    layout.Add(block + "mlp.down", 4 * width, width, true);
  }
  layout.Add("norm", 1, width, false);
  layout.Add("head", width, Size(shape.vocabulary), true);
  return layout.Take();
}

Model::Model(const ModelShape& shape, std::size_t samples, std::uint64_t seed, ThreadPool& pool)
    : shape_(shape), rows_(samples * Size(shape.context)), pool_(pool), tensors_(TensorsOf(shape)) {
  attention_ = {samples, Size(shape.context), Size(shape.heads), Size(shape.width) / Size(shape.heads)};
  const std::size_t width = Size(shape.width);
  const std::size_t count = tensors_.back().offset + tensors_.back().size();
  weights_.resize(count);
  gradients_.resize(count);
  const auto size_norm = [&](Norm& norm) {
    norm.normal.resize(rows_ * width);
    norm.inverse.resize(rows_);
    norm.out.resize(rows_ * width);
  };
  tokens_ = tensors_.data();
  positions_ = tokens_ + 1;
  const Tensor* next = tokens_ + 2;
  blocks_.resize(Size(shape.layers));
  for (Block& block : blocks_) {
    size_norm(block.norm1);
    size_norm(block.norm2);
    block.qkv.resize(rows_ * 3 * width);
    block.shares.resize(samples * Size(shape.heads) * Size(shape.context) * Size(shape.context));
    for (auto* rows : {&block.attended, &block.middle, &block.out}) rows->resize(rows_ * width);
    for (auto* rows : {&block.hidden, &block.active}) rows->resize(rows_ * 4 * width);
    for (const Tensor** part : {&block.gain1, &block.to_qkv, &block.from_heads, &block.gain2, &block.up, &block.down}) {
      *part = next++;
    }
  }
  final_gain_ = next++;
  head_ = next;
  size_norm(final_);
  embedded_.resize(rows_ * width);
  probabilities_.resize(rows_ * Size(shape.vocabulary));
  losses_.resize(rows_);
  d_stream_.resize(rows_ * width);
  d_narrow_.resize(rows_ * width);
  d_wide_.resize(rows_ * 4 * width);
  d_qkv_.resize(rows_ * 3 * width);
  transposed_.resize(width * std::max(4 * width, Size(shape.vocabulary)));
  Initialise(seed);
}

// As GPT-2: 0.02 everywhere, less where a block adds to the stream, so that depth does not widen it.
void Model::Initialise(std::uint64_t seed) {
  Random random(Mix(seed));
  for (const Tensor& tensor : tensors_) {
    float* const values = WeightsOf(tensor);
    if (tensor.rows == 1) {
      std::fill_n(values, tensor.size(), 1.0F);
      continue;
    }
    const bool adds = tensor.name.ends_with("attn.out") || tensor.name.ends_with("mlp.down");
    const double deviation = adds ? 0.02 / std::sqrt(2.0 * shape_.layers) : 0.02;
    for (std::size_t i = 0; i < tensor.size(); ++i) values[i] = static_cast<float>(deviation * random.Normal());
  }
}

std::string Model::FindBadToken(const Batch& batch) const {
  for (const auto* ids : {&batch.inputs, &batch.targets}) {
    for (std::size_t i = 0; i < ids->size(); ++i) {
      const std::int32_t id = (*ids)[i];
      if (id >= 0 && id < shape_.vocabulary) continue;
      return fmt::format("token id {} at position {} of sample {} is out of range: the vocabulary has {} entries", id,
                         i % Size(shape_.context), i / Size(shape_.context), shape_.vocabulary);
    }
  }
  return {};
}

void Model::Embed(const Batch& batch) {
  const std::size_t width = Size(shape_.width);
  for (std::size_t r = 0; r < rows_; ++r) {
    const float* const token = WeightsOf(*tokens_) + static_cast<std::size_t>(batch.inputs[r]) * width;
    const float* const position = WeightsOf(*positions_) + r % attention_.context * width;
    for (std::size_t i = 0; i < width; ++i) embedded_[r * width + i] = token[i] + position[i];
  }
}

void Model::EmbedBackward(const Batch& batch) {
  const std::size_t width = Size(shape_.width);
  for (std::size_t r = 0; r < rows_; ++r) {
    float* const token = GradientsOf(*tokens_) + static_cast<std::size_t>(batch.inputs[r]) * width;
    float* const position = GradientsOf(*positions_) + r % attention_.context * width;
    for (std::size_t i = 0; i < width; ++i) {
      token[i] += d_stream_[r * width + i];
      position[i] += d_stream_[r * width + i];
    }
  }
}

void Model::Linear(const float* in, const Tensor& weight, float* out, bool add) {
  Multiply(pool_, rows_, weight.columns, weight.rows, {in, weight.rows, 1}, WeightsOf(weight), out, add);
}

void Model::LinearBackward(const std::vector<float>& in, const Tensor& weight, const float* d_out,
                           std::vector<float>& d_in) {
  Multiply(pool_, weight.rows, weight.columns, rows_, {in.data(), 1, weight.rows}, d_out, GradientsOf(weight), true);
  Transpose(weight.rows, weight.columns, WeightsOf(weight), weight.columns, transposed_.data());
  Multiply(pool_, rows_, weight.rows, weight.columns, {d_out, weight.columns, 1}, transposed_.data(), d_in.data(),
           false);
}

void Model::ForwardNorm(Norm& norm, const Tensor& gain, const std::vector<float>& in) {
  NormForward(pool_, rows_, gain.columns, in.data(), WeightsOf(gain), norm.kept(), norm.out.data());
}

void Model::BackwardNorm(Norm& norm, const Tensor& gain, const float* d_out) {
  NormBackward(pool_, rows_, gain.columns, d_out, WeightsOf(gain), norm.kept(), d_stream_.data(), GradientsOf(gain));
}

const float* Model::ReadStream(Norm& norm, const Tensor& gain, const std::vector<float>& stream) {
  if (shape_.post_norm) return stream.data();
  ForwardNorm(norm, gain, stream);
  return norm.out.data();
}

void Model::CloseSum(Norm& norm, const Tensor& gain, std::vector<float>& stream) {
  if (!shape_.post_norm) return;
  ForwardNorm(norm, gain, stream);
  stream = norm.out;
}

void Model::ReadStreamBackward(Norm& norm, const Tensor& gain) {
  if (!shape_.post_norm) return BackwardNorm(norm, gain, d_narrow_.data());
  std::transform(d_stream_.begin(), d_stream_.end(), d_narrow_.begin(), d_stream_.begin(), std::plus<>());
}

void Model::CloseSumBackward(Norm& norm, const Tensor& gain) {
  if (!shape_.post_norm) return;
  d_narrow_ = d_stream_;
  std::fill(d_stream_.begin(), d_stream_.end(), 0.0F);
  BackwardNorm(norm, gain, d_narrow_.data());
}

void Model::ForwardBlock(Block& block, const std::vector<float>& in, float gate) {
  Linear(ReadStream(block.norm1, *block.gain1, in), *block.to_qkv, block.qkv.data(), false);
  AttentionForward(pool_, attention_, block.qkv.data(), block.shares.data(), block.attended.data());
  block.middle = in;
  Linear(block.attended.data(), *block.from_heads, block.middle.data(), true);
  CloseSum(block.norm1, *block.gain1, block.middle);
  Linear(ReadStream(block.norm2, *block.gain2, block.middle), *block.up, block.hidden.data(), false);
  const std::size_t wide = block.hidden.size() / rows_;
  ForRows(pool_, rows_, kRowsOfPiece, [&](std::size_t first, std::size_t last) {
    float* const to = block.active.data() + first * wide;
    const std::size_t count = (last - first) * wide;
    Gelu(block.hidden.data() + first * wide, to, count);
    if (gate != 1.0F) std::transform(to, to + count, to, [&](float value) { return value * gate; });
  });
  block.out = block.middle;
  Linear(block.active.data(), *block.down, block.out.data(), true);
  CloseSum(block.norm2, *block.gain2, block.out);
}

void Model::BackwardBlock(Block& block, const std::vector<float>& in, float gate) {
  CloseSumBackward(block.norm2, *block.gain2);
  LinearBackward(block.active, *block.down, d_stream_.data(), d_wide_);
  const std::size_t wide = block.hidden.size() / rows_;
  ForRows(pool_, rows_, kRowsOfPiece, [&](std::size_t first, std::size_t last) {
    float* const d = d_wide_.data() + first * wide;
    const std::size_t count = (last - first) * wide;
    if (gate != 1.0F) std::transform(d, d + count, d, [&](float value) { return value * gate; });
    GeluBackward(block.hidden.data() + first * wide, d, count);
  });
  LinearBackward(shape_.post_norm ? block.middle : block.norm2.out, *block.up, d_wide_.data(), d_narrow_);
  ReadStreamBackward(block.norm2, *block.gain2);
  CloseSumBackward(block.norm1, *block.gain1);
  LinearBackward(block.attended, *block.from_heads, d_stream_.data(), d_narrow_);
  AttentionBackward(pool_, attention_, block.qkv.data(), block.shares.data(), d_narrow_.data(), d_qkv_.data());
  LinearBackward(shape_.post_norm ? in : block.norm1.out, *block.to_qkv, d_qkv_.data(), d_narrow_);
  ReadStreamBackward(block.norm1, *block.gain1);
}

double Model::Forward(const Batch& batch) {
  Embed(batch);
  const std::vector<float>* stream = &embedded_;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    ForwardBlock(blocks_[i], *stream, GateOf(i));
    stream = &blocks_[i].out;
  }
  ForwardNorm(final_, *final_gain_, *stream);
  Linear(final_.out.data(), *head_, probabilities_.data(), false);
  CrossEntropy(pool_, rows_, Size(shape_.vocabulary), batch.targets, probabilities_.data(), losses_.data());
  double loss = 0;
  for (std::size_t r = 0; r < rows_; ++r) {
    loss += losses_[r] * static_cast<double>(batch.weights[r / attention_.context]);
  }
  return loss / static_cast<double>(rows_);
}

void Model::Backward(const Batch& batch, float scale) {
  const std::size_t classes = Size(shape_.vocabulary);
  ForRows(pool_, rows_, kRowsOfPiece, [&](std::size_t first, std::size_t last) {
    for (std::size_t r = first; r < last; ++r) {
      const float share = scale * batch.weights[r / attention_.context] / static_cast<float>(rows_);
      float* const row = probabilities_.data() + r * classes;
      row[batch.targets[r]] -= 1;
      for (std::size_t i = 0; i < classes; ++i) row[i] *= share;
    }
  });
  LinearBackward(final_.out, *head_, probabilities_.data(), d_narrow_);
  std::fill(d_stream_.begin(), d_stream_.end(), 0.0F);
  BackwardNorm(final_, *final_gain_, d_narrow_.data());
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    BackwardBlock(blocks_[i], i == 0 ? embedded_ : blocks_[i - 1].out, GateOf(i));
  }
  EmbedBackward(batch);
}

}  // namespace vigil::gym
