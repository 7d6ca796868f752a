// The name of a number within the text before it.
#pragma once

#include <string_view>

namespace vigil::textlog {

// The name within the text between two numbers: without separators, brackets and what belongs to an earlier value.
std::string_view NameIn(std::string_view text);

// "training [time: 44.4s": what opens before the name and has not closed is no part of it.
std::string_view InsideBracket(std::string_view name);

// "val loss is 0.04", "avg loss so far is 0.06" name their values; "Loss is nan, stopping" is a message, so that this
// is only for finite ones.
std::string_view WithoutVerb(std::string_view name);

}  // namespace vigil::textlog
