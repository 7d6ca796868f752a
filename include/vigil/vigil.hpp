// vigil for C++17: a thin face over vigil.h. Nothing in it throws or allocates (making the strings that it is given is
// the caller's); a run that could not be opened records nothing, and says so when asked.
#ifndef VIGIL_VIGIL_HPP
#define VIGIL_VIGIL_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "vigil/vigil.h"

namespace vigil {

enum class Phase : int {
  kData = VIGIL_PHASE_DATA,
  kForward = VIGIL_PHASE_FORWARD,
  kBackward = VIGIL_PHASE_BACKWARD,
  kOptimizer = VIGIL_PHASE_OPTIMIZER
};

// A series: a value to copy. Default-made it is none, and adding to it does nothing.
class Series {
 public:
  Series() = default;
  explicit Series(vigil_series handle) : handle_(handle) {}
  int Add(std::int64_t step, double value) const noexcept { return vigil_series_add(handle_, step, value); }

 private:
  vigil_series handle_ = {0};
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(vigil_tensor handle) : handle_(handle) {}
  int Add(std::int64_t step, const vigil_tensor_stats& stats) const noexcept {
    return vigil_tensor_add(handle_, step, &stats);
  }

 private:
  vigil_tensor handle_ = {0};
};

struct RunOptions {
  std::string folder;
  std::string run_id;
  std::string name;
  int rank = 0;
  int world_size = 1;
  std::uint32_t sync_interval_ms = 0;  // not 0: the journal is synced to the disk so often
};

// A run, closed when it goes. `Finish` says how it ended; without it the journal says that nobody did.
class Run {
 public:
  Run() = default;
  explicit Run(const RunOptions& options) noexcept {
    vigil_run_options given = VIGIL_RUN_OPTIONS_INIT;
    given.folder = options.folder.c_str();
    given.run_id = options.run_id.c_str();
    given.name = options.name.c_str();
    given.rank = options.rank;
    given.world_size = options.world_size;
    given.sync_interval_ms = options.sync_interval_ms;
    code_ = vigil_run_open(&given, &handle_);
  }
  explicit Run(const std::string& folder) noexcept {
    vigil_run_options given = VIGIL_RUN_OPTIONS_INIT;
    given.folder = folder.c_str();
    code_ = vigil_run_open(&given, &handle_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  Run(Run&& other) noexcept
      : handle_(std::exchange(other.handle_, vigil_run{0})), code_(std::exchange(other.code_, VIGIL_INVALID)) {}
  Run& operator=(Run&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(code_, other.code_);
    return *this;
  }
  ~Run() {
    if (handle_.id != 0) vigil_run_close(handle_, INT64_MIN);
  }

  bool ok() const noexcept { return code_ == VIGIL_OK; }
  int code() const noexcept { return code_; }  // of opening it
  vigil_run handle() const noexcept { return handle_; }

  int Finish(std::int64_t status = 0) noexcept { return vigil_run_close(std::exchange(handle_, vigil_run{0}), status); }
  int Flush(std::uint32_t timeout_ms = 1000) const noexcept { return vigil_run_flush(handle_, timeout_ms); }

  using Labels = std::initializer_list<std::pair<const char*, const char*>>;
  // With more than 32 labels it is none.
  vigil::Series Series(const std::string& name, Labels labels = {}, const char* unit = nullptr) const noexcept {
    constexpr std::size_t kMostLabels = 32;
    std::array<vigil_label, kMostLabels> given = {};
    std::size_t count = 0;
    if (labels.size() > kMostLabels) return vigil::Series();
    for (const auto& label : labels) given[count++] = {label.first, label.second};
    vigil_series_options options = VIGIL_SERIES_OPTIONS_INIT;
    options.unit = unit;
    options.labels = given.data();
    options.label_count = static_cast<std::uint32_t>(count);
    vigil_series handle = {0};
    vigil_series_open(handle_, name.c_str(), &options, &handle);
    return vigil::Series(handle);
  }
  vigil::Tensor Tensor(const std::string& what, const std::string& layer) const noexcept {
    vigil_tensor handle = {0};
    vigil_tensor_open(handle_, what.c_str(), layer.c_str(), &handle);
    return vigil::Tensor(handle);
  }

  int Event(std::int64_t step, int severity, const std::string& text, const std::string& name = {}) const noexcept {
    vigil_event event = VIGIL_EVENT_INIT;
    event.step = step;
    event.severity = severity;
    event.name = name.c_str();
    event.text = text.c_str();
    return vigil_event_add(handle_, &event);
  }
  int Config(const std::string& key, const std::string& value) const noexcept {
    return vigil_config_set(handle_, key.c_str(), value.c_str());
  }
  int Artifact(std::int64_t step, const std::string& kind, const std::string& path) const noexcept {
    return vigil_artifact_add(handle_, step, kind.c_str(), path.c_str());
  }
  int Batch(std::int64_t step, const void* data, std::size_t size_bytes) const noexcept {
    return vigil_batch_add(handle_, step, vigil_fingerprint(data, size_bytes));
  }

 private:
  vigil_run handle_ = {0};
  int code_ = VIGIL_INVALID;
};

// The guard of a run: asked before the optimizer applies a step. A guard that could not be opened lets everything pass.
class Guard {
 public:
  explicit Guard(const Run& run, const vigil_guard_options& options = VIGIL_GUARD_OPTIONS_INIT) noexcept {
    vigil_guard_open(run.handle(), &options, &handle_);
  }
  ~Guard() { vigil_guard_close(handle_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  vigil_decision Judge(std::int64_t step, double loss, double grad_norm = vigil_not_known()) const noexcept {
    vigil_decision decision = {};
    decision.size = sizeof(decision);
    vigil_guard_judge(handle_, step, loss, grad_norm, &decision);
    return decision;
  }
  int NoteCheckpoint(std::int64_t step) const noexcept { return vigil_guard_note_checkpoint(handle_, step); }
  int NoteRollback(std::int64_t step) const noexcept { return vigil_guard_note_rollback(handle_, step); }

 private:
  vigil_guard handle_ = {0};
};

// Times a step, and a phase of it, while it lives.
class StepTimer {
 public:
  StepTimer(const Run& run, std::int64_t step) noexcept : run_(run.handle()) { vigil_step_begin(run_, step); }
  ~StepTimer() { vigil_step_end(run_); }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

 private:
  vigil_run run_;
};

class PhaseTimer {
 public:
  PhaseTimer(const Run& run, Phase phase) noexcept : run_(run.handle()), phase_(phase) {
    vigil_phase_begin(run_, static_cast<int>(phase_));
  }
  ~PhaseTimer() { vigil_phase_end(run_, static_cast<int>(phase_)); }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  vigil_run run_;
  Phase phase_;
};

}  // namespace vigil

#endif
