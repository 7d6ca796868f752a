// Candidates by the fitted model.
#pragma once

#include <vector>

#include "diagnose/score.h"

namespace vigil::diagnose {

// Every cause of the model with its score and what moved it. Empty where the incident is not about learning.
std::vector<Candidate> ScoreFitted(const Examined& examined, const Incident& incident);

// What a measure says, as a sentence.
model::Statement SaysMeasured(const Measured& measured);

}  // namespace vigil::diagnose
