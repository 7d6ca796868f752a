// Compressed files on their way to readers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ingest/bytes/byte_stream.h"

namespace vigil::ingest {

// `stream` expanded, when `head`, what was read of it so far, begins like gzip, zstd, xz, bzip2 or lz4; null, and
// `stream` is left as it was, when it does not. Damage, an early end and too much growth are errors of the result.
std::unique_ptr<ByteStream> ExpandIfCompressed(std::string_view head, std::unique_ptr<ByteStream>& stream,
                                               const std::string& path);

}  // namespace vigil::ingest
