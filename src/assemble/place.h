// What a file's path says about the run it belongs to. Text only: nothing is looked up on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::assemble {

// The folder of the run that a file in `folder` belongs to: above checkpoint folders, W&B's `files` and Hydra's
// `.hydra`.
std::string_view RunDirectoryOf(std::string_view folder);
// For a folder where trackers put their files below a run's own (X/runs/<name>, X/logs, X/tensorboard/<name>): X, else
// empty.
std::string_view TrackedFolder(std::string_view folder);

// The rank in a file's name ("rank_3.log", "stderr-rank12.txt", "node1_rank4.log"), and the name without it.
struct RankedName {
  std::int32_t rank = -1;
  std::string rest;
  std::int32_t node = -1;    // the number of its machine, where the name has one: ranks may be counted on each
  bool by_launcher = false;  // a launcher keeps a folder for each rank: there is no doubt
};
RankedName RankIn(std::string_view file);
// The same of a file in its folder, with the folder in `rest`: also for launchers that give each rank a folder
// (attempt_0/3/stdout.log).
RankedName RankOf(std::string_view folder, std::string_view file);

// Which start of the training a file is of, where a launcher keeps them apart (attempt_1/0/stdout.log); -1 where not.
std::int32_t AttemptOf(std::string_view folder);

// The name with every run of digits taken out: equal for parts of one series of files.
std::string WithoutDigits(std::string_view name);

// A name for each run: the folder's, or the file's where that says more; made unique.
struct NameHints {
  std::string run_directory;
  std::string file;               // of the run's first source
  bool shares_directory = false;  // other runs have the same run_directory
  std::string own;                // the name that a tracker keeps for it, or empty
};
std::vector<std::string> NameRuns(const std::vector<NameHints>& hints);

}  // namespace vigil::assemble
