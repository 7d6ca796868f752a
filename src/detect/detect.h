// detect: streaming detectors. Pure: no I/O, no clock, no threads; same samples in, same findings out, whether the
// samples come from a finished run or a live one. A detector is a class in the file of its family, a row in
// catalogue/rows/findings.toml, and a line in registry.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "model/finding.h"
#include "model/run.h"

namespace vigil::detect {

// What is known of the run beside its numbers, at the time the findings are asked for.
struct Context {
  const model::Run* run = nullptr;  // facts, method, planned steps, events; its series are not to be read by detectors
  const catalogue::Thresholds* thresholds = nullptr;
  const catalogue::FindingRow* row = nullptr;
  const model::Series* primary = nullptr;  // name, labels, aggregation of the series judged; not its points
  double logging_interval = 1;             // steps between two points of the primary series
  bool ended = true;                       // no more samples will come
  bool reinforcement = false;              // policy-gradient losses hover around zero: their shape means nothing
  bool loss_scaler = false;                // fp16 with a loss scaler: skipped overflow steps are part of it
  bool judges_points = false;              // LastPoint is asked after each point: its ratio is worked out for each

  double Threshold(std::string_view name) const { return thresholds->Threshold(row->id, name); }
  // The axis of the judged series. A detector works on this one axis: every count it is given or makes is a count on
  // it.
  model::Axis axis() const { return primary == nullptr ? model::Axis::kStep : primary->axis; }
  model::Position At(std::int64_t count) const { return {axis(), count}; }
  // The planned end on that axis; unknown when none was stated, or when nothing logged leads from steps to the axis.
  model::Position Planned() const { return run->axes.To(axis(), run->Planned()); }
};

struct Sample {
  std::uint32_t role = 0;  // which of the row's signals: 0 is the one judged
  std::int64_t step = 0;   // on the axis of the judged series; companions on another one are mapped before they come
  double value = 0;
  std::uint32_t line = 0;
};

// What a detector made of the point of the judged series that it observed last, before anything after it is known.
struct PointVerdict {
  bool in_incident = false;  // it belongs to an incident that is open
  double ratio = 1;          // over the level of the points before; 1 while there are too few to compare with
};

// One instance judges one series, together with the companion series that its row names. State is bounded; non-finite
// values never enter a baseline.
class Detector {
 public:
  virtual ~Detector() = default;
  // Samples come in step order within a segment, the primary last within a step: companions of that step are known.
  virtual void Observe(const Sample& sample) = 0;
  // The same for many at once, which costs one call.
  virtual void ObserveAll(std::span<const Sample> samples) = 0;
  // A restart: steps went back. What follows overwrites the steps from `step` on.
  virtual void Restart(std::int64_t step) { static_cast<void>(step); }
  // The run was stopped and went on: no step was lost. `step` is the first one after it.
  virtual void Resume(std::int64_t step) { static_cast<void>(step); }
  // Steps between two points of the judged series: known better as it grows. Given before each Report.
  virtual void SetLoggingInterval(double interval) { static_cast<void>(interval); }
  // A detector in the same state. What may still be preceded by later points is fed to a copy, so that the original
  // never has to forget.
  virtual std::unique_ptr<Detector> Clone() const = 0;
  // The findings so far. Const, so that a live view can ask at any time. Severity, family, id, signal, labels and axis
  // are filled in by the engine; a detector sets severity only where the outcome decides.
  virtual void Report(std::vector<model::Finding>& out) const = 0;
  // For who has to decide on a point at once; its ratio is known where the context says that points are judged.
  // Detectors that judge a course, and not points, have no verdict.
  virtual PointVerdict LastPoint() const { return {}; }
};

using Factory = std::unique_ptr<Detector> (*)(const Context& context);

// The code of a detector name, null when there is none: a row that names no code is a test failure.
Factory FindFactory(std::string_view detector);

// The detectors of one run, from its first points to its last. A run that grows (points appended to its series, events
// and settings added) is given again and again: each detector is fed what is new to it, and the findings are those of
// Detect on the same run (those of more than 65,536 batches may be a sixtieth of them old). Where the run did not only
// grow (points before the last ones, rewritten columns, another training method) the detectors concerned are fed from
// the beginning.
class Engine {
 public:
  explicit Engine(const catalogue::Thresholds& thresholds);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // The findings of the run as it stands, most severe first, then by step. `run` is read during the call; the same
  // object is given each time (another one begins from nothing).
  std::vector<model::Finding> Findings(const model::Run& run, bool ended = false);
  // The same for a run that will not be given again: the detectors are not kept, which costs less.
  std::vector<model::Finding> FindingsAtEnd(const model::Run& run, bool ended = true);
  // How often a detector had to be fed from the beginning, because what it had been fed was no longer how the run
  // begins.
  std::uint64_t replays() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// The findings of a run that is all there: an engine that is fed to the end at once.
std::vector<model::Finding> Detect(const model::Run& run, const catalogue::Thresholds& thresholds, bool ended = true);

// The findings that a run's error messages, exceptions and exit codes stand for: one per incident, at its first root,
// with what followed from it listed as evidence. An error after which the run went on is a warning at most.
std::vector<model::Finding> FindingsFromEvents(const model::Run& run, const catalogue::Thresholds& thresholds);

// hang/stalled: a run that is watched has not logged a step for `silent_s` seconds, far longer than its steps take.
// Nothing for one that has ended, or whose steps have no times.
std::optional<model::Finding> FindStall(const model::Run& run, double silent_s,
                                        const catalogue::Thresholds& thresholds);

// ---- a step before it is applied

// What stands out at one step.
struct StepVerdict {
  bool non_finite_loss = false;
  bool non_finite_grad = false;
  bool loss_spike = false;
  bool grad_spike = false;
  double loss_ratio = 1;  // over the level of the steps before; 1 while there are too few
  double grad_ratio = 1;

  bool IsNonFinite() const { return non_finite_loss || non_finite_grad; }
  bool IsSpike() const { return loss_spike || grad_spike; }
};

// Judges each step at once, by the detectors of loss/spike and grad/spike, fed as the engine feeds them: a step that
// they count to an open spike is one here. What they cannot know at that step is what follows: a spike that does not
// end becomes the level, and is then no finding. A finding that the thresholds turn off is not judged. Three windows
// per call, no allocation after the first steps.
class StepJudge {
 public:
  explicit StepJudge(const catalogue::Thresholds& thresholds);
  ~StepJudge();
  StepJudge(const StepJudge&) = delete;
  StepJudge& operator=(const StepJudge&) = delete;
  StepJudge(StepJudge&&) noexcept;
  StepJudge& operator=(StepJudge&&) noexcept;

  // A value that is not known is model::kNoValue.
  StepVerdict Judge(double loss, double grad_norm);
  // Steps went back: the baselines start from nothing, and an open spike is forgotten.
  void Restart();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vigil::detect
