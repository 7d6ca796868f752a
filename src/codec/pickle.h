// codec/pickle: python pickles as plain data. The opcodes are followed as far as building values goes; nothing is
// imported and nothing is called, so that a hostile pickle is data like any other. Memory is bounded by the size of the
// input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vigil::codec::pickle {

enum class Kind : std::uint8_t {
  kNothing,  // None, and what is not understood
  kTruth,
  kWhole,
  kNumber,
  kText,    // str and bytes
  kList,    // lists, tuples and sets: `items`
  kDict,    // `items`: key, value, key, value ...
  kName,    // a class or function: `text` is "module.name"
  kObject,  // what calling `text` with `items` would make; `state`: what is set on it, or kNone
};

using Index = std::uint32_t;
inline constexpr Index kNone = 0xffffffffU;

struct Value {
  Kind kind = Kind::kNothing;
  bool truth = false;
  std::int64_t whole = 0;
  double number = 0;
  std::string text = {};
  std::vector<Index> items = {};
  Index state = kNone;
};

struct Document {
  std::vector<Value> values;
  Index root = kNone;
  std::vector<std::string> names;  // every "module.name" that the pickle imports, in order, once
  std::string problem;             // why it ended early; empty when it did not
  std::size_t size_bytes = 0;      // up to and with its STOP
};

// The pickle at the front of `bytes`.
Document Parse(std::string_view bytes);

// Whether a name is of no use to settings but to run programs: os.system, builtins.eval, subprocess.Popen ...
bool IsDangerous(std::string_view name);

}  // namespace vigil::codec::pickle
