#include "assemble/place.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/base.h"
#include "ingest/ingest.h"

namespace vigil::assemble {
namespace {

constexpr std::int64_t kMostRanks = 10'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool HoldsTrackers(std::string_view folder_name) {
  return IsOneOf(ToLower(folder_name), {"runs", "logs", "log", "tensorboard", "tensorboard_logs", "wandb", "tb",
                                        "tb_logs", "events", "lightning_logs"});
}

// Where torchrun puts what each start of its processes prints: <log folder>/<id>_<random>/attempt_0/<rank>.
bool IsAttempt(std::string_view name) {
  constexpr std::string_view kPrefix = "attempt_";
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

bool IsRankFolder(std::string_view folder) {
  const std::string_view name = ingest::FileOf(folder);
  const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
  return number && IsAttempt(ingest::FileOf(ingest::FolderOf(folder)));
}

// Where torch's add_hparams puts its own event file: a folder named by the clock, 1763200212.3456.
bool IsTimeFolder(std::string_view name) {
  return name.size() > 11 && name[10] == '.' && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Names that trainers and trackers give every run's file: the folder says more.
bool IsGenericStem(std::string_view stem) {
  return stem.starts_with("events.out.tfevents") || stem.starts_with("rank-") ||
         IsOneOf(ToLower(stem),
                 {"trainer_state", "trainer_log",   "train",   "training",       "log",           "logs",     "output",
                  "out",           "stdout",        "metrics", "results",        "history",       "progress", "monitor",
                  "nohup",         "running_log",   "main",    "console",        "error",         "err",      "stderr",
                  "log_history",   "training_logs", "config",  "adapter_config", "training_args", "debug"});
}

// Above `runs` and `logs`, which are called so everywhere, and what torchrun calls a launch that nobody named.
std::string_view NamingFolder(std::string_view run_directory) {
  while (HoldsTrackers(ingest::FileOf(run_directory)) || ingest::FileOf(run_directory).starts_with("none_"))
    run_directory = ingest::FolderOf(run_directory);
  return run_directory;
}

std::string NameOf(const NameHints& hints) {
  if (!hints.own.empty()) return hints.own;
  const std::string_view folder = ingest::FileOf(NamingFolder(hints.run_directory));
  const std::string_view stem = ingest::StemOf(hints.file);
  const bool unnamed_folder = folder.empty() || folder == "." || folder == "..";
  if (unnamed_folder) return std::string(stem);
  if (hints.shares_directory || !IsGenericStem(stem)) return std::string(stem);
  return std::string(folder);
}

// The folder whose name distinguishes a run of that name from others: the next one above it that is not called so
// everywhere.
std::string_view FolderAbove(const NameHints& hints, const std::string& name) {
  // A tracker's own id stands in the place of a folder's name.
  const std::string_view run_directory =
      NamingFolder(hints.own.empty() ? hints.run_directory : ingest::FolderOf(hints.run_directory));
  return NamingFolder(ingest::FileOf(run_directory) == name ? ingest::FolderOf(run_directory) : run_directory);
}

// Puts one more folder before each name that several runs have; false when nothing was left to put there.
bool Lengthen(std::vector<std::string>& names, std::vector<std::string_view>& above) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  bool any = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view folder = ingest::FileOf(above[i]);
    if (counts[names[i]] < 2 || folder.empty() || folder == "." || folder == "..") continue;
    names[i] = std::string(folder) + "/" + names[i];
    above[i] = NamingFolder(ingest::FolderOf(above[i]));
    any = true;
  }
  return any;
}

// The number behind the last `word` of a name, and where its digits stand; -1 without one.
std::int32_t NumberBehind(std::string_view name, std::string_view word, std::size_t& begin, std::size_t& end) {
  const std::size_t at = ToLower(name).rfind(word);
  if (at == std::string::npos) return -1;
  begin = at + word.size();
  if (begin < name.size() && (name[begin] == '_' || name[begin] == '-')) ++begin;
  end = begin;
  while (end < name.size() && IsDigit(name[end])) ++end;
  const auto number = ParseInteger(name.substr(begin, end - begin));
  return number && *number >= 0 && *number <= kMostRanks ? static_cast<std::int32_t>(*number) : -1;
}

}  // namespace

