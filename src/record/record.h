// record: the recorder in a training process. Any thread may record; a record call takes some nanoseconds, allocates
// nothing and never enters the kernel. Nothing here throws, prints, waits for a disk or ends the process: what cannot
// be done is a code, what cannot be kept is counted. After a fork the child's handles are dead, and it may open its
// own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "journal/journal.h"
#include "model/run.h"

namespace vigil::record {

enum class Code : std::int32_t {
  kOk = 0,
  kInvalid = 1,   // an argument that makes no sense, or no handle at all
  kClosed = 2,    // the handle's run was closed
  kForked = 3,    // the handle belongs to the parent process
  kLimit = 4,     // too many runs, series or bytes
  kIo = 5,        // the journal could not be created (the reason is in the message), or not be written to its end
  kBusy = 6,      // recorded from a signal handler that interrupted a record call, or too many threads at once: dropped
  kTimeout = 7,   // not done in time; it goes on
  kNoMemory = 8,  // memory or threads are out
  kFull = 9,      // more was recorded than is written meanwhile: this was not taken, what was taken stays
};
inline constexpr std::int32_t kLastCode = 9;
std::string_view Describe(Code code);

// 0 is no handle. A handle of a run that was closed differs from every later one.
using RunHandle = std::uint64_t;
using SeriesHandle = std::uint64_t;
using TensorHandle = std::uint64_t;

struct Options {
  std::string folder;  // made when it is not there
  std::string run;     // equal for all ranks; empty: what is in one folder is one run
  std::string name;
  std::int32_t rank = 0;
  std::int32_t world = 1;
  std::uint32_t flush_interval_ms = 250;               // at least 1
  std::uint32_t sync_interval_ms = 0;                  // how often the file is synced to the disk; 0: never
  std::uint64_t lane_bytes = std::uint64_t{2} << 20U;  // per recording thread
  bool shared_ring = true;
  std::uint32_t close_timeout_ms = 5000;  // how long closing waits for the disk
};

// How a run ended when nobody said.
inline constexpr std::int64_t kUnknownEnd = journal::kUnknownEnd;

// ---- runs: not for signal handlers

Code Open(const Options& options, RunHandle& run, std::string& message) noexcept;
// Writes what is left and ends the recorder's thread. Waits some seconds at most. What cannot be written stays in the
// ring, and is a code.
Code Close(RunHandle run, std::int64_t status) noexcept;
// Returns when what was recorded before is in the file, and on the disk where syncing was asked for, or the time is
// over. kIo: the disk failed to keep what was recorded since the flush before.
Code Flush(RunHandle run, std::uint32_t timeout_ms) noexcept;

struct RunStatus {
  std::uint64_t written_bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t dropped_records = 0;  // overwritten or dropped
  int problem = 0;                    // errno while writing fails
  bool survives_kill = false;         // what was recorded outlives a killed process
  std::uint64_t shared_bytes = 0;     // of shared memory that it takes
  std::uint64_t lane_bytes = 0;       // for each thread; less than asked for where shared memory is small
  std::string path;
};
Code GetStatus(RunHandle run, RunStatus& status) noexcept;

// ---- series: opening allocates; the same name and labels give the same handle

Code OpenSeries(RunHandle run, const journal::Definition& definition, SeriesHandle& series) noexcept;
Code Add(SeriesHandle series, std::int64_t step, double value) noexcept;

// Statistics of one tensor at one step: recorded together, kept as series <what>/norm, <what>/min, ... with the label
// layer.
struct TensorStatistics {
  double norm = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;
  double elements = 0;
  double non_finite = 0;
  double zeros = 0;
};
Code OpenTensor(RunHandle run, std::string_view what, std::string_view layer, TensorHandle& tensor) noexcept;
Code AddTensor(TensorHandle tensor, std::int64_t step, const TensorStatistics& statistics) noexcept;

// ---- steps and their phases: durations become the series step_time_s and phase_time_s{phase}

enum class Phase : std::int32_t { kData = 0, kForward = 1, kBackward = 2, kOptimizer = 3 };
inline constexpr std::int32_t kPhases = 4;

Code BeginStep(RunHandle run, std::int64_t step) noexcept;
Code EndStep(RunHandle run) noexcept;
Code BeginPhase(RunHandle run, Phase phase) noexcept;
Code EndPhase(RunHandle run, Phase phase) noexcept;

// ---- the rest: texts are copied, and cut at 64 KiB

Code AddBatch(RunHandle run, std::int64_t step, std::uint64_t fingerprint) noexcept;
// A fingerprint of bytes, the same on every machine and in every version (XXH3, 64 bits).
std::uint64_t Fingerprint(std::string_view bytes) noexcept;
Code AddEvent(RunHandle run, const journal::Event& event) noexcept;  // the time is filled in
Code AddHyperparameter(RunHandle run, std::string_view key, std::string_view value) noexcept;
Code AddArtifact(RunHandle run, std::int64_t step, std::string_view kind, std::string_view path) noexcept;

}  // namespace vigil::record
