// The table that torchrun prints when a process failed: "Root Cause (first observed failure): rank, exitcode, ...".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vigil::textlog {

struct ProcessFailure {
  std::int32_t rank = -1;
  std::int32_t exit_code = 0;  // negative: ended by that signal
  std::string host;
  std::uint32_t line = 0;  // of the exit code
};

class FailureTableReader {
 public:
  // The failure, when the line completes the table's root cause.
  std::optional<ProcessFailure> Consume(std::string_view text, std::uint32_t line);
  // Inside the root cause: every line is wanted.
  bool is_open() const { return is_open_; }

 private:
  bool is_open_ = false;
  std::size_t lines_ = 0;
  ProcessFailure failure_;
};

// "srun: error: node12: task 13: Exited with exit code 137": a task that a signal ended, as Slurm tells it. None for
// tasks that were asked to end (SIGTERM), or failed by themselves.
std::optional<ProcessFailure> FailureOfSrun(std::string_view text, std::uint32_t line);

// "SIGKILL" for 9; empty for signals that do not end trainings.
std::string_view SignalName(int signal);

}  // namespace vigil::textlog
