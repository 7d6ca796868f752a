#include "gym/checkpoint.h"

#include <fmt/format.h>

#include "gym/options.h"
#include "gym/safetensors.h"
#include "platform/files.h"

namespace vigil::gym {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30U;
constexpr std::string_view kPrefix = "checkpoint-";

std::string ModelPath(const std::string& folder) { return folder + "/model.safetensors"; }
std::string OptimizerPath(const std::string& folder) { return folder + "/optimizer.safetensors"; }

void AddTensors(const std::vector<Tensor>& tensors, std::string_view prefix, std::span<const float> flat,
                std::vector<NamedFloats>& into) {
  for (const Tensor& tensor : tensors) {
    into.push_back(
        {std::string(prefix) + tensor.name, tensor.rows, tensor.columns, flat.subspan(tensor.offset, tensor.size())});
  }
}

Status CopyTensors(const Safetensors& file, const std::vector<Tensor>& tensors, std::string_view prefix,
                   std::span<float> flat, const std::string& origin) {
  for (const Tensor& tensor : tensors) {
    const Status copied =
        file.CopyTo(std::string(prefix) + tensor.name, flat.subspan(tensor.offset, tensor.size()), origin);
    if (!copied) return copied;
  }
  return {};
}

Result<Safetensors> ReadFile(const std::string& path) {
  auto content = platform::ReadWholeFile(path, kMostBytes);
  if (!content) return Fail(content.error());
  return ReadSafetensors(std::move(*content), path);
}

Result<std::int64_t> Integer(const Safetensors& file, const std::string& key, const std::string& origin) {
  const auto found = file.metadata.find(key);
  const auto value = found == file.metadata.end() ? std::nullopt : ParseInteger(found->second);
  if (!value || *value < 0)
    return Fail(ErrorCode::kCorrupt, origin, fmt::format("no usable '{}' in the metadata", key));
  return *value;
}

// As signed numbers, which the parser of integers takes.
std::string RandomText(const Random::State& state) {
  std::vector<std::string> words;
  for (const std::uint64_t word : state) words.push_back(std::to_string(static_cast<std::int64_t>(word)));
  return Join(words, " ");
}

Result<Random::State> ParseRandom(const Safetensors& file, const std::string& origin) {
  const auto found = file.metadata.find("random");
  Random::State state = {};
  std::size_t count = 0;
  if (found != file.metadata.end()) {
    for (const std::string_view word : Split(found->second, ' ')) {
      const auto value = ParseInteger(word);
      if (value && count < state.size()) state[count] = static_cast<std::uint64_t>(*value);
      count += value ? 1 : 0;
    }
  }
  if (count != state.size()) return Fail(ErrorCode::kCorrupt, origin, "no usable 'random' in the metadata");
  return state;
}

}  // namespace

std::string CheckpointFolder(const std::string& run_folder, std::int64_t step) {
  return fmt::format("{}/{}{}", run_folder, kPrefix, step);
}

Result<std::string> SaveCheckpoint(const std::string& run_folder, const Options& options, const Place& place,
                                   Model& model, AdamW& adam, bool with_optimizer) {
  std::string folder = CheckpointFolder(run_folder, place.step);
  if (const Status made = platform::MakeFolders(folder); !made) return Fail(made.error());
  if (with_optimizer) {
    std::vector<NamedFloats> moments;
    AddTensors(model.tensors(), "first.", adam.first(), moments);
    AddTensors(model.tensors(), "second.", adam.second(), moments);
    const std::map<std::string, std::string> counts = {{"adam_steps", std::to_string(adam.steps())},
                                                       {"schedule_step", std::to_string(place.schedule_step)}};
    const Status written = platform::WriteFileAtomically(OptimizerPath(folder), WriteSafetensors(counts, moments));
    if (!written) return Fail(written.error());
  }
  std::map<std::string, std::string> metadata = ToText(options);
  metadata["step"] = std::to_string(place.step);
  metadata["samples"] = std::to_string(place.loader.position);
  metadata["random"] = RandomText(place.loader.random);
  std::vector<NamedFloats> weights;
  AddTensors(model.tensors(), "", model.weights(), weights);
  // Last: a folder with weights is a whole checkpoint.
  const Status written = platform::WriteFileAtomically(ModelPath(folder), WriteSafetensors(metadata, weights));
  if (!written) return Fail(written.error());
  return folder;
}

Result<std::string> FindCheckpoint(const std::string& given) {
  std::string path = given.size() > 1 && given.ends_with('/') ? given.substr(0, given.size() - 1) : given;
  if (platform::Stat(ModelPath(path))) return path;
  const auto entry = platform::Stat(path);
  if (!entry) return Fail(entry.error());
  std::vector<Error> unreadable;
  std::int64_t best = -1;
  constexpr std::size_t kMostFiles = 100'000;
  for (const platform::Entry& file : platform::ListFiles(path, kMostFiles, unreadable)) {
    const std::string_view rest = std::string_view(file.path).substr(path.size());
    const auto words = Split(rest, '/');
    if (words.size() != 3 || words[2] != "model.safetensors" || !words[1].starts_with(kPrefix)) continue;
    best = std::max(best, ParseInteger(words[1].substr(kPrefix.size())).value_or(-1));
  }
  if (best < 0) return Fail(ErrorCode::kCorrupt, path, "no checkpoint-<step>/model.safetensors in it");
  return CheckpointFolder(path, best);
}

Result<Options> OptionsOfCheckpoint(const std::string& path) {
  const auto folder = FindCheckpoint(path);
  if (!folder) return Fail(folder.error());
  const auto file = ReadFile(ModelPath(*folder));
  if (!file) return Fail(file.error());
  auto options = FromText(file->metadata, ModelPath(*folder));
  if (!options) return Fail(options.error());
  options->resume = *folder;
  return options;
}

Result<Place> LoadCheckpoint(const std::string& folder, Model& model, AdamW& adam, bool& optimizer_found) {
  const std::string origin = ModelPath(folder);
  const auto file = ReadFile(origin);
  if (!file) return Fail(file.error());
  Place place;
  const auto step = Integer(*file, "step", origin);
  const auto samples = Integer(*file, "samples", origin);
  const auto random = ParseRandom(*file, origin);
  if (!step) return Fail(step.error());
  if (!samples) return Fail(samples.error());
  if (!random) return Fail(random.error());
  place.step = *step;
  place.loader = {*samples, *random};
  if (const Status copied = CopyTensors(*file, model.tensors(), "", model.weights(), origin); !copied)
    return Fail(copied.error());
  optimizer_found = platform::Stat(OptimizerPath(folder)).has_value();
  if (!optimizer_found) return place;
  const std::string state_origin = OptimizerPath(folder);
  const auto state = ReadFile(state_origin);
  if (!state) return Fail(state.error());
  const auto adam_steps = Integer(*state, "adam_steps", state_origin);
  const auto schedule_step = Integer(*state, "schedule_step", state_origin);
  if (!adam_steps) return Fail(adam_steps.error());
  if (!schedule_step) return Fail(schedule_step.error());
  for (const auto& [prefix, flat] : {std::pair{"first.", adam.first()}, std::pair{"second.", adam.second()}}) {
    if (const Status copied = CopyTensors(*state, model.tensors(), prefix, flat, state_origin); !copied)
      return Fail(copied.error());
  }
  adam.set_steps(*adam_steps);
  place.schedule_step = *schedule_step;
  return place;
}

}  // namespace vigil::gym
