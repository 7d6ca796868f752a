// Names of files that say that settings are in them.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/base.h"

namespace vigil::formats {

// A file that is called what it is.
inline bool SaysSettings(std::string_view path) {
  const std::string name = ToLower(path.substr(path.rfind('/') + 1));
  constexpr std::array<std::string_view, 6> kWords = {"config", "args", "arguments", "params", "settings", "opts"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

}  // namespace vigil::formats
