// Files that are named by what was measured on: train.csv and val.csv hold the same names, one of training and one of
// the evaluation.
#pragma once

#include <string>
#include <vector>

#include "ingest/ingest.h"
#include "model/run.h"

namespace vigil::assemble {

// Where a folder has both, gives the names of the evaluation's file that place: `loss` of val.csv becomes `val/loss`.
void NameSplits(std::vector<model::Run>& parts);

// The same of event files in sibling folders, as Keras writes logs/train and logs/validation: both belong to the folder
// above, which takes their place in `folders`, the folder of each part's writer.
void JoinSplitFolders(std::vector<model::Run>& parts, ingest::FormatTable formats, std::vector<std::string>& folders);

}  // namespace vigil::assemble
