// Proposed values of batches, sequences, workers and what else takes memory or time.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {
namespace {

constexpr double kMost = 1e9;  // no count of a config is above it

// A whole number of a config, nullopt where it is absent or makes no sense.
std::optional<double> Count(const RunView& run, std::string_view key, double least) {
  const auto stated = run.FactNumber(key);
  return stated && *stated >= least && *stated < kMost ? stated : std::nullopt;
}

// Half at a time: a size that fits is found in a few tries, and the accumulation keeps the effective batch.
std::optional<Proposal> HalfBatch(const RunView& run, const Incident& /*incident*/) {
  const auto batch = run.FactNumber("batch_size");
  if (!batch) return Proposal{"", "1", {}, {}, {}};
  if (!(*batch >= 2) || *batch > kMost) return std::nullopt;
  const auto accumulation = run.FactNumber("accumulation");
  const double half = std::floor(*batch / 2);
  Proposal proposal{FormatNumber(*batch), Whole(half)};
  if (accumulation.value_or(1) >= 1 && accumulation.value_or(1) < kMost) {
    const double samples = *batch * accumulation.value_or(1);
    proposal.also.push_back(
        {"more-accumulation", accumulation ? FormatNumber(*accumulation) : "", Whole(std::ceil(samples / half))});
    proposal.reason = says::ReasonSameBatch{.samples = samples};
  }
  return proposal;
}

// The updates that the run makes, nullopt where its end is not known in steps.
std::optional<double> UpdatesOf(const RunView& run) {
  const double planned = EndOf(run, model::Axis::kStep).length();
  return planned >= 1 ? std::optional(planned) : std::nullopt;
}

// A power of two at or below the number, at least 1.
double PowerOfTwo(double number) { return std::exp2(std::floor(std::log2(std::max(1.0, number)))); }

// So few samples a step that the same data make some hundred updates, at least four times as many as now. What is
// accumulated goes first: it costs time and no memory.
std::optional<Proposal> MoreUpdates(const RunView& run, const Incident& /*incident*/) {
  constexpr double kEnoughUpdates = 300;
  constexpr double kLeastSamples = 16;  // below it the gradient is mostly noise
  constexpr double kLeastFactor = 4;
  const auto batch = Count(run, "batch_size", 2);
  if (!batch) return std::nullopt;
  const double accumulation = Count(run, "accumulation", 1).value_or(1);
  const auto updates = UpdatesOf(run);
  const double now = *batch * accumulation;
  const double factor = updates ? std::max(kLeastFactor, kEnoughUpdates / *updates) : kLeastFactor;
  const double proposed =
      std::min(*batch, PowerOfTwo(std::max(std::min(now / kLeastFactor, kLeastSamples), now / factor)));
  Proposal proposal{FormatNumber(*batch), Whole(proposed)};
  if (accumulation > 1) proposal.also.push_back({"more-accumulation", FormatNumber(accumulation), "1"});
  const auto samples = Count(run, "train_samples", 1);
  if (updates) {
    proposal.reason = says::ReasonMoreUpdates{.updates = *updates, .after = *updates * now / proposed};
  } else if (samples) {
    proposal.reason = says::ReasonFewUpdates{.updates = *samples / now, .after = *samples / proposed};
  }
  return proposal;
}

// Enough samples for a gradient that is more than noise: 32, or four times as many as there are.
std::optional<Proposal> MoreAccumulation(const RunView& run, const Incident& /*incident*/) {
  constexpr double kEnough = 32;
  const auto now = Count(run, "accumulation", 1);
  const auto batch = Count(run, "batch_size", 1);
  const double samples = batch.value_or(8) * now.value_or(1);
  const double factor = std::max(4.0, kEnough / samples);
  const double proposed = std::ceil(now.value_or(1) * factor);
  if (proposed >= kMost) return std::nullopt;
  Proposal proposal{now ? FormatNumber(*now) : "", Whole(proposed)};
  if (batch) proposal.reason = says::ReasonSamplesPerStep{.samples = samples, .after = *batch * proposed};
  return proposal;
}

std::optional<Proposal> HalfSequence(const RunView& run, const Incident& /*incident*/) {
  const auto length = Count(run, "sequence_length", 256);
  if (!length) return std::nullopt;
  return Proposal{FormatNumber(*length), Whole(std::floor(*length / 2))};
}

std::optional<Proposal> EightBit(const RunView& run, const Incident& /*incident*/) {
  const std::string stated = StatedValue(run, "optimizer");
  if (ToLower(stated).find("8bit") != std::string::npos) return std::nullopt;
  return Proposal{stated, "adamw_bnb_8bit"};
}

std::optional<Proposal> FewerWorkers(const RunView& run, const Incident& /*incident*/) {
  const auto workers = Count(run, "data_workers", 1);
  if (!workers) return std::nullopt;
  return Proposal{FormatNumber(*workers), Whole(std::floor(*workers / 2))};
}

std::optional<Proposal> MoreWorkers(const RunView& run, const Incident& /*incident*/) {
  constexpr double kUsual = 4;
  const auto workers = run.FactNumber("data_workers");
  if (workers && (!(*workers >= 0) || *workers >= 64)) return std::nullopt;
  return Proposal{workers ? FormatNumber(*workers) : "", Whole(std::max(kUsual, 2 * workers.value_or(0)))};
}

constexpr std::array kProposals = {
    NamedProposal{"half-batch", HalfBatch},
    NamedProposal{"more-updates", MoreUpdates},
    NamedProposal{"more-accumulation", MoreAccumulation},
    NamedProposal{"half-sequence", HalfSequence},
    NamedProposal{"eight-bit", EightBit},
    NamedProposal{"fewer-workers", FewerWorkers},
    NamedProposal{"more-workers", MoreWorkers},
};

}  // namespace

std::span<const NamedProposal> MemoryProposals() { return kProposals; }

}  // namespace vigil::diagnose
