// Remedies: what to change, as settings of the framework found, with the value the run had and the one to try.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "diagnose/incident.h"
#include "model/finding.h"

namespace vigil::diagnose {

// Another setting that changes with the first.
struct ProposedToo {
  std::string_view remedy;  // whose row names the setting in each framework
  std::string current;
  std::string proposed;
};

struct Proposal {
  std::string current;  // empty when the run does not say
  std::string proposed;
  model::Statement in_words = {};      // where no value can be computed
  model::Statement reason = {};        // why this value; empty: what the row says
  std::vector<ProposedToo> also = {};  // keeps the effective batch, ...
};

// Computes a value from the run. nullopt when the remedy does not apply: the setting is already there.
using Propose = std::optional<Proposal> (*)(const RunView& run, const Incident& incident);

struct NamedProposal {
  std::string_view name;
  Propose propose;
};
// By what they change: the learning rate, its schedule and the clip limit; batches and memory; the rest.
std::span<const NamedProposal> RateProposals();
std::span<const NamedProposal> MemoryProposals();
std::span<const NamedProposal> OtherProposals();
Propose FindProposal(std::string_view name);

// Texts that proposals share: two digits are as precise as such advice is; a whole number; what the run states.
std::string Rounded(double value);
std::string Whole(double value);
std::string StatedValue(const RunView& run, std::string_view key);

// Whether a condition of a row holds for the run and the incident. An unknown name holds never.
bool Applies(std::string_view condition, const RunView& run, const Incident& incident);

// The framework in whose words settings are given: that of the run, or what its own config files show.
std::string_view SettingsFramework(const RunView& run);

// The remedies of a cause that apply to the run, in the row's order. Their words are those of the row with their id.
std::vector<model::Remedy> RemediesFor(const catalogue::CauseRow& cause, const RunView& run, const Incident& incident);
// One remedy by its id, where it applies.
std::optional<model::Remedy> RemedyFor(std::string_view id, const RunView& run, const Incident& incident);

// The remedies that set a stated value back which is far from all that is usual, whatever the cause.
std::vector<model::Remedy> SetBack(const RunView& run, const Incident& incident);

// Whether the message only ended what went wrong before it: it is no failure, and not the root.
bool IsEndOnly(const model::Finding& finding, const Incident& incident);

// What the rows of the incident's own error messages say to do, those that could be its root first. At most two. Where
// a cause is named, only messages that are not known to mean another one.
std::vector<model::Remedy> FixesOfMessages(const Incident& incident, std::string_view cause);

// Where to go on from: the last checkpoint before the trouble where one is known, else the place to stay before. Empty
// when a restart from a checkpoint is no part of the answer.
struct RestartAdvice {
  model::Statement says;
  std::string checkpoint;  // its path or name, where there is one to start from
  bool is_needed = false;  // what was trained since the trouble is lost
};
RestartAdvice RestartPoint(const RunView& run, const Incident& incident);

}  // namespace vigil::diagnose
