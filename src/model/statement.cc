#include "model/statement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace vigil::model {
namespace {

// NaN is the same value as itself here: both would be written alike.
bool SameNumber(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

struct Same {
  bool operator()(const Quantity& a, const Quantity& b) const {
    return a.unit == b.unit && SameNumber(a.value, b.value);
  }
  bool operator()(const Position& a, const Position& b) const { return SamePosition(a, b); }
  bool operator()(const PositionRange& a, const PositionRange& b) const {
    return SamePosition(a.first, b.first) && SamePosition(a.last, b.last);
  }
  bool operator()(const Extent& a, const Extent& b) const { return a.axis == b.axis && SameNumber(a.amount, b.amount); }
  bool operator()(const Identifier& a, const Identifier& b) const { return a.text == b.text; }
  bool operator()(const Identifiers& a, const Identifiers& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), *this);
  }
  bool operator()(const Quote& a, const Quote& b) const {
    return a.text == b.text && a.path == b.path && a.line == b.line && (*this)(a.says, b.says);
  }
  bool operator()(const std::vector<Statement>& a, const std::vector<Statement>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameStatement);
  }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

// Here, where a statement is known to the compiler.
Quote::Quote() = default;
Quote::Quote(std::string as_it_stands, std::string in_file, std::uint32_t in_line)
    : text(std::move(as_it_stands)), path(std::move(in_file)), line(in_line) {}

std::string_view Name(Unit unit) {
  constexpr std::array<std::string_view, 5> kNames = {"plain", "count", "share", "bytes", "seconds"};
  return kNames[static_cast<std::size_t>(unit)];
}

const Argument* Statement::Find(std::string_view name) const {
  const auto at =
      std::find_if(arguments.begin(), arguments.end(), [&](const Argument& argument) { return argument.name == name; });
  return at == arguments.end() ? nullptr : &*at;
}

// Clauses nest as deep as templates do, which are written by us.
bool SameStatement(const Statement& a, const Statement& b) {  // NOLINT(misc-no-recursion)
  return a.id == b.id && std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                                    [](const Argument& x, const Argument& y) {  // NOLINT(misc-no-recursion)
                                      return x.name == y.name && std::visit(Same(), x.value, y.value);
                                    });
}

}  // namespace vigil::model
