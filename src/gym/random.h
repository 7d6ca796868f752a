// Random numbers that are the same everywhere, with a state that fits into a checkpoint.
#pragma once

#include <array>
#include <cstdint>

namespace vigil::gym {

// One step of splitmix64: spreads a seed over all bits.
constexpr std::uint64_t Mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// xoshiro256** (Blackman, Vigna).
class Random {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = seed = Mix(seed);
  }

  std::uint64_t Next() {
    const std::uint64_t result = Rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  double Uniform() { return static_cast<double>(Next() >> 11U) * 0x1p-53; }  // 0 <= u < 1
  std::uint64_t Below(std::uint64_t limit) { return Next() % limit; }        // limits here are far below 2^32
  // Near enough to a normal number for initial weights, and free of library functions that round differently.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

 private:
  static constexpr std::uint64_t Rotate(std::uint64_t value, unsigned by) {
    return (value << by) | (value >> (64 - by));
  }

  State state_ = {};
};

}  // namespace vigil::gym
