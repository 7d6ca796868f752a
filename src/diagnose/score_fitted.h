// Candidates by the fitted model.
#pragma once

#include <vector>

#include "diagnose/score.h"

namespace vigil::diagnose {

// What the model is asked about: the columns that hold, and what the rows say for each of its causes already.
struct Inquiry {
  std::vector<std::size_t> columns;
  std::vector<double> offsets;  // one for each cause of the model
};
// Of an incident that is only suspected the measures alone, and no offsets.
Inquiry InquiryOf(const Examined& examined, const Incident& incident, const std::vector<Candidate>& by_rows);

// Log odds of the causes of the model among each other.
std::vector<double> ScoresOf(const FittedModel& model, const Inquiry& inquiry);

// Adds what the model says to candidates that the rows weighed, and the causes that only the model knows. Nothing where
// the incident is not about learning.
void ScoreByModel(const Examined& examined, const Incident& incident, std::vector<Candidate>& candidates);

// How much of the score by rows counts beside the fitted weights.
inline constexpr double kTrustInRows = 1;

// What a measure says, as a sentence.
model::Statement SaysMeasured(const Measured& measured);

}  // namespace vigil::diagnose
