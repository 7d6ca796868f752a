#include "platform/memory_budget.h"

#include <algorithm>

namespace vigil::platform {
namespace {

constinit thread_local const MemoryScope* innermost = nullptr;

bool TakeFrom(MemoryBudget& budget, std::int64_t bytes) {
  if (budget.allocations_left == 0) {
    budget.has_failed = true;
    if (budget.fails_once) budget.allocations_left = -1;
    return false;
  }
  if (budget.allocations_left > 0) --budget.allocations_left;
  if (bytes > budget.most_bytes - budget.used_bytes) {
    budget.is_exceeded = true;
    return false;
  }
  budget.used_bytes += bytes;
  budget.peak_bytes = std::max(budget.peak_bytes, budget.used_bytes);
  return true;
}

// To the scopes from the innermost to before `end`.
void GiveBackUpTo(const MemoryScope* end, std::int64_t bytes) {
  for (const MemoryScope* scope = innermost; scope != end; scope = scope->outer()) scope->budget().used_bytes -= bytes;
}

}  // namespace

MemoryScope::MemoryScope(MemoryBudget& budget) : budget_(budget), outer_(innermost) { innermost = this; }
MemoryScope::~MemoryScope() { innermost = outer_; }

bool TakeMemory(std::int64_t bytes) noexcept {
  for (const MemoryScope* scope = innermost; scope != nullptr; scope = scope->outer()) {
    if (TakeFrom(scope->budget(), bytes)) continue;
    GiveBackUpTo(scope, bytes);
    return false;
  }
  return true;
}

void GiveMemoryBack(std::int64_t bytes) noexcept { GiveBackUpTo(nullptr, bytes); }

}  // namespace vigil::platform
