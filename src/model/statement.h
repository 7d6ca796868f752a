// model/statement: a message, as data. The id names a template of the catalogue; the arguments are what the template
// is filled with. Only report turns it into a sentence, so nothing before it needs to read one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/position.h"

namespace vigil::model {

// How a number is to be understood: it decides how report writes it.
enum class Unit : std::uint8_t { kPlain, kCount, kShare, kBytes, kSeconds };
std::string_view Name(Unit unit);  // "plain", "count", "share", "bytes", "seconds"

struct Quantity {
  double value = 0;
  Unit unit = Unit::kPlain;
};

struct Statement;

// Text as it stands in a file of the run, with the place; `line` 0 when it is not a line of text. Where the file has a
// record without words, `text` is empty and `says` has the statement of what it recorded.
struct Quote {
  Quote();
  Quote(std::string as_it_stands, std::string in_file, std::uint32_t in_line);

  std::string text;
  std::string path;
  std::uint32_t line = 0;
  std::vector<Statement> says;
};

// Names of metrics, settings, ranks, hosts: shown as they are.
struct Identifier {
  std::string text;
};
using Identifiers = std::vector<Identifier>;

struct Argument;

struct Statement {
  std::string id;  // of a template; empty when nothing is said
  std::vector<Argument> arguments;

  bool empty() const { return id.empty(); }
  // The argument of that name, null when there is none.
  const Argument* Find(std::string_view name) const;
};

// One filled place of a template. A clause is a statement inside another.
struct Argument {
  using Value =
      std::variant<Quantity, Position, PositionRange, Extent, Identifier, Identifiers, Quote, std::vector<Statement>>;
  std::string name;
  Value value;
};

// Whether both say the same: same template, same arguments.
bool SameStatement(const Statement& a, const Statement& b);

}  // namespace vigil::model
