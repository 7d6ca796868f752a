// Faults: each a mechanism in settings, data, model or process. No logged number is touched.
#pragma once

#include <cstdint>
#include <vector>

#include "gym/model.h"
#include "gym/optimizer.h"

namespace vigil::gym {

// A fault as one rank meets it. Without a fault every call does nothing.
class Sabotage {
 public:
  Sabotage(const Options& options, int rank);

  // The settings as faults of the settings leave them.
  static Options ChangedOptions(Options options);

  // A batch of this step, as it comes from the loader.
  void SpoilBatch(std::int64_t step, int vocabulary, Batch& batch);
  // Seconds that loading takes longer, where a step usually takes `usual_s`.
  double LoadingDelay(std::int64_t step, double usual_s) const;
  // Model and optimizer before the step.
  void SpoilModel(std::int64_t step, Model& model, AdamW& adam);
  // Passes over the batch whose result nobody uses.
  int NeedlessPasses(std::int64_t step) const;
  // Before the gradients are exchanged: may never return.
  void MeetOthers(std::int64_t step) const;
  // The training was set back to before this step: data and accidents of it do not come again.
  void MovePast(std::int64_t step) { passed_ = passed_ || step >= onset_; }
  // What is kept after the step and never given back.
  void Leak(std::int64_t step);

  // The run is killed a while after `onset`, and goes on from the checkpoint of that step.
  static bool IsResume(const Options& options);
  static bool SavesOptimizer(const Options& options) { return options.fault != "resume-without-optimizer"; }
  static bool RestoresData(const Options& options) { return options.fault != "resume-data-restart"; }

 private:
  bool Is(std::string_view name) const { return name_ == name; }
  bool IsAt(std::string_view name, std::int64_t step) const { return name_ == name && step == onset_ && !passed_; }
  bool IsFrom(std::string_view name, std::int64_t step) const { return name_ == name && step >= onset_; }
  void FlipBit(Model& model) const;

  std::string name_;
  std::int64_t onset_;
  double strength_;
  std::uint64_t seed_;
  bool is_last_rank_;
  bool passed_ = false;  // what happens once has happened
  std::vector<std::vector<char>> leaked_;
};

}  // namespace vigil::gym
