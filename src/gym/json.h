// Text as JSON has it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/base.h"

namespace vigil::gym {

inline std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : ValidUtf8(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace vigil::gym
