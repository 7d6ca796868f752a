#include <fmt/format.h>

#include <array>

#include "base/base.h"

namespace vigil {

std::string_view Name(ErrorCode code) {
  constexpr std::array<std::string_view, 12> kNames = {"invalid", "not-found",    "permission",  "io",
                                                       "empty",   "unrecognised", "unsupported", "no-data",
                                                       "corrupt", "limit",        "busy",        "internal"};
  return kNames[static_cast<std::size_t>(code)];
}

std::string Error::Text() const {
  const std::string place = offset ? fmt::format("byte {}: ", *offset) : std::string();
  return path.empty() ? place + message : fmt::format("{}: {}{}", path, place, message);
}

}  // namespace vigil
