#include "platform/memory_budget.h"

#include <algorithm>
#include <utility>

#include "platform/clock.h"

namespace vigil::platform {
namespace {

// So many allocations take some tenths of a millisecond at least; the clock costs less than one.
constexpr std::uint32_t kAllocationsBetweenLooks = 4096;

constinit thread_local const MemoryScope* innermost = nullptr;
constinit thread_local std::uint32_t allocations = 0;
constinit thread_local bool was_refused = false;
constinit thread_local Refusal last_refusal;

void Refuse(const MemoryBudget& budget, bool is_late) {
  was_refused = true;
  last_refusal = {budget.of, budget.most_bytes, is_late};
}

bool IsLate() {
  const double now = ThreadSeconds();
  for (const MemoryScope* scope = innermost; scope != nullptr; scope = scope->outer()) {
    if (now <= scope->budget().until_thread_s) continue;
    Refuse(scope->budget(), true);
    return true;
  }
  return false;
}

bool TakeFrom(MemoryBudget& budget, std::int64_t bytes) {
  if (budget.allocations_left == 0) {
    budget.has_failed = true;
    if (budget.fails_once) budget.allocations_left = -1;
    return false;
  }
  if (budget.allocations_left > 0) --budget.allocations_left;
  // Not as a difference: what is used may be below 0, and the most be the largest number there is.
  if (budget.used_bytes + bytes > budget.most_bytes) {
    budget.is_exceeded = true;
    Refuse(budget, false);
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

std::optional<Refusal> TakeRefusal() {
  if (!std::exchange(was_refused, false)) return std::nullopt;
  return last_refusal;
}

bool TakeMemory(std::int64_t bytes) noexcept {
  if (innermost == nullptr) return true;
  if (++allocations % kAllocationsBetweenLooks == 0 && IsLate()) return false;
  for (const MemoryScope* scope = innermost; scope != nullptr; scope = scope->outer()) {
    if (TakeFrom(scope->budget(), bytes)) continue;
    GiveBackUpTo(scope, bytes);
    return false;
  }
  return true;
}

void GiveMemoryBack(std::int64_t bytes) noexcept { GiveBackUpTo(nullptr, bytes); }

}  // namespace vigil::platform
