// What benchmarks share: the best of several runs in processor time (so that a busy machine does not speak), a file to
// read, and a peer to compare with.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/base.h"
#include "platform/files.h"

namespace vigil::bench {

inline double ThreadCpuSeconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The least processor time that `work` took in `repeats` runs.
template <class Work>
double BestSeconds(int repeats, Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const double before = ThreadCpuSeconds();
    work();
    best = std::min(best, ThreadCpuSeconds() - before);
  }
  return best;
}

// A file with that content, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, std::string_view content)
      : path_(fmt::format("/tmp/vigil_bench_{}_{}", ::getpid(), name)) {
    std::ofstream(path_, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline double Megabytes(std::size_t bytes) { return static_cast<double>(bytes) * 1e-6; }

inline void PrintRate(std::string_view what, std::size_t bytes, double seconds, std::size_t items,
                      std::string_view item) {
  fmt::print("  {:<44} {:>9.1f} MB/s   {:>8.1f} ns/{}\n", what, Megabytes(bytes) / seconds,
             seconds * 1e9 / static_cast<double>(items), item);
}

// Time to copy the bytes, and to read them from the page cache: the limits of any reader.
struct Limits {
  double copy_seconds = 0;
  double read_seconds = 0;
};

inline Limits MeasureLimits(const std::string& path, std::string_view content) {
  Limits limits;
  const auto copy = std::make_unique_for_overwrite<char[]>(content.size());
  limits.copy_seconds = BestSeconds(5, [&] { std::memcpy(copy.get(), content.data(), content.size()); });
  limits.read_seconds = BestSeconds(5, [&] {
    auto file = platform::File::Open(path);
    constexpr std::size_t kPiece = std::size_t{512} << 10U;
    while (file && file->Read(copy.get(), std::min(kPiece, content.size())).value_or(0) > 0) {
    }
  });
  return limits;
}

// Runs bench/peers/<script> on a file, with the Python of the environment that bench/peers/install.sh makes. The script
// prints "<name>\t<seconds>" for each way it measured; each is printed here with its rate and how many times faster we
// are. Says why when it could not run.
inline void ComparePeer(std::string_view script, const std::string& path, std::size_t bytes,
                        double our_seconds_per_byte) {
  const std::string root = VIGIL_SOURCE_DIR;
  const std::string command =
      fmt::format("'{0}/bench/peers/install.sh' 2>&1 && '{0}/build/peers/bin/python' '{0}/bench/peers/{1}' '{2}' 2>&1",
                  root, script, path);
  std::fflush(stdout);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 512> line = {};
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string_view text = Trim(line.data());
    const std::size_t tab = text.find('\t');
    const auto seconds = tab == std::string_view::npos ? std::nullopt : ParseNumber(text.substr(tab + 1));
    if (!seconds) {
      fmt::print("  peer not run: {}\n", text);
      continue;
    }
    const double per_byte = *seconds / static_cast<double>(bytes);
    fmt::print("  {:<44} {:>9.1f} MB/s   vigil is {:.3g} times as fast\n", text.substr(0, tab), 1e-6 / per_byte,
               per_byte / our_seconds_per_byte);
  }
}

}  // namespace vigil::bench
