// diagnose: from findings to causes. Findings that belong together form an incident; each cause that could explain its
// root is scored by evidence for and against, as the rows of the catalogue say; remedies are written as settings of the
// framework found. Pure. "Cannot tell" is an answer: then the measurement that would decide is named.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "model/model.h"

namespace vigil::diagnose {

// Diagnoses of the run, best first, one per incident (with rivals that the evidence does not separate merged into it).
// `findings` must outlive nothing: diagnoses refer to them by index.
std::vector<model::Diagnosis> Diagnose(const model::Run& run, const std::vector<model::Finding>& findings,
                                       const catalogue::Settings& settings);

// Which families could be checked with what the run left, and what would enable the others.
std::vector<model::Coverage> Cover(const model::Run& run);

}  // namespace vigil::diagnose
