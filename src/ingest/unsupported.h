// Files that matter to a diagnosis and that vigil cannot read yet: named, instead of passed over in silence.
#pragma once

#include <string_view>

namespace vigil::ingest {

// What such a file is ("a profiler trace: not supported yet"), by its name and, where it was opened, its beginning.
// Empty for every other file.
std::string_view WhyUnsupported(std::string_view path, std::string_view head);

}  // namespace vigil::ingest
