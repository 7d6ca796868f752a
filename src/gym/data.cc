#include "gym/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "gym/text.h"
#include "platform/files.h"

namespace vigil::gym {
namespace {

constexpr std::size_t kStoryBytes = 96U << 10U;
constexpr std::uint64_t kMostTextBytes = 256U << 20U;
constexpr std::size_t kLeastWindows = 4;

std::vector<std::int32_t> Tokens(std::string_view text, const std::array<std::int32_t, 256>& ids) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(ids[static_cast<unsigned char>(c)]);
  return tokens;
}

}  // namespace

Result<Corpus> LoadCorpus(const std::string& path, int context) {
  std::string text;
  if (path.empty()) {
    text = WriteStories(kStoryBytes);
  } else {
    auto read = platform::ReadWholeFile(path, kMostTextBytes);
    if (!read) return Fail(read.error());
    text = std::move(*read);
  }
  // A window and one token more for the targets, in both parts.
  const std::size_t least = 10 * (static_cast<std::size_t>(context) + 1) * kLeastWindows;
  if (text.size() < least)
    return Fail(ErrorCode::kInvalid, path,
                fmt::format("{} bytes of text; a context of {} needs at least {}", text.size(), context, least));
  std::array<std::int32_t, 256> ids = {};
  for (const char c : text) ids[static_cast<unsigned char>(c)] = 1;
  std::int32_t count = 0;
  for (std::int32_t& id : ids) id = id == 0 ? 0 : count++;
  Corpus corpus;
  const std::size_t held_out = text.size() / 10;
  corpus.train = Tokens(std::string_view(text).substr(0, text.size() - held_out), ids);
  corpus.held_out = Tokens(std::string_view(text).substr(text.size() - held_out), ids);
  constexpr int kPad = static_cast<int>(kLane);
  corpus.vocabulary = (count + kPad - 1) / kPad * kPad;
  return corpus;
}

Loader::Loader(const Corpus& corpus, const Options& options)
    : corpus_(corpus),
      samples_(static_cast<std::size_t>(options.batch)),
      context_(static_cast<std::size_t>(options.shape.context)),
      seed_(Mix(static_cast<std::uint64_t>(options.seed) ^ 0xda7aU)),
      random_(seed_) {}

void Loader::Restore(const LoaderState& state) {
  position_ = state.position;
  random_.Restore(state.random);
  epoch_ = -1;
}

// The order of an epoch follows from seed and number: it need not be saved.
void Loader::ShuffleEpoch() {
  order_.resize((corpus_.train.size() - 1) / context_ - 1);  // one less: windows are moved by up to their own length
  std::iota(order_.begin(), order_.end(), 0U);
  Random random(Mix(seed_ + static_cast<std::uint64_t>(epoch_)));
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.Below(i)]);
}

std::size_t Loader::NextWindow() {
  const auto windows = static_cast<std::int64_t>((corpus_.train.size() - 1) / context_ - 1);
  if (const std::int64_t epoch = position_ / windows; epoch != epoch_) {
    epoch_ = epoch;
    ShuffleEpoch();
  }
  const std::size_t window = order_[static_cast<std::size_t>(position_ % windows)];
  ++position_;
  return window * context_ + random_.Below(context_);
}

Batch Loader::Empty() const {
  Batch batch;
  batch.inputs.resize(samples_ * context_);
  batch.targets.resize(samples_ * context_);
  batch.weights.assign(samples_, 1.0F);
  return batch;
}

void Loader::Take(const std::vector<std::int32_t>& text, std::size_t from, std::size_t sample, Batch& into) const {
  const auto* const window = text.data() + from;
  std::copy_n(window, context_, into.inputs.data() + sample * context_);
  std::copy_n(window + 1, context_, into.targets.data() + sample * context_);
}

Batch Loader::Next(int rank, int ranks) {
  Batch batch = Empty();
  for (int other = 0; other < ranks; ++other) {
    for (std::size_t sample = 0; sample < samples_; ++sample) {
      const std::size_t from = NextWindow();
      if (other == rank) Take(corpus_.train, from, sample, batch);
    }
  }
  batch.fingerprint = FingerprintOf(batch.inputs);
  return batch;
}

Batch Loader::HeldOut() const {
  Batch batch = Empty();
  const std::size_t stretch = (corpus_.held_out.size() - context_ - 1) / samples_;
  for (std::size_t sample = 0; sample < samples_; ++sample) Take(corpus_.held_out, sample * stretch, sample, batch);
  return batch;
}

std::uint64_t FingerprintOf(const std::vector<std::int32_t>& tokens) {
  std::uint64_t print = tokens.size();
  for (const std::int32_t token : tokens) print = Mix(print ^ static_cast<std::uint64_t>(token));
  return print;
}

}  // namespace vigil::gym
