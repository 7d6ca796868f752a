// The sections of an unpacked payload, read to a visitor. Private to journal.
#pragma once

#include <cstdint>
#include <string_view>

#include "journal/columns.h"
#include "journal/journal.h"

namespace vigil::journal {

// How much more may be read.
struct Allowance {
  std::uint64_t samples = 0;
  std::uint64_t things = 0;  // entries, labels, columns and keys
  bool exceeded = false;

  bool Take(std::uint64_t count = 1) {
    exceeded = exceeded || count > things;
    if (!exceeded) things -= count;
    return !exceeded;
  }
};

// False when the payload does not parse or holds more than is allowed; what stands before that has been visited.
bool ReadPayload(std::string_view payload, Allowance& allowance, Column& scratch, std::uint64_t& samples,
                 Visitor& visitor);

// The content of a begin section.
bool ParseBegin(std::string_view content, Allowance& allowance, Begin& begin);

}  // namespace vigil::journal
