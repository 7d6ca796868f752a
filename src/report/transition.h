// While findings and diagnoses carry sentences beside statements: the statement where there is one, else the sentence.
// To be deleted with the sentences: Either(a, b) becomes Sentence(a), SaysSame becomes SameStatement, and the rest
// goes.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"
#include "report/sentence.h"

namespace vigil::report::transition {

inline std::string Either(const model::Statement& says, const std::string& text) {
  return says.empty() ? text : Sentence(says);
}

inline std::vector<std::string> Either(const std::vector<model::Statement>& says,
                                       const std::vector<std::string>& texts) {
  if (says.empty()) return texts;
  std::vector<std::string> sentences;
  for (const model::Statement& one : says) sentences.push_back(Sentence(one));
  return sentences;
}

inline bool SaysSame(const model::Statement& a, const std::string& a_text, const model::Statement& b,
                     const std::string& b_text) {
  return a.empty() && b.empty() ? a_text == b_text : model::SameStatement(a, b);
}

// A sentence without a statement cannot be asked for its positions, only searched.
inline bool Mentions(const model::Statement& says, const std::string& text, const std::string& wanted,
                     model::Position position) {
  return says.empty() ? text.find(wanted) != std::string::npos : report::Mentions(says, position);
}

inline std::vector<model::Rival> RivalsOf(const model::Diagnosis& diagnosis) {
  if (!diagnosis.rivals.empty() || diagnosis.rival.empty()) return diagnosis.rivals;
  return {{diagnosis.rival, diagnosis.rival_confidence, {}}};
}

}  // namespace vigil::report::transition
