// Incidents: findings that are one story. A gradient spike, the divergence it led to and the NaN at its end are one
// incident, named by its root; an unrelated plateau is another.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "diagnose/view.h"
#include "model/finding.h"

namespace vigil::diagnose {

struct Incident {
  std::vector<const model::Finding*> findings;  // root first, then in the order they happened
  std::vector<std::uint32_t> indices;           // the same, as indices into what was given
  model::Position onset;                        // where the trouble began, companions aside
  model::Position last;                         // where it was seen last; unknown when no finding has a place

  const model::Finding& root() const { return *findings.front(); }
  bool Has(std::string_view id) const { return Find(id) != nullptr; }
  const model::Finding* Find(std::string_view id) const;
  std::size_t Count(std::string_view id) const;
  model::Severity worst() const;
  // Its root is a loss that never fell or stopped falling: there is no moment at which it failed.
  bool IsPassive() const;
  // Loss or gradient blew up or jumped, for good or for a while.
  bool HasBlowUp() const;
  // The earliest place among the findings with one of these ids, unknown when there is none.
  model::Position FirstOf(const model::AxisMap& axes, std::initializer_list<std::string_view> ids) const;
};

// A circumstance that is no trouble by itself: it joins the incident that it may have led to.
bool IsCompanion(std::string_view id);

// A lasting blow-up of loss or gradient, as opposed to a spike that healed.
bool IsBlowUp(std::string_view id);

// A finding about learning: how the loss, its gradients, the evaluation or a policy went.
bool IsAboutLearning(const model::Finding& finding);

// An incident that no detector found, only suspected from the whole run: the finding stands for it and must outlive it.
Incident SuspectedIncident(const model::Finding& suspected);

// A finding that repeats an error message of the log.
bool IsMessage(const model::Finding& finding);

// Groups findings into incidents. Config rules are facts for the diagnosis, never part of an incident. Every other
// finding is in exactly one.
std::vector<Incident> GroupIncidents(const RunView& run, const std::vector<model::Finding>& findings);

}  // namespace vigil::diagnose
