// Compressed files on their way to readers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ingest/bytes/byte_stream.h"
#include "ingest/bytes/unpack_budget.h"

namespace vigil::ingest {

// `stream` expanded, when `head`, what was read of it so far, begins like gzip, zstd, xz, bzip2 or lz4; null, and
// `stream` is left as it was, when it does not. Damage, an early end and too much growth are errors of the result,
// which come behind all that could be expanded. What comes out is counted in `budget`, unless that is null.
std::unique_ptr<ByteStream> ExpandIfCompressed(std::string_view head, std::unique_ptr<ByteStream>& stream,
                                               const std::string& path, UnpackBudget* budget);

}  // namespace vigil::ingest
