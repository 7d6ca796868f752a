// Texts of a file with a setting added or taken out, best place first. The caller checks that they are what was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "configfile/configfile.h"

namespace vigil::configfile {

std::vector<std::string> Insertions(const File& file, std::string_view path, const NewValue& value);
std::vector<std::string> Removals(const File& file, const Entry& entry);

}  // namespace vigil::configfile
