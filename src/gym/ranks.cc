#include "gym/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "platform/clock.h"
#include "platform/process.h"

namespace vigil::gym {
namespace {

std::size_t HeaderBytes() { return (sizeof(Board) + 63) / 64 * 64; }

}  // namespace

Result<Group> Group::Create(int ranks, std::size_t count, double timeout_s) {
  const std::size_t slots = ranks > 1 ? static_cast<std::size_t>(ranks) + 1 : 0;
  auto memory = platform::FamilyMemory::Create(HeaderBytes() + slots * count * sizeof(float));
  if (!memory) return Fail(memory.error());
  new (memory->data()) Board{};
  return Group(std::move(*memory), ranks, count, timeout_s);
}

float* Group::SlotOf(int rank) const {
  auto* const bytes = static_cast<std::byte*>(memory_.data()) + HeaderBytes();
  return reinterpret_cast<float*>(bytes) + static_cast<std::size_t>(rank) * count_;
}

// A barrier of counters: nobody resets anything, so whoever is missing can be named.
Status Group::Meet() {
  constexpr int kLooksBeforeSleep = 2000;
  constexpr double kNapSeconds = 20e-6;
  Board& shared = board();
  const std::uint64_t wanted = shared.seats[rank_].arrivals.fetch_add(1) + 1;
  const std::uint64_t since = platform::MonotonicNs();
  const auto is_missing = [&](int r) { return shared.seats[r].arrivals.load(std::memory_order_acquire) < wanted; };
  for (int look = 0, first = 0;; ++look) {
    while (first < ranks_ && !is_missing(first)) ++first;
    if (first == ranks_) return {};
    if (look < kLooksBeforeSleep) continue;
    if (shared.abandoned.load() || static_cast<double>(platform::MonotonicNs() - since) * 1e-9 > timeout_s_) break;
    platform::SleepSeconds(kNapSeconds);
  }
  std::vector<std::string> missing;
  for (int r = 0; r < ranks_; ++r) {
    if (is_missing(r)) missing.push_back(std::to_string(r));
  }
  const std::string how = shared.abandoned.load() ? "was given up" : fmt::format("timed out after {:g} s", timeout_s_);
  return Fail(ErrorCode::kInvalid, fmt::format("all-reduce {} in step {}: rank {} did not arrive", how,
                                               shared.seats[rank_].step.load(), vigil::Join(missing, ", ")));
}

Status Group::Mean(std::span<float> values) {
  if (ranks_ == 1) return {};
  std::memcpy(SlotOf(rank_), values.data(), values.size_bytes());
  if (Status met = Meet(); !met) return met;
  // Each rank adds up its share of the numbers for all.
  const std::size_t from = values.size() * static_cast<std::size_t>(rank_) / static_cast<std::size_t>(ranks_);
  const std::size_t to = values.size() * static_cast<std::size_t>(rank_ + 1) / static_cast<std::size_t>(ranks_);
  float* const result = SlotOf(ranks_);
  std::copy(SlotOf(0) + from, SlotOf(0) + to, result + from);
  for (int r = 1; r < ranks_; ++r) {
    const float* const slot = SlotOf(r);
    for (std::size_t i = from; i < to; ++i) result[i] += slot[i];
  }
  const float share = 1 / static_cast<float>(ranks_);
  for (std::size_t i = from; i < to; ++i) result[i] *= share;
  if (Status met = Meet(); !met) return met;
  std::memcpy(values.data(), result, values.size_bytes());
  return {};
}

}  // namespace vigil::gym
