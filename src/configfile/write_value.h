// Values and keys as each notation writes them.
#pragma once

#include <string>
#include <string_view>

#include "configfile/configfile.h"

namespace vigil::configfile {

// `replaced`: the value that stood there, or null; a number with a fraction stays one.
std::string WriteValue(Notation notation, const NewValue& value, const Entry* replaced);
std::string WriteKey(Notation notation, std::string_view key);

}  // namespace vigil::configfile
