#include "diagnose/checkpoints.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/base.h"

namespace vigil::diagnose {
namespace {

// ".../checkpoint-400/trainer_state.json" is a checkpoint of step 400 that is still there.
std::optional<Checkpoint> CheckpointOfPath(std::string_view path) {
  constexpr std::string_view kPrefix = "checkpoint-";
  for (const std::string_view part : Split(path, '/')) {
    if (!part.starts_with(kPrefix)) continue;
    const auto step = ParseInteger(part.substr(kPrefix.size()));
    if (step && *step > 0) return Checkpoint{*step, std::string(part)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Checkpoint> KnownCheckpoints(const model::Run& run) {
  std::vector<Checkpoint> known;
  for (const model::Source& source : run.sources) {
    if (auto found = CheckpointOfPath(source.path)) known.push_back(std::move(*found));
  }
  for (const model::Event& event : run.events) {
    if (event.kind == model::EventKind::kCheckpoint && event.step > 0)
      known.push_back({event.step, fmt::format("the checkpoint of step {}", event.step)});
  }
  return known;
}

std::vector<std::int64_t> CheckpointSteps(const model::Run& run) {
  std::vector<std::int64_t> steps;
  for (const Checkpoint& checkpoint : KnownCheckpoints(run)) steps.push_back(checkpoint.step);
  return steps;
}

}  // namespace vigil::diagnose
