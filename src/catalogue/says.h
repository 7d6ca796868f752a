// catalogue/says: the sentences of the catalogue as types. Each template of rows/*.toml is a struct with a field for
// every place in it; a struct turns into a model::Statement. A field that is left out, or of another type, does not
// compile.
//
//   finding.says = says::LossSpikeOne{.metric = "loss", .peak = 12.5, .ratio = 4, .at = position, .ended = clause};
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/statement.h"

namespace vigil::says {

// An argument that must be given: it has no default.
template <class T>
struct Arg {
  T value;

  template <class From>
    requires(std::convertible_to<From &&, T> || std::constructible_from<T, From &&>)
  Arg(From&& from) : value(static_cast<T>(std::forward<From>(from))) {}  // NOLINT
};

// NOLINTBEGIN(google-explicit-constructor, hicpp-explicit-conversions)
#include "catalogue/says.inc"
// NOLINTEND(google-explicit-constructor, hicpp-explicit-conversions)

}  // namespace vigil::says
