// tabular/digits: whether a number at the end of an unfinished line is all there.
#pragma once

#include <span>
#include <string_view>

namespace vigil::tabular {

// A file that does not end with a line feed may have been cut within its last number: 2.0746 becomes 2.07, 3.1e-05
// becomes 3.1. What is no number has no digits to lose; a finite one is believed when it has as many as those that
// stood in its place before.
bool HasAllDigits(std::string_view text, std::span<const double> before);

}  // namespace vigil::tabular
