#include "scale/read_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "codec/codec.h"
#include "platform/files.h"
#include "scale/make_run.h"
#include "scale/parse.h"

namespace vigil::scale {
namespace {

constexpr std::uint64_t kMostPackedBytes = std::uint64_t{256} << 20U;
constexpr std::size_t kMostExpandedBytes = std::size_t{4} << 30U;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;

Result<std::string> Expand(const std::string& path, std::string packed) {
  const auto decompressor = codec::Decompressor::ForContent(packed);
  if (decompressor == nullptr) return packed;
  std::string text;
  std::size_t taken = 0;
  for (;;) {
    const std::size_t size = text.size();
    if (size > kMostExpandedBytes) return Fail(ErrorCode::kLimit, path, "expands to more than a set of runs has");
    text.resize(size + kBlockBytes);
    const auto step = decompressor->Continue(std::string_view(packed).substr(taken), text.data() + size, kBlockBytes);
    text.resize(size + step.made);
    taken += step.taken;
    if (step.state == codec::Decompressor::State::kMayEnd && taken == packed.size()) return text;
    const bool is_stuck = step.taken == 0 && step.made == 0;
    if (is_stuck || step.state > codec::Decompressor::State::kMayEnd)
      return Fail(ErrorCode::kCorrupt, path, "the compressed data are damaged or truncated", taken);
  }
}

bool IsRunsFile(const std::string& name) {
  return name.ends_with(".jsonl.xz") || name.ends_with(".jsonl.zst") || name.ends_with(".jsonl");
}

// The first error of several threads.
class FirstError {
 public:
  void Keep(Error error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  Status Take() { return error_ ? Status(Fail(*error_)) : Status(); }

 private:
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<std::string>> SetFiles(const std::string& path) {
  const auto entry = platform::Stat(path);
  if (!entry) return Fail(entry.error());
  if (entry->kind == platform::EntryKind::kFile) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (const std::string& name : platform::NamesIn(path, "runs-")) {
    if (IsRunsFile(name)) files.push_back(fmt::format("{}/{}", path, name));
  }
  std::sort(files.begin(), files.end());
  if (files.empty())
    return Fail(ErrorCode::kNotFound, path, "no runs-*.jsonl.xz or .zst in it: gym/scale/make.py makes them");
  return files;
}

Result<std::vector<std::string>> ReadLines(const std::string& path, const ReadOptions& options) {
  const auto files = SetFiles(path);
  if (!files) return Fail(files.error());
  std::vector<std::string> lines;
  std::size_t count = 0;
  for (const std::string& file : *files) {
    auto packed = platform::ReadWholeFile(file, kMostPackedBytes);
    if (!packed) return Fail(packed.error());
    const auto text = Expand(file, std::move(*packed));
    if (!text) return Fail(text.error());
    for (const std::string_view line : Split(*text, '\n')) {
      if (!line.empty() && count++ % options.every == 0) lines.emplace_back(line);
    }
  }
  return lines;
}

void ForEachInParallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const unsigned wanted = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < wanted; ++i) workers.emplace_back(take);
  take();
  for (std::thread& worker : workers) worker.join();
}

Status ForEachRecord(const std::string& path, const ReadOptions& options,
                     const std::function<void(std::size_t, Record)>& take) {
  auto lines = ReadLines(path, options);
  if (!lines) return Fail(lines.error());
  FirstError first;
  ForEachInParallel(lines->size(), options.threads, [&](std::size_t i) {
    auto stored = ParseRun((*lines)[i]);
    if (!stored) return first.Keep(stored.error());
    auto record = MakeRecord(std::move(*stored));
    if (!record) return first.Keep(record.error());
    take(i, std::move(*record));
  });
  return first.Take();
}

Result<std::vector<Record>> ReadSet(const std::string& path, const ReadOptions& options) {
  return MapRecords<Record>(path, options, [](Record record) { return record; });
}

}  // namespace vigil::scale
