// Scoring: how well each cause explains an incident, from its prior and the answers to its evidence tests.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/evidence.h"
#include "diagnose/fitted.h"
#include "diagnose/incident.h"
#include "diagnose/measures.h"

namespace vigil::diagnose {

// One answered question and what it does to the cause it was asked for.
struct Weighed {
  const catalogue::EvidenceRow* row = nullptr;  // null for what a log message says
  Answer answer;
  double weight = 0;  // natural-log odds added to the cause
};

// A question that the run leaves open, and how far an answer could move the cause.
struct OpenQuestion {
  std::string_view id;     // of the evidence test or measure
  std::string_view needs;  // what must be logged for an answer, as the row says it
  model::Statement asks;   // the same as a statement
  double if_true = 0;      // of a measure: the most that any of its levels adds
  double if_false = 0;     // and the least
};

struct Candidate {
  const catalogue::CauseRow* cause = nullptr;
  double score = 0;       // log odds against "none of these"
  double confidence = 0;  // share of the softmax over all candidates and "none of these", capped
  double support = 0;     // sum of the positive weights
  std::vector<Weighed> answered;
  std::vector<OpenQuestion> unanswered;
};

// What is known of a run once, for all of its incidents.
struct Examined {
  const RunView& run;
  const RunDigest& digest;
  std::vector<Measured> measures;
  const FittedModel& model;
};

// The causes that could explain the incident, best first; ties by the order of the rows. Where the incident is about
// learning, the fitted model adds to what the rows say, and knows causes that no row weighs.
std::vector<Candidate> ScoreCauses(const Examined& examined, const Incident& incident);

// By the weights of the rows alone, in their order.
std::vector<Candidate> ScoreByRows(const RunView& run, const Incident& incident);

// The question without an answer that would move the two apart most; null when every such question is answered.
const OpenQuestion* Separator(const Candidate& first, const Candidate& second);

}  // namespace vigil::diagnose
