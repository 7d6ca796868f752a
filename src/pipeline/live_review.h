// The review of a run that grows. Private to pipeline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "model/finding.h"
#include "model/run.h"

namespace vigil::pipeline {

// Applies diagnose::Review at every look while the run is short. A review reads the whole run, so that one with many
// points is reviewed again only when it has grown by a good part; until then the last review holds: what it found
// stays, and what it took for harmless is not raised again.
class LiveReview {
 public:
  void Apply(const model::Run& run, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& findings);

 private:
  void Remember(const std::vector<model::Finding>& before, const std::vector<model::Finding>& after);
  void ApplyRemembered(std::vector<model::Finding>& findings) const;

  std::size_t reviewed_points_ = 0;
  std::map<std::string, model::Severity, std::less<>> at_most_;  // by finding
  std::vector<model::Finding> added_;
};

}  // namespace vigil::pipeline
