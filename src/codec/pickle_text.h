// The texts of pickles that are lines: how protocol 0 writes them. Private to codec.
#pragma once

#include <string>
#include <string_view>

namespace vigil::codec::pickle {

// A str as python 3 writes it: bytes are characters below 256, others are \uXXXX and \UXXXXXXXX. Gives UTF-8; escapes
// that are none stay as they stand.
std::string FromRawUnicodeEscape(std::string_view line);

// A str of python 2: a literal in quotes with the usual escapes. Without quotes around it the line is given as it
// stands.
std::string FromQuoted(std::string_view line);

}  // namespace vigil::codec::pickle
