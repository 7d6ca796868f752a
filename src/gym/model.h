// The GPT: token and position embeddings, blocks of attention and MLP, a norm and a head of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gym/gym.h"
#include "gym/ops.h"

namespace vigil::gym {

// What is trained on in one pass. Targets are the inputs moved by one; weights are those of the samples in the loss.
struct Batch {
  std::vector<std::int32_t> inputs;  // samples x context
  std::vector<std::int32_t> targets;
  std::vector<float> weights;     // of each sample
  std::uint64_t fingerprint = 0;  // of the inputs
};

// A named part of the flat parameters.
struct Tensor {
  std::string name;
  std::size_t offset = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool decays = false;  // matrices do, gains and embeddings do not
  std::size_t size() const { return rows * columns; }
};

std::vector<Tensor> TensorsOf(const ModelShape& shape);

class Model {
 public:
  // Weights are drawn from the seed.
  Model(const ModelShape& shape, std::size_t samples, std::uint64_t seed, ThreadPool& pool);

  // The first token or target outside the vocabulary, as a message; empty when there is none.
  std::string FindBadToken(const Batch& batch) const;
  // Mean loss of a token. The batch must have no bad token.
  double Forward(const Batch& batch);
  // Adds scale times the gradient of the loss of the last Forward.
  void Backward(const Batch& batch, float scale);

  std::span<float> weights() { return weights_; }
  std::span<float> gradients() { return gradients_; }
  std::span<const float> PartOf(std::span<const float> flat, const Tensor& tensor) const {
    return flat.subspan(tensor.offset, tensor.size());
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

  // What leaves block `layer` in the last Forward.
  std::span<const float> OutputOf(int layer) const { return blocks_[static_cast<std::size_t>(layer)].out; }
  // A factor on the MLP of the middle block, 1 in a sound model.
  void set_gate(float gate) { gate_ = gate; }

 private:
  struct Norm {
    std::vector<float> normal, inverse, out;
    Normalised kept() { return {normal.data(), inverse.data()}; }
  };
  struct Block {
    Norm norm1, norm2;
    std::vector<float> qkv, shares, attended, middle, hidden, active, out;
    const Tensor *gain1 = nullptr, *to_qkv = nullptr, *from_heads = nullptr, *gain2 = nullptr, *up = nullptr,
                 *down = nullptr;
  };

  void Initialise(std::uint64_t seed);
  void Embed(const Batch& batch);
  void EmbedBackward(const Batch& batch);
  void ForwardBlock(Block& block, const std::vector<float>& in, float gate);
  void BackwardBlock(Block& block, const std::vector<float>& in, float gate);
  // Norms stand before the branches, or behind the sums: what a branch reads, what the stream is after it, and the way
  // back through both (d_narrow_ is the gradient of what the branch read).
  const float* ReadStream(Norm& norm, const Tensor& gain, const std::vector<float>& stream);
  void CloseSum(Norm& norm, const Tensor& gain, std::vector<float>& stream);
  void ReadStreamBackward(Norm& norm, const Tensor& gain);
  void CloseSumBackward(Norm& norm, const Tensor& gain);
  void ForwardNorm(Norm& norm, const Tensor& gain, const std::vector<float>& in);
  void BackwardNorm(Norm& norm, const Tensor& gain, const float* d_out);
  // out (= or +=) in W, and the way back: gradients of W and of `in`.
  void Linear(const float* in, const Tensor& weight, float* out, bool add);
  void LinearBackward(const std::vector<float>& in, const Tensor& weight, const float* d_out, std::vector<float>& d_in);
  float GateOf(std::size_t layer) const { return layer == blocks_.size() / 2 ? gate_ : 1.0F; }
  float* WeightsOf(const Tensor& tensor) { return weights_.data() + tensor.offset; }
  float* GradientsOf(const Tensor& tensor) { return gradients_.data() + tensor.offset; }

  ModelShape shape_;
  AttentionShape attention_;
  std::size_t rows_;
  ThreadPool& pool_;
  float gate_ = 1;
  std::vector<Tensor> tensors_;
  const Tensor *tokens_ = nullptr, *positions_ = nullptr, *final_gain_ = nullptr, *head_ = nullptr;
  std::vector<float> weights_, gradients_;
  std::vector<float> embedded_;
  std::vector<Block> blocks_;
  Norm final_;
  std::vector<float> probabilities_;
  std::vector<double> losses_;
  // Scratch of the way back.
  std::vector<float> d_stream_, d_narrow_, d_wide_, d_qkv_, transposed_;
};

}  // namespace vigil::gym
