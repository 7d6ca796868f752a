#include "diagnose/bounds_finding.h"

#include <algorithm>

#include "catalogue/catalogue.h"
#include "diagnose/curve.h"

namespace vigil::diagnose {

model::Finding BoundFinding(const RunDigest& digest, std::string_view id, std::string_view signal, std::size_t first,
                            std::size_t last) {
  model::Finding finding;
  finding.id = id;
  if (const catalogue::FindingRow* row = catalogue::FindFinding(id)) finding.family = row->family;
  finding.severity = model::Severity::kWarning;
  finding.signal = signal;
  const Course course = LastCourse(digest.run(), signal);
  if (course.size() == 0) return finding;
  finding.labels = digest.run().Find(signal)->labels;
  finding.first = course.PositionOf(std::min(first, course.size() - 1));
  finding.last = course.PositionOf(std::min(last, course.size() - 1));
  return finding;
}

model::Finding BoundFinding(const RunDigest& digest, std::string_view id, std::string_view signal, std::size_t first) {
  const Digest* metric = digest.Of(signal);
  return BoundFinding(digest, id, signal, first, metric == nullptr ? 0 : metric->points - 1);
}

const Digest* LossOf(const RunDigest& digest, std::size_t fewest) {
  const Digest* loss = digest.IsReinforcement() ? nullptr : digest.Of("loss");
  return loss == nullptr || loss->size() < fewest ? nullptr : loss;
}

}  // namespace vigil::diagnose
