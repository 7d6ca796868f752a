// A stored run as the pipeline reads it from files.
#pragma once

#include <vector>

#include "base/base.h"
#include "scale/record.h"

namespace vigil::scale {

// The runs that pipeline::ImportPaths makes of the folder that gym/scale/render.py writes in the style `jsonl`: the
// same bytes through the same readers, joined and classified in the same way, without files. Usually one.
std::vector<model::Run> MakeRuns(const StoredRun& stored);

// The record with its run. An Error when nothing could be read.
Result<Record> MakeRecord(StoredRun stored);

}  // namespace vigil::scale
