// diagnose: from findings to causes. Findings that belong together form an incident; each cause that could explain its
// root is scored by evidence for and against, as the rows of the catalogue say; remedies are written as settings of the
// framework found. Pure. "Cannot tell" is an answer: then the measurement that would decide is named.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/fitted.h"
#include "model/finding.h"
#include "model/report.h"

namespace vigil::diagnose {

// The cause of an incident whose evidence does not name one.
inline constexpr std::string_view kUnknownCause = "unknown";

// Diagnoses of the run, most severe incident first, then the surer; one per incident. Rivals that the evidence does not
// separate are named in it, each with what would tell it from the cause. Incidents that are no more than `info` get
// none. `findings` must outlive nothing: diagnoses refer to them by index.
std::vector<model::Diagnosis> Diagnose(const model::Run& run, const std::vector<model::Finding>& findings,
                                       const catalogue::Thresholds& thresholds,
                                       const FittedModel& model = FittedModel::Shipped());

// What the run as a whole says about its findings. Where no detector found anything about learning and the fitted model
// is sure that something is wrong, a finding says so, at the severity that its certainty allows; a finding about the
// course of the loss in a run that the model takes for a sound one is a warning at most. Of a run that has not `ended`
// only trouble that is nearly certain is reported, and as a warning.
void Review(const model::Run& run, std::vector<model::Finding>& findings, const catalogue::Thresholds& thresholds,
            bool ended = true, const FittedModel& model = FittedModel::Shipped());

// The offset of a cause that nothing in the files shows (CauseRow::shown_by): far below the others, not impossible.
inline constexpr double kNotShown = -8;

// What a fit learns from: of the worst incident about learning, or, where there is none, of the suspicion that there is
// one, the columns of the model that hold and what the rows say for each of the causes.
struct Features {
  std::vector<std::size_t> columns;
  std::vector<double> offsets;
};
Features FeaturesOf(const model::Run& run, const std::vector<model::Finding>& findings,
                    const std::vector<std::string>& causes);

// Findings that several runs show beside each other, added to each run concerned: loss/seed-variance where runs that
// differ only in their seed end apart, repro/nondeterminism where runs of the same settings and seed differ. Runs count
// as the same where they state a seed and several settings, and all that they state is equal but for places and names.
void CompareRuns(std::vector<model::RunReport>& runs, const catalogue::Thresholds& thresholds);

// Which families could be checked with what the run left, and what would enable the others. A family with a finding was
// checked at least in part.
std::vector<model::Coverage> Cover(const model::Run& run, const std::vector<model::Finding>& findings);

// Config rules that the stated settings of the run break. Never above `warning`: a setting is a risk, not a failure.
std::vector<model::Finding> CheckConfig(const model::Run& run, const catalogue::Thresholds& thresholds);

// The names of the code that rows may refer to, in the order of their tables: evidence tests (evidence.toml `test`),
// proposals (remedies.toml `proposal`) and config checks (config_rules.toml `check`).
std::vector<std::string_view> EvidenceTestNames();
std::vector<std::string_view> ProposalNames();
std::vector<std::string_view> ConditionNames();  // and the conditions of remedies (remedies.toml `when`)
std::vector<std::string_view> ConfigCheckNames();

}  // namespace vigil::diagnose
