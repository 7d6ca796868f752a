// Why nothing was read from a file, as people see it.
#pragma once

#include <string>

#include "ingest/ingest.h"
#include "report/report.h"

namespace vigil {

inline std::string WhyNot(const ingest::ReadFailure& failure) {
  return failure.path + ": " + report::WhyUnread({failure.path, failure.message, failure.notes});
}

}  // namespace vigil
