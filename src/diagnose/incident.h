// Incidents: findings that are one story. A gradient spike, the divergence it led to and the NaN at its end are one
// incident, told at its root; an unrelated plateau is another.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "model/model.h"

namespace vigil::diagnose {

struct Incident {
  std::vector<const model::Finding*> findings;  // root first, then in the order they happened
  std::vector<std::uint32_t> indices;           // the same, as indices into what was given
  std::int64_t onset = model::kNoStep;          // first step of trouble, companions aside
  std::int64_t last = model::kNoStep;

  const model::Finding& root() const { return *findings.front(); }
  bool Has(std::string_view id) const { return Find(id) != nullptr; }
  const model::Finding* Find(std::string_view id) const;
  std::size_t Count(std::string_view id) const;
  model::Severity worst() const;
  // Told at a loss that never fell or stopped falling: there is no moment at which it failed.
  bool IsPassive() const;
  // Loss or gradient blew up or jumped, for good or for a while.
  bool HasBlowUp() const;
  // The earliest first step among the findings with one of these ids, kNoStep when there is none.
  std::int64_t FirstStepOf(std::initializer_list<std::string_view> ids) const;
};

// A circumstance that is no trouble by itself: it joins the incident that it may have led to.
bool IsCompanion(std::string_view id);

// A lasting blow-up of loss or gradient, as opposed to a spike that healed.
bool IsBlowUp(std::string_view id);

// Groups findings into incidents. Config rules are facts for the diagnosis, never part of an incident. Every other
// finding is in exactly one.
std::vector<Incident> GroupIncidents(const model::Run& run, const std::vector<model::Finding>& findings);

}  // namespace vigil::diagnose
