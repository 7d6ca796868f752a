// platform/memory_budget: how much memory a piece of work may take on this thread. What operator new gives is counted
// in programs that link the counting one (apps/counted_new); never in a library, which lives in other people's
// processes: there nothing is counted, and nothing ends early.
#pragma once

#include <cstdint>
#include <limits>

namespace vigil::platform {

struct MemoryBudget {
  std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();
  std::int64_t used_bytes = 0;  // less what was given back; below 0 when that was taken elsewhere
  std::int64_t peak_bytes = 0;
  bool is_exceeded = false;
  // For tests: so many allocations succeed, the next one fails, and all behind it unless it `fails_once`; none does
  // where it is below 0.
  std::int64_t allocations_left = -1;
  bool fails_once = false;
  bool has_failed = false;
};

// While it lives, what this thread allocates counts against the budget; beyond it operator new throws std::bad_alloc.
// Within another scope it counts against both budgets.
class MemoryScope {
 public:
  explicit MemoryScope(MemoryBudget& budget);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  MemoryScope(MemoryScope&&) = delete;
  MemoryScope& operator=(MemoryScope&&) = delete;

  MemoryBudget& budget() const { return budget_; }
  const MemoryScope* outer() const { return outer_; }

 private:
  MemoryBudget& budget_;
  const MemoryScope* outer_;
};

// ---- for the counting operator new

// Whether so many bytes may be taken; they count from then on.
bool TakeMemory(std::int64_t bytes) noexcept;
void GiveMemoryBack(std::int64_t bytes) noexcept;

}  // namespace vigil::platform
