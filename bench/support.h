// What benchmarks share: one call of a benchmark with its two forms, the best of several runs in processor time (so
// that a busy machine does not speak), a file to read, and a peer to compare with.
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
#include <utility>
#include <vector>

#include "base/base.h"
#include "platform/files.h"

namespace vigil::bench {

// One call of a benchmark. As it is, it measures, prints, and checks that what it measured was right. With --short it
// takes small inputs once and only checks: the form that runs with the tests, where the machine is busy and a time says
// nothing.
class Bench {
 public:
  explicit Bench(bool is_short) : is_short_(is_short) {}

  bool is_short() const { return is_short_; }
  template <class Number>
  Number Size(Number full, Number small) const {
    return is_short_ ? small : full;
  }
  int Repeats(int full) const { return is_short_ ? 1 : full; }

  // What was measured is right; a wrong result fails the benchmark and says what.
  template <class... Args>
  void Check(bool right, fmt::format_string<Args...> what, Args&&... args) {
    ++checks_;
    if (right) return;
    ++failures_;
    fmt::print("  FAILED: {}\n", fmt::format(what, std::forward<Args>(args)...));
  }
  // A table of measured figures: nothing in the short form.
  template <class... Args>
  void Print(fmt::format_string<Args...> text, Args&&... args) const {
    if (!is_short_) fmt::print(text, std::forward<Args>(args)...);
  }
  void PrintRate(std::string_view what, std::size_t bytes, double seconds, std::size_t items,
                 std::string_view item) const {
    Print("  {:<44} {:>9.1f} MB/s   {:>8.1f} ns/{}\n", what, static_cast<double>(bytes) * 1e-6 / seconds,
          seconds * 1e9 / static_cast<double>(items), item);
  }
  // Something to compare with is not here. Named in both forms, so that nobody takes it for compared.
  static void NotRun(std::string_view what, std::string_view why) { fmt::print("  NOT RUN: {}: {}\n", what, why); }

  // The exit code. A benchmark that checked nothing has failed: its figures could be those of anything.
  int Finish() {
    if (checks_ == 0) Check(false, "nothing was checked");
    if (is_short_ && failures_ == 0) fmt::print("  {} checks passed\n", checks_);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  bool is_short_;
  int checks_ = 0;
  int failures_ = 0;
};

// The main of every benchmark.
inline int RunBench(int argc, char** argv, void (*measure)(Bench&)) {
  const bool is_short = argc == 2 && std::string_view(argv[1]) == "--short";
  if (argc > 1 && !is_short) {
    fmt::print(stderr, "usage: {} [--short]\n", argv[0]);
    return 2;
  }
  Bench bench(is_short);
  measure(bench);
  return bench.Finish();
}

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

// Points of all series of a run that was read; 0 when it could not be.
template <class Read>
std::size_t PointsOf(const Read& run) {
  std::size_t points = 0;
  if (run) {
    for (const auto& series : run->series) points += series.size();
  }
  return points;
}

// Time to copy the bytes, and to read them from the page cache: the limits of any reader.
struct Limits {
  double copy_seconds = 0;
  double read_seconds = 0;
};

inline Limits MeasureLimits(const Bench& bench, const std::string& path, std::string_view content) {
  Limits limits;
  const auto copy = std::make_unique_for_overwrite<char[]>(content.size());
  const int repeats = bench.Repeats(5);
  limits.copy_seconds = BestSeconds(repeats, [&] { std::memcpy(copy.get(), content.data(), content.size()); });
  limits.read_seconds = BestSeconds(repeats, [&] {
    auto file = platform::File::Open(path);
    constexpr std::size_t kPiece = std::size_t{512} << 10U;
    while (file && file->Read(copy.get(), std::min(kPiece, content.size())).value_or(0) > 0) {
    }
  });
  return limits;
}

// The lines that bench/peers/<script> prints, with the Python of the environment that bench/peers/install.sh makes. In
// the short form nothing is installed: none, and said so by name, where the environment is not there.
inline std::vector<std::string> RunPeer(const Bench& bench, std::string_view script, std::string_view arguments) {
  const std::string root = VIGIL_SOURCE_DIR;
  const std::string install = fmt::format("'{}/bench/peers/install.sh'{}", root, bench.is_short() ? " --check" : "");
  if (std::system((install + " >/dev/null 2>&1").c_str()) != 0) {
    Bench::NotRun(script, "its Python environment is not there; bench/peers/install.sh makes it");
    return {};
  }
  const std::string command =
      fmt::format("'{0}/build/peers/bin/python' '{0}/bench/peers/{1}' {2} 2>&1", root, script, arguments);
  std::fflush(stdout);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::vector<std::string> lines;
  std::array<char, 512> line = {};
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) lines.emplace_back(Trim(line.data()));
  if (lines.empty()) lines.emplace_back("printed nothing");
  return lines;
}

// Times a peer on a file. The script prints "<name>\t<seconds>" for each way it measured; each is printed here with its
// rate and how many times faster we are.
inline void ComparePeer(Bench& bench, std::string_view script, const std::string& path, std::size_t bytes,
                        double our_seconds_per_byte) {
  for (const std::string& line : RunPeer(bench, script, fmt::format("'{}'", path))) {
    const std::string_view text = line;
    const std::size_t tab = text.find('\t');
    const auto seconds = tab == std::string_view::npos ? std::nullopt : ParseNumber(text.substr(tab + 1));
    bench.Check(seconds.has_value(), "{} printed: {}", script, text);
    if (!seconds) continue;
    const double per_byte = *seconds / static_cast<double>(bytes);
    bench.Print("  {:<44} {:>9.1f} MB/s   vigil is {:.3g} times as fast\n", text.substr(0, tab), 1e-6 / per_byte,
                per_byte / our_seconds_per_byte);
  }
}

}  // namespace vigil::bench