std::string_view RunDirectoryOf(std::string_view folder) {
  if (const ingest::MlflowPlace run = ingest::InMlflowRun(std::string(folder) + "/"); !run.folder.empty())
    return folder.substr(0, run.folder.size());
  while (ingest::CheckpointStep(ingest::FileOf(folder)) || ingest::FileOf(folder) == ".hydra" || IsRankFolder(folder) ||
         IsTimeFolder(ingest::FileOf(folder)) || IsAttempt(ingest::FileOf(folder)) ||
         (ingest::FileOf(folder) == "files" &&
          ingest::FileOf(ingest::FolderOf(folder)).find("run-") != std::string_view::npos)) {
    folder = ingest::FolderOf(folder);
  }
  return folder;
}

std::string_view TrackedFolder(std::string_view folder) {
  const std::string_view parent = ingest::FolderOf(folder);
  if (HoldsTrackers(ingest::FileOf(folder))) return parent;
  return HoldsTrackers(ingest::FileOf(parent)) ? ingest::FolderOf(parent) : std::string_view();
}

RankedName RankIn(std::string_view file) {
  std::size_t begin = 0;
  std::size_t end = 0;
  const std::int32_t rank = NumberBehind(file, "rank", begin, end);
  if (rank < 0) return {-1, std::string(file)};
  RankedName named = {rank, std::string(file.substr(0, begin)) + "*" + std::string(file.substr(end))};
  for (const std::string_view word : {"node", "host", "machine"}) {
    named.node = NumberBehind(file, word, begin, end);
    if (named.node < 0) continue;
    // It moved when the rank became a star in front of it.
    named.node = NumberBehind(named.rest, word, begin, end);
    named.rest = named.rest.substr(0, begin) + "*" + named.rest.substr(end);
    break;
  }
  return named;
}

RankedName RankOf(std::string_view folder, std::string_view file) {
  RankedName named = RankIn(file);
  const std::string_view number = ingest::FileOf(folder);
  const std::string_view attempt = ingest::FileOf(ingest::FolderOf(folder));
  const auto rank = ParseInteger(number);
  const bool per_rank = IsAttempt(attempt) && rank && *rank >= 0 && *rank <= kMostRanks;
  if (named.rank < 0 && per_rank)
    return {static_cast<std::int32_t>(*rank), std::string(ingest::FolderOf(folder)) + "/*/" + std::string(file), -1,
            true};
  named.rest = std::string(folder) + "/" + named.rest;
  return named;
}

std::int32_t AttemptOf(std::string_view folder) {
  constexpr std::int64_t kMostAttempts = 1'000'000;
  const std::string_view name = ingest::FileOf(IsRankFolder(folder) ? ingest::FolderOf(folder) : folder);
  if (!IsAttempt(name)) return -1;
  const auto number = ParseInteger(name.substr(name.find('_') + 1));
  return number && *number < kMostAttempts ? static_cast<std::int32_t>(*number) : -1;
}

std::string WithoutDigits(std::string_view name) {
  std::string rest;
  for (const char c : name) {
    if (!IsDigit(c)) rest += c;
  }
  return rest;
}

std::vector<std::string> NameRuns(const std::vector<NameHints>& hints) {
  constexpr int kMostFolders = 3;
  std::vector<std::string> names;
  std::vector<std::string_view> above;
  above.reserve(hints.size());
  for (const NameHints& hint : hints) above.push_back(FolderAbove(hint, names.emplace_back(NameOf(hint))));
  for (int folders = 0; folders < kMostFolders && Lengthen(names, above);) ++folders;
  std::map<std::string, int> used;
  for (std::string& name : names) {
    const int times = ++used[name];
    if (times > 1) name += "-" + std::to_string(times);
  }
  return names;
}

}  // namespace vigil::assemble
