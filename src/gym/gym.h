// gym: a small GPT that trains for real, with a fault by name where one is asked for. Same options, same bits, whatever
// the number of threads; what it writes is what a plain trainer writes, so that vigil can be shown and tested on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "model/finding.h"

namespace vigil::gym {

// ---- what is trained

// Width of a head, context and vocabulary are multiples of 16; the vocabulary follows from the text.
struct ModelShape {
  int layers = 4;
  int width = 64;
  int heads = 4;
  int context = 64;
  int vocabulary = 0;
  bool post_norm = false;  // norms behind the sums, as in the first Transformers: those need their warm-up
};

struct Options {
  ModelShape shape;
  std::int64_t steps = 300;
  std::int64_t seed = 1;
  std::int64_t batch = 8;       // samples a rank takes in one pass
  std::int64_t accumulate = 1;  // passes before a step
  double lr = 3e-3;             // peak
  std::int64_t warmup = -1;     // steps; -1: a tenth of the run
  double clip = 1.0;            // limit of the gradient norm; 0: none
  double decay = 0.01;
  std::int64_t ranks = 0;    // processes; 0: one, or as many as the fault needs
  std::int64_t threads = 0;  // of a rank; 0: what the machine has for it. Changes no bit of the result
  std::int64_t eval_every = 50;
  std::int64_t save_every = 0;    // 0: only at the end
  std::int64_t stats_every = 10;  // per-layer statistics
  double timeout_s = 10;          // how long a rank waits for the others before it gives up
  bool journal = false;           // record into a journal instead of metrics.jsonl
  bool metrics = true;            // false: nothing is measured and logged but what train.log holds
  std::string guard;              // what the guard does about a bad step: a policy by name; empty: there is no guard
  std::string guard_control;      // file that changes the guard while it runs; empty: guard.toml in the run's folder
  std::string fault;              // name of a fault; empty: a sound run
  std::int64_t onset = 0;         // step at which the fault begins; 0: half of the run
  double strength = 0;            // in the unit of the fault; 0: its default
  std::string data;               // file to train on; empty: the text that comes along
  std::string out;                // folder of the run
  std::string resume;             // run directory or checkpoint to go on from
};

// ---- faults

struct Fault {
  std::string_view name;
  std::string_view what;      // the mechanism
  std::string_view findings;  // by comma: any one is right
  std::string_view cause;     // the true one; empty: vigil has no name for it
  std::string_view alike;     // by comma: causes that the files cannot tell from it
  double strength;            // default
  std::string_view unit;      // what the strength is
  bool from_start;            // acts from the first step: the onset means nothing
  int ranks;                  // that it needs
};
std::span<const Fault> Faults();
const Fault* FindFault(std::string_view name);  // nullptr: there is none

// ---- what is logged about a run

enum class Happening : std::uint8_t { kResume, kCheckpoint, kFailure, kDecision };

// Something that happened, in words. `name` is guard/skip and so on, for decisions.
struct Note {
  Happening kind = Happening::kFailure;
  std::string name;
  model::Severity severity = model::Severity::kInfo;
  std::string text;
};

// Takes what a training process logs. Called by one thread of one rank.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void Scalar(std::string_view name, std::int64_t step, double value) = 0;
  virtual void Hyperparameter(std::string_view key, std::string_view value) = 0;
  virtual void Tell(std::int64_t step, const Note& note) = 0;
  virtual void Batch(std::int64_t step, std::uint64_t fingerprint) = 0;
  // Everything about this step has been logged.
  virtual void StepDone(std::int64_t step) = 0;
};
// One JSON object a step, appended to a file.
Result<std::unique_ptr<Recorder>> RecordJsonLines(const std::string& path);

// vigil's own journal: rank-<rank>.vigil in the folder.
Result<std::unique_ptr<Recorder>> RecordJournal(const std::string& folder, int rank, int ranks);

struct Progress {
  std::int64_t step = 0;
  std::int64_t steps = 0;
  double loss = 0;
  double tokens_per_s = 0;
};

enum class Ending : std::uint8_t { kDone, kInterrupted, kDied };
struct Summary {
  Ending ending = Ending::kDone;
  std::int64_t last_step = 0;
  double first_loss = 0;
  double last_loss = 0;
  double seconds = 0;
  double tokens_per_s = 0;
  std::string message;  // why it died, or where the checkpoint is
};

// Trains, and writes into asked.out:
//   train.log           a line per step and what happened: the log of a plain trainer
//   metrics.jsonl       per-layer statistics, memory, times, batch fingerprints; metrics_rank0.jsonl and so on
//                       where there are several ranks
//   config.json         the settings
//   checkpoint-<step>/  weights and optimizer state (safetensors), enough to go on bit for bit
// `progress` is called by rank 0, in its process, after each step. Fails for settings that cannot be; a run that its
// fault kills is no failure. Forks when there are several ranks or the fault kills: call it from a process without
// threads.
Result<Summary> Train(const Options& asked, const std::function<void(const Progress&)>& progress);

// The options of the run that a checkpoint belongs to (folder of the checkpoint or of the run): everything but where
// to write.
Result<Options> OptionsOfCheckpoint(const std::string& path);

}  // namespace vigil::gym
