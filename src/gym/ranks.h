// Ranks as processes: an all-reduce over shared memory, with a limit on how long anybody waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "base/base.h"
#include "platform/process.h"

namespace vigil::gym {

inline constexpr int kMostRanks = 16;

// What the ranks and their launcher share.
struct Board {
  struct alignas(64) Seat {
    std::atomic<std::uint64_t> arrivals;  // at barriers so far
    std::atomic<std::int64_t> step;       // last one begun
    std::atomic<bool> failed;
    char message[512];  // why, when it failed
  };
  Seat seats[kMostRanks];
  std::atomic<std::int64_t> last_step;
  std::atomic<double> first_loss, last_loss, tokens_per_s;
  std::atomic<bool> interrupted;
  std::atomic<bool> abandoned;  // a rank has died: nobody is to wait for it
};

class Group {
 public:
  // Memory for `ranks` that exchange `count` numbers. Made by the launcher before it forks.
  static Result<Group> Create(int ranks, std::size_t count, double timeout_s);

  Board& board() const { return *static_cast<Board*>(memory_.data()); }
  int ranks() const { return ranks_; }

  // In the process of a rank: which one it is.
  void Join(int rank) { rank_ = rank; }
  int rank() const { return rank_; }
  // The mean over all ranks, the same bits on each: summed in the order of the ranks. Fails when a rank does not come.
  Status Mean(std::span<float> values);

 private:
  Group(platform::FamilyMemory memory, int ranks, std::size_t count, double timeout_s)
      : memory_(std::move(memory)), ranks_(ranks), count_(count), timeout_s_(timeout_s) {}
  float* SlotOf(int rank) const;  // the one behind the last holds the result
  Status Meet();

  platform::FamilyMemory memory_;
  int ranks_;
  int rank_ = 0;
  std::size_t count_;
  double timeout_s_;
};

}  // namespace vigil::gym
