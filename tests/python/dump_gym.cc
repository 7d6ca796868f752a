// Writes what the gym's model and optimizer compute on one random batch, for another implementation to compare with.
//
// usage: dump_gym FILE [post]   a safetensors file: w0.* weights, g.* gradients, w2.* weights after two steps of AdamW;
//                               tokens, targets, sample weights and the loss stand in the metadata. With `post` the
//                               norms stand behind the sums.
#include <fmt/format.h>

#include <cstdio>

#include "gym/optimizer.h"
#include "gym/random.h"
#include "gym/safetensors.h"
#include "platform/files.h"
#include "platform/process.h"

namespace vigil::gym {
namespace {

constexpr ModelShape kShape = {3, 64, 2, 32, 48};
constexpr std::size_t kSamples = 3;

template <class Values>
std::string Words(const Values& values) {
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const auto value : values) words.push_back(fmt::format("{}", value));
  return Join(words, " ");
}

Batch MakeBatch() {
  Random random(5);
  Batch batch;
  for (std::size_t i = 0; i < kSamples * static_cast<std::size_t>(kShape.context); ++i) {
    batch.inputs.push_back(static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(kShape.vocabulary))));
    batch.targets.push_back(static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(kShape.vocabulary))));
  }
  batch.weights = {0.5F, 1.0F, 2.0F};
  return batch;
}

void Add(const Model& model, const std::string& prefix, const std::vector<float>& flat,
         std::vector<NamedFloats>& into) {
  for (const Tensor& tensor : model.tensors()) {
    into.push_back({prefix + tensor.name, tensor.rows, tensor.columns, model.PartOf(flat, tensor)});
  }
}

int Dump(const char* path, bool post_norm) {
  platform::ThreadPool pool(1);
  ModelShape shape = kShape;
  shape.post_norm = post_norm;
  Model model(shape, kSamples, 3, pool);
  AdamW adam(model, 0.1);
  Random random(9);
  // Far enough from the start that every part matters.
  for (float& weight : model.weights()) weight += static_cast<float>(0.1 * random.Normal());
  const Batch batch = MakeBatch();
  const std::vector<float> before(model.weights().begin(), model.weights().end());
  std::fill(model.gradients().begin(), model.gradients().end(), 0.0F);
  const double loss = model.Forward(batch);
  model.Backward(batch, 1);
  const std::vector<float> gradients(model.gradients().begin(), model.gradients().end());
  for (int step = 0; step < 2; ++step) adam.Step(model, pool, 1e-2, 1);  // the same gradients twice
  const std::vector<float> after(model.weights().begin(), model.weights().end());
  std::vector<NamedFloats> tensors;
  Add(model, "w0.", before, tensors);
  Add(model, "g.", gradients, tensors);
  Add(model, "w2.", after, tensors);
  const std::map<std::string, std::string> metadata = {{"inputs", Words(batch.inputs)},
                                                       {"targets", Words(batch.targets)},
                                                       {"weights", Words(batch.weights)},
                                                       {"loss", FormatExact(loss)},
                                                       {"layers", "3"},
                                                       {"post_norm", post_norm ? "1" : "0"},
                                                       {"heads", "2"},
                                                       {"context", "32"}};
  const std::string content = WriteSafetensors(metadata, tensors);
  return platform::WriteFileAtomically(path, content) ? 0 : 2;
}

}  // namespace
}  // namespace vigil::gym

int main(int count, char** arguments) {
  const bool post_norm = count == 3 && std::string_view(arguments[2]) == "post";
  return count == 2 || post_norm ? vigil::gym::Dump(arguments[1], post_norm) : 2;
}
