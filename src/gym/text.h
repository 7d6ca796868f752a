// The text that comes along: small stories from a grammar, the same for everybody.
#pragma once

#include <cstddef>
#include <string>

namespace vigil::gym {

// About `size_bytes` of English-like text. Who does what, where and with what is fixed within a story, so that context
// helps a model that has learned to use it.
std::string WriteStories(std::size_t size_bytes);

}  // namespace vigil::gym
