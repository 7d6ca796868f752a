#include "diagnose/checkpoints.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/base.h"

namespace vigil::diagnose {
namespace {

std::string NameOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

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

std::vector<Checkpoint> OnDisk(const RunView& run) {
  std::vector<Checkpoint> found;
  found.reserve(run->checkpoints.size());
  for (const model::CheckpointFiles& files : run->checkpoints) {
    const bool stripped =
        std::find(files.missing.begin(), files.missing.end(), model::kNoWeights) != files.missing.end();
    found.push_back({files.at, NameOf(files.path), files.path, files.missing, stripped});
  }
  return found;
}

bool HasName(const std::vector<Checkpoint>& known, std::string_view name) {
  return std::any_of(known.begin(), known.end(), [&](const Checkpoint& one) { return one.folder == name; });
}

void AddOfSources(const RunView& run, std::vector<Checkpoint>& known) {
  for (const model::Source& source : run->sources) {
    auto found = CheckpointOfPath(source.path);
    if (found && !HasName(known, found->folder)) known.push_back(std::move(*found));
  }
}

void AddOfLog(const RunView& run, std::vector<Checkpoint>& known) {
  for (const model::Event& event : run->events) {
    if (event.kind == model::EventKind::kCheckpoint && event.at.known() && event.at.value() > 0)
      known.push_back({event.at, {}});
  }
}

}  // namespace

std::vector<Checkpoint> KnownCheckpoints(const RunView& run) {
  std::vector<Checkpoint> known = OnDisk(run);
  AddOfSources(run, known);
  // A log may be cut, and a checkpoint may have been deleted: what is on disk decides where there is anything.
  if (run->checkpoints.empty()) AddOfLog(run, known);
  return known;
}

std::vector<Checkpoint> WrittenCheckpoints(const RunView& run) {
  std::vector<Checkpoint> known = OnDisk(run);
  AddOfSources(run, known);
  AddOfLog(run, known);
  return known;
}

}  // namespace vigil::diagnose
