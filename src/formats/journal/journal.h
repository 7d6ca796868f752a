// vigil's own journals (rank-<n>.vigil): what a recorder in the training process wrote. The format is in
// doc/formats/journal.md.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseJournal(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenJournal(ingest::PartBuilder& builder);

}  // namespace vigil::formats
