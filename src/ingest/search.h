// Limits of the search for files below a path.
#pragma once

#include <cstddef>

namespace vigil::ingest {

// More files than this below a path are not looked at.
inline constexpr std::size_t kMostFiles = 2'000'000;

}  // namespace vigil::ingest
