// platform/memory_budget: how much memory, and processor time, a piece of work may take on this thread. What operator
// new gives is counted in programs that link the counting one (apps/counted_new); never in a library, which lives in
// other people's processes: there nothing is counted, and nothing ends early. What C libraries take with malloc
// (SQLite, libarchive, compression) is not counted: their own limits bound it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace vigil::platform {

struct MemoryBudget {
  std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();
  // Less what was given back within a scope of this budget. What is freed when no scope of it lives stays counted
  // (points that somebody else shares), and what was taken elsewhere and is freed in one makes it less, also below 0.
  std::int64_t used_bytes = 0;
  // By the clock of ThreadSeconds. Looked at now and then when memory is taken: work that takes none is not ended.
  double until_thread_s = std::numeric_limits<double>::infinity();
  std::string_view of = {};  // whose budget it is, for Refusal
  std::int64_t peak_bytes = 0;
  bool is_exceeded = false;
  // For tests: so many allocations succeed, the next one fails, and all behind it unless it `fails_once`; none does
  // where it is below 0.
  std::int64_t allocations_left = -1;
  bool fails_once = false;
  bool has_failed = false;
};

// Why the last allocation was refused.
struct Refusal {
  std::string_view of;
  std::int64_t most_bytes = 0;
  bool is_late = false;  // the time was over, not the memory
};
// Of this thread, since the last call; nothing when none was refused by a budget.
std::optional<Refusal> TakeRefusal();

// While it lives, what this thread allocates counts against the budget; beyond it operator new throws std::bad_alloc.
// Within another scope it counts against both budgets, and stays counted in the outer one when the inner scope ends. A
// budget has at most one scope at a time.
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
