// The order in which parts are joined, as a table. What comes first is what is surest: a merge cannot be taken back,
// and every later pass sees its result.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assemble/unit.h"

namespace vigil::assemble {

struct Pass {
  std::string_view name;
  model::Statement (*because)();   // the fact that decides
  model::Statement (*why_here)();  // why it stands at this place of the order
  // Units of equal key are given to `join_group` together. A pass without a key sees all units (`join_all`).
  std::string (*key)(const Unit& unit) = nullptr;
  void (*join_group)(std::vector<Unit*>& members) = nullptr;
  void (*join_all)(std::vector<Unit>& units) = nullptr;
};

std::span<const Pass> Passes();

// All of them, in order. Each source that a pass moves into another unit keeps the pass as the reason.
void RunPasses(std::vector<Unit>& units);

}  // namespace vigil::assemble
