// A finding that no detector made, with what its row says of it.
#pragma once

#include <string_view>

#include "catalogue/catalogue.h"
#include "model/finding.h"

namespace vigil::diagnose {

// Family and severity are those of the row, unless the user changed them; place and words are the caller's.
inline model::Finding NewFinding(std::string_view id, const catalogue::Thresholds& thresholds) {
  model::Finding finding;
  finding.id = id;
  if (const catalogue::FindingRow* row = catalogue::FindFinding(id)) {
    finding.family = row->family;
    finding.severity = thresholds.SeverityOf(id, row->severity);
  }
  return finding;
}

}  // namespace vigil::diagnose
