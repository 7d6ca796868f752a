// Lines that speak of an error which did not happen: advice, texts that a model wrote, counts of zero, and what a
// library tells when it goes another way.
#pragma once

#include <cstddef>
#include <string_view>

namespace vigil::textlog {

// Whether the error message at text[begin, end) is only mentioned by the line around it.
bool IsOnlyMentioned(std::string_view text, std::size_t begin, std::size_t end);

}  // namespace vigil::textlog
