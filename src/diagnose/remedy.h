// Remedies: what to change, as settings of the framework found, with the value the run had and the one to try.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/incident.h"
#include "model/finding.h"

namespace vigil::diagnose {

struct Proposal {
  std::string current;  // empty when the run does not say
  std::string proposed;
  model::Statement in_words = {};  // where no value can be computed
};

// Computes a value from the run. nullopt when the remedy does not apply: the setting is already there.
using Propose = std::optional<Proposal> (*)(const RunView& run, const Incident& incident);

struct NamedProposal {
  std::string_view name;
  Propose propose;
};
std::span<const NamedProposal> Proposals();
Propose FindProposal(std::string_view name);

// The remedies of a cause that apply to the run, in the row's order. Their words are those of the row with their id.
std::vector<model::Remedy> RemediesFor(const catalogue::CauseRow& cause, const RunView& run, const Incident& incident);

// What the rows of the incident's own error messages say to do, those that could be its root first. At most two.
std::vector<model::Remedy> FixesOfMessages(const Incident& incident);

// Where to go on from: the last checkpoint before the trouble where one is known, else the place to stay before. Empty
// when a restart from a checkpoint is no part of the answer.
model::Statement RestartPoint(const RunView& run, const Incident& incident);

}  // namespace vigil::diagnose
