#include "textlog/name_memo.h"

#include "catalogue/catalogue.h"

namespace vigil::textlog {
namespace {

NameMemo::Known LookUp(std::string_view name) {
  NameMemo::Known known;
  known.setting = catalogue::InterpretFact(name);
  const auto meaning = catalogue::Interpret(name);
  if (!meaning) return known;
  known.signal = meaning->signal;
  known.is_weak = meaning->weak;
  return known;
}

}  // namespace

NameMemo::Known NameMemo::Find(std::string_view name) {
  if (const auto at = names_.find(name); at != names_.end()) return at->second;
  const Known known = LookUp(name);
  if (name.size() > kLongestName) return known;
  if (names_.size() >= kMostNames) names_.clear();
  names_.emplace(name, known);
  return known;
}

}  // namespace vigil::textlog
