// The training loop of one rank.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gym/checkpoint.h"
#include "gym/data.h"
#include "gym/faults.h"
#include "gym/overseer.h"
#include "gym/ranks.h"
#include "platform/files.h"

namespace vigil::gym {

// From one start of the processes to their end.
struct Stretch {
  std::string resume;             // checkpoint to begin from; empty: from new weights
  bool restore_data = true;       // the place in the data too
  std::int64_t save_at = 0;       // a checkpoint more
  bool save_optimizer = true;     // in that one
  std::int64_t killed_after = 0;  // the processes kill themselves after this step; 0: they go on to the last
};

class Loop {
 public:
  Loop(const Options& options, const Corpus& corpus, Group& group,
       const std::function<void(const Progress&)>& progress);

  // Trains to the end of the stretch, an interrupt, or the error that kills the run.
  Status Run(const Stretch& stretch);

 private:
  // What one step measured.
  struct Measured {
    double loss = 0;
    double grad_norm = 0;
    double rate = 0;
    double eval_loss = -1;
    double data_s = 0, compute_s = 0, exchange_s = 0, step_s = 0;
    std::uint64_t fingerprint = 0;
  };

  Status Open(const Stretch& stretch);
  Status MakeStep(std::int64_t step);
  std::vector<Batch> LoadBatches(std::int64_t step);
  Status Pass(const std::vector<Batch>& batches, std::int64_t step, Measured& measured);
  Status Exchange(std::int64_t step, Measured& measured);
  // What the guard says about the step; that it goes on, without one.
  Result<Verdict> Ask(std::int64_t step, const Measured& measured);
  void Update(const Measured& measured);
  Status SetBack(std::int64_t step, std::int64_t to);
  Status Report(std::int64_t step, const Measured& measured);
  Status OpenRecorder();
  void Record(std::int64_t step, const Measured& measured, double tokens_per_s);
  void Tell(std::int64_t step, const Note& note) {
    if (recorder_) recorder_->Tell(step, note);
  }
  void RecordLayers(std::int64_t step);
  void RecordActivations(std::int64_t step);
  Status Save(std::int64_t step, bool with_optimizer);
  Status Say(std::string_view line);
  double TokensPerSecond(double seconds) const;
  bool is_first() const { return group_.rank() == 0; }

  const Options& options_;
  Options tuned_;  // with the settings that the fault changes
  Group& group_;
  const std::function<void(const Progress&)>& progress_;
  ThreadPool pool_;
  Model model_;
  AdamW adam_;
  Loader loader_;
  Sabotage sabotage_;
  std::unique_ptr<platform::LineFile> log_;
  std::unique_ptr<Recorder> recorder_;  // nullptr: nothing is recorded
  std::unique_ptr<Overseer> overseer_;
  Place place_;
  double usual_s_ = 0;  // of a step without waiting, over the last few
  std::int64_t clipped_ = 0;
  bool stop_ = false;  // somebody was interrupted
};

}  // namespace vigil::gym
