// Where a journal that another process began ends, and how much of the ring it holds. Private to journal.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "journal/journal.h"
#include "platform/recording.h"

namespace vigil::journal {

struct JournalEnd {
  std::uint32_t number = 0;  // of the block that is due
  std::array<Position, kLanes> positions = {};
};

// `committed`: where a block is known to begin, near the end. An Error when the file cannot be read: what is appended
// to a journal whose end is not known would be taken for what it holds already.
Result<JournalEnd> ReadEnd(const platform::AppendFile& file, std::uint64_t committed);

// The id of the ring that the journal was written from.
Result<std::string> ReadRingId(const platform::AppendFile& file);

// What a block says about who writes.
Begin ReadBegin(std::string_view block);

}  // namespace vigil::journal
