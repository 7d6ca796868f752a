// What has been said about the runs that are watched, so that each alarm is raised once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/report.h"
#include "report/report.h"

namespace vigil::app {

class AlarmBook {
 public:
  // The alarms that the findings of now give rise to: a finding at `warning` or above that is new or has become more
  // severe, and one that no longer holds.
  std::vector<report::Alarm> Update(const model::Report& now) { return Update(now, false); }
  // The same at the end, and once more each alarm that stands with another first position or severity than it was
  // raised with: where a trouble began is seen better from behind.
  std::vector<report::Alarm> Conclude(const model::Report& now) { return Update(now, true); }

 private:
  std::vector<report::Alarm> Update(const model::Report& now, bool at_end);

  std::map<std::string, report::Alarm> raised_;  // each as it was last said
};

}  // namespace vigil::app
