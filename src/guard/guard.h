// guard: what is to be done with a step, before the optimizer applies it. A state machine over the verdicts of
// detect::StepJudge; pure: no I/O, no clock, no threads. Every decision but "go on" comes with the words to record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "detect/detect.h"
#include "model/finding.h"
#include "model/run.h"

namespace vigil::guard {

// What is done about a bad step.
enum class Policy : std::uint8_t {
  kObserve,   // record it, apply it
  kWarn,      // record it as a warning, leave it out
  kSkip,      // leave it out, record it as a note
  kRaise,     // stop the training
  kRollback,  // return to the last checkpoint from before it
};
std::string_view Name(Policy policy);
std::optional<Policy> ParsePolicy(std::string_view name);

enum class Action : std::uint8_t { kGo, kSkip, kStop, kRollback };
enum class Trigger : std::uint8_t { kNone, kNonFinite, kSpike };
// The name under which a decision about a bad step is recorded: guard/observe, guard/skip, guard/stop, guard/rollback.
std::string_view EventName(Action action);

struct Options {
  bool enabled = true;
  Policy non_finite = Policy::kWarn;
  Policy spike = Policy::kObserve;    // a spike is a value that the run may recover from
  double spike_ratio = 0;             // spikes below so many times the level are observed only
  std::int32_t max_consecutive = 10;  // so many steps in a row are left out; at the next one it is given up
  bool rollback_when_given_up = false;
  std::int32_t max_rollbacks = 3;  // so many are asked for in a run; then it stops

  bool operator==(const Options&) const = default;
};

// Options changed by a control file: TOML with the names above (`non_finite = "skip"`, `max_consecutive = 20`). What it
// does not name stays as in `base`. An unknown name or an impossible value is an error that says where.
Result<Options> ParseControl(std::string_view toml, std::string_view origin, const Options& base);

struct Decision {
  Action action = Action::kGo;
  Trigger trigger = Trigger::kNone;
  std::int32_t consecutive = 0;               // bad steps in a row, observed ones and this one included
  std::int64_t rollback_to = model::kNoStep;  // with kRollback: the checkpoint to return to
  model::Severity severity = model::Severity::kInfo;
  std::string message;  // empty when there is nothing to record
};

struct Counts {
  std::int64_t judged = 0;
  std::int64_t skipped = 0;
  std::int64_t rollbacks = 0;  // asked for, whether the training followed or not
};

class Guard {
 public:
  explicit Guard(const Options& options, const catalogue::Thresholds& thresholds = {});

  void SetOptions(const Options& options) { options_ = options; }
  const Options& options() const { return options_; }
  const Counts& counts() const { return counts_; }

  // The step that is about to be applied. A value that is not known is model::kNoValue.
  Decision Judge(std::int64_t step, double loss, double grad_norm);
  // The state after `step` was saved. One from within a row of bad steps is not returned to.
  void NoteCheckpoint(std::int64_t step);
  // The training was set back to `step`: baselines start from nothing.
  void NoteRollback(std::int64_t step);

 private:
  Decision Apply(Policy policy, Decision decision);
  Decision GiveUp(Decision decision);
  Decision RollBack(Decision decision);
  Policy PolicyFor(Trigger trigger, const detect::StepVerdict& verdict) const;

  Options options_;
  detect::StepJudge judge_;
  Counts counts_;
  std::int32_t consecutive_ = 0;  // bad steps in a row
  std::int32_t left_out_ = 0;     // steps left out in a row
  std::int64_t checkpoint_ = model::kNoStep;
};

}  // namespace vigil::guard
