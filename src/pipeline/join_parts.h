// Parts to runs, with what they are found out. Private to pipeline.
#pragma once

#include <vector>

#include "ingest/ingest.h"
#include "model/report.h"
#include "model/run.h"

namespace vigil::pipeline {

std::vector<model::Run> JoinParts(std::vector<model::Run> parts);
// The parts of each file on their own, where joining all of them failed. A file that fails again is named in `unread`.
std::vector<model::Run> JoinEach(std::vector<model::Run> parts, std::vector<model::Unread>& unread);
// The parts of files that grow, all together or else each file on its own.
std::vector<model::Run> JoinFollowed(const ingest::Follower& files, std::vector<model::Unread>& unread);

}  // namespace vigil::pipeline
