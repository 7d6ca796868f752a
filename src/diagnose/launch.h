// How a run is started again: its own command line where a log has it, else that of its framework, with a change and a
// checkpoint put in; and the one command to run next.
#pragma once

#include <optional>
#include <string>

#include "diagnose/remedy.h"

namespace vigil::diagnose {

struct Restarting {
  const model::Remedy* change = nullptr;  // may be null
  std::string checkpoint;                 // may be empty
};

// The command, or the line of code that goes on from the checkpoint where the framework has no option for it. Empty
// when neither is known.
std::string CommandFor(const RunView& run, const Restarting& with);

// Samples that all processes take in a step; nullopt where the run does not say.
std::optional<double> SamplesPerStep(const RunView& run);

// The data that a run should not see again, where the cause is a sample or a batch.
model::Statement DataToSkip(const RunView& run, const Incident& incident, std::string_view cause);

model::NextCommand NextCommandFor(const RunView& run, const Incident& incident, const model::Diagnosis& diagnosis,
                                  const std::string& checkpoint);

// The run once more with a change (may be null), from a checkpoint (may be empty). One that only its owner knows how to
// start is judged beside the run that it repeats.
model::NextCommand RepeatWith(const RunView& run, const model::Remedy* change, const std::string& checkpoint);

// The first remedy that is a value to set or a line to write; null when there is none.
const model::Remedy* FirstChange(const std::vector<model::Remedy>& remedies);

}  // namespace vigil::diagnose
