// Event files that one writer put into folders below its own: torch's add_scalars opens a folder for each of its
// curves, add_hparams one for the settings. They belong to the run above them.
#pragma once

#include <string>
#include <vector>

#include "ingest/ingest.h"
#include "model/run.h"

namespace vigil::assemble {

// For each part the folder of the writer that opened its file, empty where that is the file's own folder. Curves of
// add_scalars are all named alike in their files; they get the names that tell them apart ("loss/train", "loss/val").
std::vector<std::string> WriterFolders(std::vector<model::Run>& parts, ingest::FormatTable formats);

}  // namespace vigil::assemble
