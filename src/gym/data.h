// Text to batches: every byte that occurs is a token; windows of the text are shuffled again in each epoch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gym/model.h"
#include "gym/random.h"

namespace vigil::gym {

struct Corpus {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> held_out;  // the last tenth
  int vocabulary = 0;                  // padded to a multiple of 16, as trainers do
};
// Reads the file, or writes the stories when `path` is empty. Fails when the text is too short for a window.
Result<Corpus> LoadCorpus(const std::string& path, int context);

// Where a loader stands: all that is needed to go on.
struct LoaderState {
  std::int64_t position = 0;  // samples handed out, of all ranks
  Random::State random = {};
};

class Loader {
 public:
  Loader(const Corpus& corpus, const Options& options);

  // The next batch of this rank. All ranks draw the samples of all, so that they stay in step.
  Batch Next(int rank, int ranks);
  // The same samples of the held-out text every time.
  Batch HeldOut() const;

  LoaderState state() const { return {position_, random_.state()}; }
  void Restore(const LoaderState& state);

 private:
  std::size_t NextWindow();
  void ShuffleEpoch();
  Batch Empty() const;
  void Take(const std::vector<std::int32_t>& text, std::size_t from, std::size_t sample, Batch& into) const;

  const Corpus& corpus_;
  std::size_t samples_;
  std::size_t context_;
  std::uint64_t seed_;
  Random random_;
  std::int64_t position_ = 0;
  std::int64_t epoch_ = -1;           // that order_ is of
  std::vector<std::uint32_t> order_;  // windows of this epoch
};

std::uint64_t FingerprintOf(const std::vector<std::int32_t>& tokens);

}  // namespace vigil::gym
