#include "detect/whole_run.h"

#include "detect/detectors.h"

namespace vigil::detect {

model::Finding FindingOfRow(std::string_view id, const catalogue::Thresholds& thresholds, model::PositionRange places,
                            model::Statement says) {
  const catalogue::FindingRow* row = catalogue::FindFinding(id);
  model::Finding finding;
  finding.first = places.first;
  finding.last = places.last;
  finding.says = std::move(says);
  finding.id = std::string(id);
  finding.family = row->family;
  finding.severity = thresholds.SeverityOf(id, row->severity);
  return finding;
}

void AddEvidenceAt(model::Finding& finding, model::Statement says, model::Position at, double value) {
  finding.evidence.push_back({std::move(says), at, value, {}, 0});
}

}  // namespace vigil::detect
