// What is left aside among the files of a directory, without a word unless asked for.
#pragma once

#include <string_view>

#include "base/base.h"

namespace vigil::ingest {

// Whether a file met on the way that fails so is of no use to vigil, rather than one that should have been read: a text
// that only looked like a log for a moment is no loss, one with damage in it is.
bool IsOfNoUse(ErrorCode code);

// Whether a file that is left aside for this reason may still hold what a training printed: notes, a model card, a
// notebook. It is opened where a directory holds nothing else.
bool MayHoldMetrics(std::string_view reason);

// Why a file met in a directory is not opened: its name is known to hold nothing for vigil, so that a directory of
// weights is not opened file by file. Empty when it may hold something.
std::string_view WhyIgnored(std::string_view path);

}  // namespace vigil::ingest
