// Findings about two networks that are trained against each other. Neither loss falls in a healthy run, so that only
// their relation says anything: whether one side has won.
#include <algorithm>
#include <numbers>
#include <span>

#include "catalogue/says.h"
#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

using model::Finding;
using model::Series;

// The losses of both sides, as far as they are cross entropies: those of critics go below 0 and mean something else.
struct Sides {
  const Series* discriminator = nullptr;
  const Series* generator = nullptr;
  std::vector<double> smooth;  // of the discriminator

  std::size_t points() const { return smooth.size(); }
};

bool IsCrossEntropy(const Series& series) {
  return std::all_of(series.values.begin(), series.values.end(),
                     [](double value) { return std::isfinite(value) && value >= 0; });
}

// log(1 - D(G(z))), the loss of the first paper: it goes up to 0 where no sample passes.
bool IsSaturating(const Series& series) {
  return std::all_of(series.values.begin(), series.values.end(),
                     [](double value) { return std::isfinite(value) && value <= 0; });
}

std::optional<Sides> SidesOf(const model::Run& run, double fewest) {
  Sides sides{run.Find("discriminator_loss"), run.Find("generator_loss"), {}};
  if (sides.discriminator == nullptr || sides.generator == nullptr) return std::nullopt;
  const std::size_t points = std::min(sides.discriminator->size(), sides.generator->size());
  if (static_cast<double>(points) < std::max(fewest, 6.0)) return std::nullopt;
  const bool knows_form = IsCrossEntropy(*sides.generator) || IsSaturating(*sides.generator);
  if (!IsCrossEntropy(*sides.discriminator) || !knows_form) return std::nullopt;
  const auto& values = sides.discriminator->values;
  sides.smooth = stats::SmoothByMedian({values.begin(), values.end()}, 5);
  return sides;
}

double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

// The generator gets no direction from a discriminator that is sure of everything, and its own loss shows it.
void FindDiscriminatorWon(const model::Run& run, const catalogue::Thresholds& thresholds, std::vector<Finding>& out) {
  constexpr std::string_view kId = "loss/divergence";
  const auto limit = [&](std::string_view name) { return thresholds.Threshold(kId, name); };
  const auto sides = thresholds.Enabled(kId) ? SidesOf(run, limit("adversarial_points")) : std::nullopt;
  if (!sides) return;
  std::size_t first = sides->points();
  while (first > 0 && sides->smooth[first - 1] < limit("certain")) --first;
  const std::size_t lasting = sides->points() - first;
  if (2 * lasting < sides->points()) return;  // for a while either side may lead
  const std::span<const double> generator(sides->generator->values);
  const double start = MedianOf(generator.first(3));
  const double end = MedianOf(generator.last(generator.size() / 4));
  const bool is_saturating = IsSaturating(*sides->generator);
  const bool climbed = end >= limit("fooled_none") && end >= limit("generator_rise") * start;
  if (is_saturating ? end < -limit("certain") : !climbed) return;
  const model::Position from = sides->discriminator->PositionOf(first);
  const model::Position last = sides->discriminator->PositionOf(sides->points() - 1);
  const double level = MedianOf(std::span(sides->smooth).last(lasting));
  Finding finding =
      FindingOfRow(kId, thresholds, {from, last},
                   says::LossDivergenceDiscriminatorWon{.first = from, .certain = level, .start = start, .end = end});
  finding.severity = std::min(finding.severity, model::Severity::kWarning);
  const double share = static_cast<double>(lasting) / static_cast<double>(sides->points());
  AddEvidenceAt(finding, says::LossDivergenceDiscriminatorLoss{.level = level, .share = share}, last, level);
  AddMeasure(finding, "adversarial", 1);
  AddMeasure(finding, "start", start);
  AddMeasure(finding, "end", end);
  out.push_back(std::move(finding));
}

// At the end of a good run the discriminator guesses because the samples are good; one that was never better than that
// gave the generator nothing to learn from.
void FindDiscriminatorGuesses(const model::Run& run, const catalogue::Thresholds& thresholds,
                              std::vector<Finding>& out) {
  constexpr std::string_view kId = "loss/at-chance";
  constexpr double kChance = 2 * std::numbers::ln2;  // of the sum over real and generated samples
  const auto limit = [&](std::string_view name) { return thresholds.Threshold(kId, name); };
  const auto sides = thresholds.Enabled(kId) ? SidesOf(run, limit("adversarial_points")) : std::nullopt;
  if (!sides) return;
  const double best = *std::min_element(sides->smooth.begin(), sides->smooth.end());
  const double level = MedianOf(sides->smooth);
  if (best < limit("discriminator") || level < kChance) return;
  const model::Position first = sides->discriminator->PositionOf(0);
  const model::Position last = sides->discriminator->PositionOf(sides->points() - 1);
  Finding finding =
      FindingOfRow(kId, thresholds, {first, last},
                   says::LossAtChanceDiscriminatorGuesses{.level = level, .chance = kChance, .best = best});
  finding.severity = std::min(finding.severity, model::Severity::kWarning);
  AddMeasure(finding, "adversarial", 1);
  out.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> FindingsOfAdversaries(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<Finding> findings;
  FindDiscriminatorWon(run, thresholds, findings);
  FindDiscriminatorGuesses(run, thresholds, findings);
  return findings;
}

}  // namespace vigil::detect
