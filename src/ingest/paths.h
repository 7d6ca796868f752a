// ingest/paths: what the text of a path says. Nothing is looked up on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vigil::ingest {

// Folder and name of a path; the folder is empty for a bare name.
std::string_view FolderOf(std::string_view path);
std::string_view FileOf(std::string_view path);
// The path without "." and repeated slashes, and with ".." taken back: equal for two ways to write one place.
std::string PlainPath(std::string_view path);
// The name without its last extension: "train.log" -> "train".
std::string_view StemOf(std::string_view file);

// Whether the name says that the file holds what a program printed: "train.log", "slurm-12.out", "stderr.txt".
bool IsLogName(std::string_view path);

// The path without the ending of a compressed file: "train.log.gz" -> "train.log".
std::string_view WithoutCompression(std::string_view path);

// The step of a checkpoint folder's name ("checkpoint-500", "global_step_40", "step-10").
std::optional<std::int64_t> CheckpointStep(std::string_view folder_name);

// Where a file stands in a run of MLflow's file store (<32 hexadecimal digits>/metrics/train/loss): the run's folder,
// the kind of file ("metrics", "params", "tags" or "meta.yaml"), and the key that its place spells. Empty when in none.
struct MlflowPlace {
  std::string_view folder;
  std::string_view kind;
  std::string key;
};
MlflowPlace InMlflowRun(std::string_view path);
}  // namespace vigil::ingest
