#include "textlog/shared_name.h"

#include <string>

#include "base/base.h"
#include "catalogue/catalogue.h"

namespace vigil::textlog {
namespace {

bool ReadValues(std::string_view text, std::array<double, 2>& values) {
  std::size_t used = 0;
  const auto first = ParseNumberPrefix(text, used);
  if (!first || used >= text.size() || text[used] != '/') return false;
  const auto second = ParseNumberPrefix(text.substr(used + 1), used);
  if (!second) return false;
  values = {*first, *second};
  return true;
}

// "Gen/Dis Loss", "D/G loss": what the halves are with the word that both share. The names are those of the catalogue,
// since no text holds them whole.
std::string_view SignalOfHalf(std::string_view half, std::string_view shared) {
  const auto meaning = catalogue::Interpret(std::string(half) + std::string(shared));
  return meaning && !meaning->weak ? meaning->signal : std::string_view();
}

}  // namespace

std::optional<SharedName> ReadSharedName(std::string_view name, std::string_view values) {
  SharedName pair;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || !ReadValues(values, pair.values)) return std::nullopt;
  const std::string_view first = name.substr(0, slash);
  const std::string_view second = name.substr(slash + 1);
  if (catalogue::Interpret(first) && catalogue::Interpret(second)) {
    pair.names = {first, second};
    return pair;
  }
  const std::size_t space = second.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  pair.names = {SignalOfHalf(first, second.substr(space)), SignalOfHalf(second.substr(0, space), second.substr(space))};
  const bool known = !pair.names[0].empty() && !pair.names[1].empty() && pair.names[0] != pair.names[1];
  return known ? std::optional(pair) : std::nullopt;
}

}  // namespace vigil::textlog
