#include "diagnose/checkpoints.h"

#include <optional>
#include <string_view>

#include "base/base.h"

namespace vigil::diagnose {
namespace {

// ".../checkpoint-400/trainer_state.json" is a checkpoint that is still there. Trainers count steps in that name,
// whatever the metrics are counted on.
std::optional<Checkpoint> CheckpointOfPath(std::string_view path) {
  constexpr std::string_view kPrefix = "checkpoint-";
  for (const std::string_view part : Split(path, '/')) {
    if (!part.starts_with(kPrefix)) continue;
    const auto step = ParseInteger(part.substr(kPrefix.size()));
    if (step && *step > 0) return Checkpoint{model::StepAt(*step), std::string(part)};
  }
  return std::nullopt;
}

}  // namespace

// Folders that exist count as much as lines of the log: the log may be cut, and a checkpoint may have been deleted.
std::vector<Checkpoint> KnownCheckpoints(const RunView& run) {
  std::vector<Checkpoint> known;
  for (const model::Source& source : run->sources) {
    if (auto found = CheckpointOfPath(source.path)) known.push_back(std::move(*found));
  }
  for (const model::Event& event : run->events) {
    if (event.kind == model::EventKind::kCheckpoint && event.at.known() && event.at.value() > 0)
      known.push_back({event.at, {}});
  }
  return known;
}

}  // namespace vigil::diagnose
