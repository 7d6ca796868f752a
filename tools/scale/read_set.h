// scale: a set of the gym at scale, read as labelled records. Ten thousand runs take seconds on two cores.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/base.h"
#include "scale/record.h"

namespace vigil::scale {

struct ReadOptions {
  unsigned threads = 0;   // 0: as many as the machine has cores
  std::size_t every = 1;  // only each n-th run
};

// The files runs-*.jsonl.xz, .zst and .jsonl of a folder, sorted; the path itself when it is a file.
Result<std::vector<std::string>> SetFiles(const std::string& path);
// The lines of all files, expanded.
Result<std::vector<std::string>> ReadLines(const std::string& path, const ReadOptions& options = {});

// Does `work(i)` for each i below `count` from several threads, each i once.
void ForEachInParallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

// Calls `take` with the place of each run in the set and its record, from several threads, in no order. Records do not
// stay in memory. An Error when a file or a line cannot be read: the first of them.
Status ForEachRecord(const std::string& path, const ReadOptions& options,
                     const std::function<void(std::size_t, Record)>& take);

// What `make` makes of each record, in the order of the set; `make` is called from several threads.
template <class T>
Result<std::vector<T>> MapRecords(const std::string& path, const ReadOptions& options,
                                  const std::function<T(Record)>& make) {
  std::vector<T> made;
  std::mutex mutex;
  const Status read = ForEachRecord(path, options, [&](std::size_t place, Record record) {
    T value = make(std::move(record));
    const std::lock_guard<std::mutex> lock(mutex);
    if (made.size() <= place) made.resize(place + 1);
    made[place] = std::move(value);
  });
  if (!read) return Fail(read.error());
  return made;
}

// All of them at once: some 20 KB a run.
Result<std::vector<Record>> ReadSet(const std::string& path, const ReadOptions& options = {});

}  // namespace vigil::scale
