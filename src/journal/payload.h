// The sections of an unpacked payload, read to a visitor. Private to journal.
#pragma once

#include <cstdint>
#include <string_view>

#include "journal/columns.h"
#include "journal/journal.h"

namespace vigil::journal {

// False when the payload does not parse or holds more than `most` samples; what stands before that has been visited.
bool ReadPayload(std::string_view payload, std::uint64_t most, Column& scratch, std::uint64_t& samples,
                 Visitor& visitor);

// The content of a begin section.
bool ParseBegin(std::string_view content, Begin& begin);

}  // namespace vigil::journal
