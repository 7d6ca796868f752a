// Scoring: how well each cause explains an incident, from its prior and the answers to its evidence tests.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/evidence.h"
#include "diagnose/incident.h"

namespace vigil::diagnose {

// One answered question and what it does to the cause it was asked for.
struct Weighed {
  const catalogue::EvidenceRow* row = nullptr;  // null for what a log message says
  Answer answer;
  double weight = 0;  // natural-log odds added to the cause
};

struct Candidate {
  const catalogue::CauseRow* cause = nullptr;
  double score = 0;       // log odds against "none of these"
  double confidence = 0;  // share of the softmax over all candidates and "none of these", capped
  double support = 0;     // sum of the positive weights
  std::vector<Weighed> answered;
  std::vector<const catalogue::EvidenceRow*> unanswered;
  std::vector<catalogue::EvidenceWeight> unanswered_weights;  // beside `unanswered`
};

// The causes that could explain the incident, best first; ties by the order of the rows.
std::vector<Candidate> ScoreCauses(const RunView& run, const Incident& incident);

// The question without an answer that would move the two apart most; null when every such question is answered.
const catalogue::EvidenceRow* Separator(const Candidate& first, const Candidate& second);

}  // namespace vigil::diagnose
