// Two values under one name: "accuracy/loss: 0.67/0.998", "Gen/Dis Loss: 0.01/-0.02".
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace vigil::textlog {

struct SharedName {
  std::array<std::string_view, 2> names;  // of `name`, or constant
  std::array<double, 2> values = {};
};

// As many values as names, in their order; nothing where the name is one or the vocabulary does not know both halves.
std::optional<SharedName> ReadSharedName(std::string_view name, std::string_view values);

}  // namespace vigil::textlog
