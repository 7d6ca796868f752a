// Mutations that keep the framing of a format whole: an input is taken apart into its frames, frames and their contents
// are changed, and it is put together again with lengths and checksums made right. No fuzzer guesses a checksum, and
// what lies behind one would never be reached without this.
//
// Every mutator takes any input, also one that does not parse, and is a function of the bytes, the seed and what the
// byte mutator does; nothing here knows libFuzzer (mutator.h does).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace vigil::fuzz {

// Changes `bytes` somehow, to no more than `most_bytes`: libFuzzer's own mutations, or a stand-in.
using ByteMutator = std::function<void(std::string& bytes, std::size_t most_bytes)>;

// The choices of one mutation: the same seed, the same choices.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next();
  std::size_t Below(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(Next() % count); }
  bool OneIn(std::size_t count) { return Below(count) == 0; }
  // A number that readers may stumble over: around zero, around powers of two, all ones, or any.
  std::uint64_t OddNumber();

 private:
  std::uint64_t state_;
};

struct Mutation {
  Chance chance;
  std::size_t most_bytes;  // of the result
  ByteMutator mutate;
};

// What a mutation grows an input to, where there is room: past the pieces of 64 KiB in which files are read.
inline constexpr std::size_t kLargeBytes = std::size_t{80} << 10U;

// The result is no longer than `how.most_bytes`.
using Mutator = std::string (*)(std::string_view input, Mutation& how);
std::string MutateJournal(std::string_view input, Mutation& how);
std::string MutateTfevents(std::string_view input, Mutation& how);
std::string MutateWandb(std::string_view input, Mutation& how);
// A pickle, several in a row, or the one in torch's archive.
std::string MutatePickle(std::string_view input, Mutation& how);
// A database image, and the write-ahead log that may stand behind it (see FindLog).
std::string MutateSqlite(std::string_view input, Mutation& how);

// Where in the input of the target a write-ahead log begins: the first multiple of 512 with its magic number; the size
// of the input when there is none.
std::size_t FindLog(std::string_view input);

}  // namespace vigil::fuzz
