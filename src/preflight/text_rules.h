// Rules that only the text of a file shows: types, unknown and repeated keys, damage, files that are missing.
#pragma once

#include <vector>

#include "model/run.h"
#include "preflight/preflight.h"

namespace vigil::preflight {

struct TextFindings {
  std::vector<model::ConfigBreach> breaches;
  std::vector<model::NotChecked> not_checked;
};

// `run` is the plan that the file belongs to: its method gives severities.
TextFindings CheckText(const configfile::File& file, const model::Run& run, const catalogue::Thresholds& thresholds);
model::ConfigBreach MissingFile(const configfile::File& file, const Reference& reference, const model::Run& run,
                                const catalogue::Thresholds& thresholds);

}  // namespace vigil::preflight
