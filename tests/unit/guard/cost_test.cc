// What judging a step costs, as a count: it happens inside a training step, and allocates nothing there.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>

#include "guard/guard.h"

namespace {
std::uint64_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size); memory != nullptr) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace vigil::guard {
namespace {

// Spikes, restarts and levels that shift come in as well: the first of each may not allocate either.
TEST(GuardCost, AStepIsJudgedWithoutAnAllocation) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.03);
  detect::StepJudge judge(catalogue::Thresholds{});
  const std::uint64_t before = allocations;
  std::uint64_t spikes = 0;
  for (int step = 0; step < 5000; ++step) {
    if (step % 1700 == 1699) judge.Restart();
    const double level = step > 3000 ? 20 : 2;
    const double height = step % 90 == 89 ? 4 : 1;
    spikes +=
        judge.Judge(level * height * std::exp(noise(random)), height * std::exp(3 * noise(random))).IsSpike() ? 1 : 0;
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(spikes, 40U);
}

}  // namespace
}  // namespace vigil::guard
