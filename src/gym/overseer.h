// The guard of a run of the gym: rank 0 asks it, all ranks obey, and a control file may change it while the run goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guard/guard.h"
#include "gym/gym.h"
#include "gym/ranks.h"

namespace vigil::gym {

struct Verdict {
  guard::Action action = guard::Action::kGo;
  std::int64_t rollback_to = model::kNoStep;
  std::vector<Note> notes;  // to be recorded; on rank 0 only
};

class Overseer {
 public:
  Overseer(const Options& options, Group& group);

  // The same verdict on every rank. Fails when a rank does not come.
  Result<Verdict> Judge(std::int64_t step, double loss, double grad_norm);
  void NoteCheckpoint(std::int64_t step) { guard_.NoteCheckpoint(step); }
  void NoteRollback(std::int64_t step) { guard_.NoteRollback(step); }

 private:
  // Takes what the control file says, when it has changed.
  void LookAtControl(std::vector<Note>& notes);

  Group& group_;
  guard::Options given_;
  guard::Guard guard_;
  std::string control_;
  std::uint64_t looked_ns_ = 0;
  double modified_unix_s_ = -1;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace vigil::gym
