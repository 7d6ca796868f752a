#include "ingest/paths.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/base.h"

namespace vigil::ingest {
namespace {

bool IsMlflowId(std::string_view name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string_view FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view FileOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string PlainPath(std::string_view path) {
  std::vector<std::string> kept;
  for (const std::string_view step : Split(path, '/')) {
    if (step.empty() || step == ".") continue;
    if (step == ".." && !kept.empty() && kept.back() != "..") {
      kept.pop_back();
    } else {
      kept.emplace_back(step);
    }
  }
  return (path.starts_with('/') ? "/" : "") + Join(kept, "/");
}

std::string_view StemOf(std::string_view file) {
  const std::size_t dot = file.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? file : file.substr(0, dot);
}

bool IsLogName(std::string_view path) {
  const std::string name = ToLower(FileOf(path));
  constexpr std::array<std::string_view, 5> kEndings = {".log", ".out", ".err", ".stdout", ".stderr"};
  constexpr std::array<std::string_view, 4> kWords = {"stdout", "stderr", "nohup", "console"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view end) { return name.ends_with(end); }) ||
         std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::string_view WithoutCompression(std::string_view path) {
  for (const std::string_view ending : {".gz", ".zst", ".zstd", ".xz", ".bz2", ".lz4"}) {
    if (path.size() > ending.size() && path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

std::optional<std::int64_t> CheckpointStep(std::string_view folder_name) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"checkpoint-", "checkpoint_", "global_step", "step_", "step-"};
  for (const std::string_view prefix : kPrefixes) {
    if (!folder_name.starts_with(prefix)) continue;
    std::string_view digits = folder_name.substr(prefix.size());
    if (digits.starts_with('_')) digits.remove_prefix(1);
    if (const auto step = ParseInteger(digits); step && *step >= 0) return step;
  }
  return std::nullopt;
}

MlflowPlace InMlflowRun(std::string_view path) {
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    const std::string_view folder = path.substr(0, slash);
    if (!IsMlflowId(FileOf(folder))) continue;
    const std::string_view rest = path.substr(slash + 1);
    if (rest == "meta.yaml") return {folder, rest, {}};
    const std::string_view kind = rest.substr(0, rest.find('/'));
    if (kind.size() < rest.size() && (kind == "metrics" || kind == "params" || kind == "tags"))
      return {folder, kind, std::string(rest.substr(kind.size() + 1))};
  }
  return {};
}

}  // namespace vigil::ingest
