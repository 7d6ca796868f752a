// vigil's own journals (rank-<n>.vigil): what a recorder in the training process wrote. The format is in
// doc/formats/journal.md.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseJournal(const Probe& probe);
std::unique_ptr<Reader> OpenJournal(PartBuilder& builder);

// Facts that tell which journals belong together.
inline constexpr std::string_view kJournalRun = "vigil.run";
inline constexpr std::string_view kJournalRank = "vigil.rank";
inline constexpr std::string_view kJournalPart = "vigil.part";

}  // namespace vigil::import
