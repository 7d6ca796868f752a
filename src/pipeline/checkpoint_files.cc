#include "pipeline/checkpoint_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "platform/files.h"

namespace vigil::pipeline {
namespace {

constexpr std::size_t kMostFolders = 24;
constexpr std::size_t kMostCheckpoints = 400;
constexpr std::size_t kMostNames = 20'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// ---- names

// The number behind one of the words, "checkpoint-400", "epoch=3-step=400.ckpt", "iter_0000400"; nullopt without one.
std::optional<std::int64_t> NumberBehind(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t first = at + word.size();
  while (first < name.size() && (name[first] == '-' || name[first] == '_' || name[first] == '=')) ++first;
  std::size_t end = first;
  while (end < name.size() && IsDigit(name[end])) ++end;
  if (end == first || end - first > 15) return std::nullopt;
  return ParseInteger(name.substr(first, end - first));
}

// Where the weights in a file or folder of that name stand; unknown when it is no checkpoint.
model::Position PlaceOf(std::string_view name) {
  const std::string folded = ToLower(name);
  for (const std::string_view word : {"global_step", "step", "iter", "checkpoint", "ckpt"}) {
    if (const auto number = NumberBehind(folded, word)) return {model::Axis::kStep, *number};
  }
  if (const auto epoch = NumberBehind(folded, "epoch")) return {model::Axis::kEpoch, *epoch};
  return {};
}

bool EndsWithAny(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

bool IsWeightFile(std::string_view name) {
  return EndsWithAny(name, {".ckpt", ".pt", ".pth", ".keras", ".h5", ".safetensors"});
}

bool IsUnfinished(std::string_view name) {
  return EndsWithAny(name, {".tmp", ".part", ".incomplete", "-tmp", ".partial"});
}

// ---- what a folder holds

struct Folder {
  std::string path;
  std::vector<std::string> names;

  bool Has(std::string_view name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
  bool HasOne(std::string_view begin, std::initializer_list<std::string_view> endings) const {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.starts_with(begin) && EndsWithAny(name, endings); });
  }
};

Folder Look(const std::string& path) {
  Folder folder{path, platform::NamesIn(path, "")};
  std::erase_if(folder.names, [](const std::string& name) { return name == "." || name == ".."; });
  if (folder.names.size() > kMostNames) folder.names.resize(kMostNames);
  return folder;
}

// An archive of torch.save ends with its directory of at least 22 bytes, behind which there is at most a comment.
bool IsWholeZip(const platform::File& file) {
  constexpr std::uint64_t kMostTail = 66'000;
  const std::uint64_t tail = std::min(file.size_bytes(), kMostTail);
  std::string bytes(tail, '\0');
  const auto read = file.ReadAt(file.size_bytes() - tail, bytes.data(), bytes.size());
  return read && std::string_view(bytes.data(), *read).find("PK\x05\x06") != std::string_view::npos;
}

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The largest end among "data_offsets":[begin,end] of a safetensors header.
std::uint64_t LastOffset(std::string_view header) {
  constexpr std::string_view kKey = "\"data_offsets\":[";
  std::uint64_t last = 0;
  for (std::size_t at = header.find(kKey); at != std::string_view::npos; at = header.find(kKey, at + 1)) {
    const std::size_t comma = header.find(',', at);
    const std::size_t end = header.find(']', at);
    if (comma == std::string_view::npos || end == std::string_view::npos || comma > end) continue;
    const auto number = ParseInteger(Trim(header.substr(comma + 1, end - comma - 1)));
    if (number && *number > 0) last = std::max(last, static_cast<std::uint64_t>(*number));
  }
  return last;
}

// Eight bytes give the length of the header, which gives that of the tensors.
bool IsWholeSafetensors(const platform::File& file) {
  constexpr std::uint64_t kMostHeader = std::uint64_t{8} << 20U;
  std::array<char, 8> length{};
  const auto read = file.ReadAt(0, length.data(), length.size());
  if (!read || *read != length.size()) return false;
  const std::uint64_t size = LittleEndian({length.data(), length.size()});
  if (size > file.size_bytes()) return false;
  if (size > kMostHeader) return true;  // not looked into
  std::string header(size, '\0');
  const auto got = file.ReadAt(length.size(), header.data(), header.size());
  return got && *got == size && length.size() + size + LastOffset(header) <= file.size_bytes();
}

// Whether the file has its end. Formats that are not known are taken for whole when they are not empty.
bool IsWhole(const std::string& path) {
  const auto file = platform::File::Open(path);
  if (!file || file->size_bytes() == 0) return false;
  if (path.ends_with(".safetensors")) return IsWholeSafetensors(*file);
  std::array<char, 4> head{};
  const auto read = file->ReadAt(0, head.data(), head.size());
  const bool zip = read && *read == head.size() && std::string_view(head.data(), 4) == "PK\x03\x04";
  return !zip || IsWholeZip(*file);
}

void AddBroken(const Folder& folder, std::vector<std::string>& missing) {
  for (const std::string& name : folder.names) {
    if (!IsWeightFile(name) && !name.ends_with(".distcp") && !name.ends_with(".bin")) continue;
    const std::string path = folder.path + "/" + name;
    const auto entry = platform::Stat(path);
    if (entry && entry->kind == platform::EntryKind::kFile && !IsWhole(path)) missing.push_back("the end of " + name);
    if (missing.size() > 3) return;
  }
}

// ---- is it whole

bool HasWeights(const Folder& folder) {
  return folder.HasOne("model", {".safetensors", ".bin"}) || folder.HasOne("pytorch_model", {".bin", ".safetensors"}) ||
         folder.HasOne("adapter_model", {".safetensors", ".bin"}) || folder.HasOne("global_step", {""}) ||
         folder.HasOne("pytorch_model_fsdp", {""});
}

bool HasOptimizer(const Folder& folder) {
  return folder.HasOne("optimizer", {".pt", ".bin"}) || folder.HasOne("optimizer_", {""}) ||
         folder.HasOne("global_step", {""});
}

// As HF's trainer saves: weights, optimizer, scheduler, and where it was.
std::vector<std::string> MissingOfTrainer(const Folder& folder) {
  std::vector<std::string> missing;
  if (!HasWeights(folder)) missing.emplace_back(model::kNoWeights);
  if (!HasOptimizer(folder)) missing.emplace_back("optimizer.pt");
  if (!folder.Has("trainer_state.json")) missing.emplace_back("trainer_state.json");
  if (!folder.Has("scheduler.pt") && !folder.HasOne("global_step", {""})) missing.emplace_back("scheduler.pt");
  return missing;
}

// torch.distributed.checkpoint writes its metadata last.
std::vector<std::string> MissingOfDistributed(const Folder& folder) {
  std::vector<std::string> missing;
  if (!folder.Has(".metadata")) missing.emplace_back(".metadata");
  return missing;
}

std::vector<std::string> MissingIn(const Folder& folder) {
  std::vector<std::string> missing;
  const bool distributed = folder.HasOne("", {".distcp"});
  const bool trainer = folder.Has("trainer_state.json") || folder.path.find("/checkpoint-") != std::string::npos;
  if (distributed) {
    missing = MissingOfDistributed(folder);
  } else if (trainer) {
    missing = MissingOfTrainer(folder);
  } else if (folder.names.empty()) {
    missing.emplace_back(model::kNoWeights);
  }
  if (IsUnfinished(folder.path)) missing.emplace_back("its final name");
  AddBroken(folder, missing);
  return missing;
}

// ---- which there are

void AddCheckpoint(const std::string& path, std::string_view name, model::Run& run) {
  const model::Position at = PlaceOf(name);
  if (!at.known() || run.checkpoints.size() >= kMostCheckpoints) return;
  const auto entry = platform::Stat(path);
  if (!entry) return;
  if (entry->kind == platform::EntryKind::kFolder) {
    const Folder folder = Look(path);
    // A folder of logs may be called after its start: it has nothing of a checkpoint.
    const bool shown = HasWeights(folder) || HasOptimizer(folder) || folder.Has("trainer_state.json") ||
                       folder.HasOne("", {".distcp", ".pt", ".ckpt", ".pth", ".metadata"}) || folder.names.empty();
    if (shown) run.checkpoints.push_back({path, at, MissingIn(folder)});
    return;
  }
  if (entry->kind != platform::EntryKind::kFile || !IsWeightFile(name)) return;
  std::vector<std::string> missing;
  if (!IsWhole(path)) missing.emplace_back("its end");
  run.checkpoints.push_back({path, at, std::move(missing)});
}

bool HoldsCheckpoints(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"checkpoints", "checkpoint", "ckpt",
                                                      "ckpts",       "weights",    "models"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

void LookIn(const std::string& path, bool deeper, std::set<std::string>& seen, model::Run& run) {
  if (seen.size() >= kMostFolders || !seen.insert(path).second) return;
  for (const std::string& name : Look(path).names) {
    std::string inner = path;
    inner.append("/").append(name);
    if (deeper && HoldsCheckpoints(name)) LookIn(inner, false, seen, run);
    AddCheckpoint(inner, name, run);
  }
}

std::string NameOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace

void FindCheckpoints(model::Run& run) {
  std::set<std::string> seen;
  run.checkpoints.clear();
  for (const model::Source& source : run.sources) {
    std::string folder = platform::FolderOf(source.path);
    if (PlaceOf(NameOf(folder)).known()) folder = platform::FolderOf(folder);  // the file stands in a checkpoint
    LookIn(folder, true, seen, run);
  }
  std::stable_sort(run.checkpoints.begin(), run.checkpoints.end(),
                   [](const model::CheckpointFiles& a, const model::CheckpointFiles& b) {
                     return a.at.axis() == b.at.axis() ? a.at.value() < b.at.value() : a.at.axis() < b.at.axis();
                   });
}

}  // namespace vigil::pipeline
