// Evidence from settings: a value that nobody uses settles more than the shape of a curve.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/bounds.h"
#include "diagnose/bounds_norm.h"
#include "diagnose/bounds_order.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "diagnose/measures.h"
#include "diagnose/places.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

std::optional<double> Measured(const RunView& run, std::string_view name) {
  const Measure measure = FindMeasure(name);
  return measure == nullptr ? std::nullopt : measure(RunDigest(run));
}

// A setting and the range that it is used in, by its measure.
struct Use {
  std::string_view measure;
  std::string_view setting;
  double lowest;
  double highest;
  double usual;
};

constexpr std::array kOptimizerUses = {
    Use{"adam-epsilon", "Adam's epsilon", 0, 2e-5, 1e-8},
    Use{"adam-beta1", "Adam's beta1", 0.4, 0.97, 0.9},
    Use{"adam-beta2", "Adam's beta2", 0.85, 0.99995, 0.999},
    Use{"momentum", "momentum", 0, 0.97, 0.9},
};

Answer OptimizerSettingOdd(const RunView& run, const Incident&) {
  bool known = false;
  for (const Use& use : kOptimizerUses) {
    const auto value = Measured(run, use.measure);
    if (!value) continue;
    known = true;
    if (*value < use.lowest || *value > use.highest)
      return Yes(says::OptimizerSettingOddYes{.setting = std::string(use.setting), .value = *value, .usual = use.usual},
                 {}, *value);
  }
  return known ? No(says::OptimizerSettingOddNo{}) : Unknown();
}

constexpr std::array kObjectiveUses = {
    Use{"label-smoothing", "label smoothing", 0, 0.3, 0.1},
    Use{"dropout", "dropout", 0, 0.7, 0.1},
};

Answer ObjectiveSettingOdd(const RunView& run, const Incident&) {
  Answer usual = Unknown();
  for (const Use& use : kObjectiveUses) {
    const auto value = Measured(run, use.measure);
    if (!value) continue;
    const std::string setting(use.setting);
    if (*value > use.highest) return Yes(says::ObjectiveSettingOddYes{.setting = setting, .value = *value}, {}, *value);
    usual = No(says::ObjectiveSettingOddNo{.setting = setting, .value = *value}, {}, *value);
  }
  return usual;
}

// 1/(lr x decay) is the number of steps after which decay has replaced the weights.
Answer DecayOutweighsLearning(const RunView& run, const Incident&) {
  const auto share = Measured(run, "decay-over-run");
  const auto decay = run.FactNumber("weight_decay");
  if (!share || !decay) return Unknown();
  const double steps = EndOf(run, model::Axis::kStep).length();
  const double rate = *decay > 0 && steps > 0 ? *share / (*decay * steps) : 0;
  if (*share > 1 || *decay > 1)
    return Yes(says::DecayOutweighsLearningYes{.decay = *decay, .rate = rate, .share = *share, .steps = steps}, {},
               *share);
  if (*share < 0.3)
    return No(says::DecayOutweighsLearningNo{.decay = *decay, .rate = rate, .share = *share, .steps = steps}, {},
              *share);
  return Unknown();
}

Answer ClipLimitLow(const RunView& run, const Incident&) {
  const Clipping clipping = ClippingOf(run);
  if (clipping.state != Clip::kOn || !clipping.stated) return Unknown();
  return clipping.limit < 0.02 ? Yes(says::ClipLimitLowYes{.limit = clipping.limit}, {}, clipping.limit)
                               : No(says::ClipLimitLowNo{.limit = clipping.limit}, {}, clipping.limit);
}

Answer BatchIsMostOfTheData(const RunView& run, const Incident&) {
  const auto share = Measured(run, "batch-share");
  if (!share) return Unknown();
  return *share > 0.3 ? Yes(says::BatchIsMostOfTheDataYes{.share = *share}, {}, *share)
                      : No(says::BatchIsMostOfTheDataNo{.share = *share}, {}, *share);
}

Answer WeightsInLowPrecision(const RunView& run, const Incident&) {
  const model::Fact* fact = run.FindFact("precision");
  const Precision precision = PrecisionOf(run);
  if (precision == Precision::kUnknown) return Unknown();
  const std::string word = fact == nullptr ? "mixed" : fact->value;
  return precision == Precision::kFp32 ? No(says::WeightsInLowPrecisionNo{.precision = word})
                                       : Yes(says::WeightsInLowPrecisionYes{.precision = word});
}

Answer PairsAreEqual(const RunView& run, const Incident&) {
  const auto apart = Measured(run, "logps-apart");
  if (!apart) return Moot();
  return *apart < 1e-6 ? Yes(says::PairsAreEqualYes{}, {}, *apart)
                       : No(says::PairsAreEqualNo{.apart = *apart}, {}, *apart);
}

// Rewards of a preference run measure how far the policy has moved from its reference.
Answer PolicyIsReference(const RunView& run, const Incident&) {
  constexpr std::size_t kFewest = 5;
  const RunDigest digest(run);
  for (const std::string_view signal : {"preference_chosen", "preference_rejected"}) {
    const Digest* reward = digest.Of(signal);
    if (reward == nullptr || reward->size() < kFewest || reward->best != 0 || reward->top != 0) return Moot();
  }
  return Yes(says::PolicyIsReferenceYes{});
}

Answer BatchesOfOneClass(const RunView& run, const Incident&) {
  return HasBatchesOfOneClass(RunDigest(run)) ? Yes(says::BatchesOfOneClassYes{}) : Moot();
}

// A NaN from the first step on is a matter of masked labels only where labels are tokens.
Answer LabelsOfTokens(const RunView& run, const Incident&) {
  const bool language = run->profile.trains_on_tokens || IsLanguageModel(run);
  return language ? Yes(says::LabelsOfTokensYes{}) : No(says::LabelsOfTokensNo{});
}

// A loss scaler is used with fp16 only: its messages, its scale and the steps that it skips show it.
bool ScalerIsAtWork(const RunView& run, const Incident& incident) {
  const EvidenceTest skipped = FindTest("steps-skipped");
  if (skipped != nullptr && skipped(run, incident).verdict == Verdict::kYes) return true;
  return incident.Has("numerics/loss-scale-collapse") ||
         std::any_of(incident.findings.begin(), incident.findings.end(), [](const model::Finding* finding) {
           const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
           return row != nullptr && row->cause == "fp16-overflow";
         });
}

Answer HalfPrecisionShown(const RunView& run, const Incident& incident) {
  const bool shown = PrecisionOf(run) == Precision::kFp16 || Logged(run, "loss_scale") || ScalerIsAtWork(run, incident);
  return shown ? Yes(says::HalfPrecisionShownYes{}) : No(says::HalfPrecisionShownNo{});
}

// Causes of adversarial training are no causes of any other: a curve alone must not suggest them.
Answer AdversarialTraining(const RunView& run, const Incident&) {
  return IsAdversarial(run) ? Yes(says::AdversarialTrainingYes{}) : No(says::AdversarialTrainingNo{});
}

Answer RateIsKnown(const RunView& run, const Incident&) {
  const double peak = PeakLr(run);
  return std::isnan(peak) ? No(says::RateIsKnownNo{}) : Yes(says::RateIsKnownYes{.rate = peak}, {}, peak);
}

// As high as anybody sets the rate of such an optimizer: whatever keeps the loss up, it is not a rate that is too low.
Answer RateNotLow(const RunView& run, const Incident&) {
  constexpr double kHighForAdam = 1e-3;
  constexpr double kHighForAny = 0.1;
  const double peak = PeakLr(run);
  if (!(peak > 0)) return Unknown();
  const bool high = peak >= (UsesAdam(run) ? kHighForAdam : kHighForAny);
  return high ? Yes(says::RateNotLowYes{.rate = peak}, {}, peak) : Moot();
}

bool Holds(std::string_view test, Verdict verdict, const RunView& run, const Incident& incident) {
  const EvidenceTest found = FindTest(test);
  return found != nullptr && found(run, incident).verdict == verdict;
}

// All that a missing warm-up needs: none is there, the rate is a usual one, and the first steps did not survive it.
Answer BlewUpWithoutWarmup(const RunView& run, const Incident& incident) {
  const bool so = incident.HasBlowUp() && Holds("no-warmup-ramp", Verdict::kYes, run, incident) &&
                  Holds("early-failure", Verdict::kYes, run, incident) &&
                  Holds("lr-above-band", Verdict::kNo, run, incident) &&
                  !Holds("bad-from-first-step", Verdict::kYes, run, incident) &&
                  !Holds("grad-flat-before", Verdict::kYes, run, incident);
  return so ? Yes(says::BlewUpWithoutWarmupYes{.at = incident.onset}, incident.onset) : Moot();
}

// The steepest stretch in which the smoothed norm rises from point to point: how many points, and how many times.
struct Ramp {
  std::size_t points = 0;
  double times = 1;
};

Ramp LongestRamp(const std::vector<double>& norms) {
  Ramp longest;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < norms.size(); ++i) {
    if (!(norms[i] > norms[i - 1])) begin = i;
    const double times = norms[begin] > 0 ? norms[i] / norms[begin] : 1;
    if (times > longest.times) longest = {i - begin, times};
  }
  return longest;
}

// A norm that climbs over many steps in a row feeds on itself: no batch does that.
Answer NormRamps(const RunView& run, const Incident& incident) {
  constexpr std::size_t kFewest = 8;
  constexpr double kTimes = 10;
  if (!incident.HasBlowUp()) return Moot();
  const Course course = LastCourse(run, "grad_norm");
  const std::vector<double> norms = FiniteValues(course.View());
  if (norms.size() < 2 * kFewest) return Unknown();
  const Ramp ramp = LongestRamp(stats::SmoothByMedian(norms, 3));
  if (ramp.points < kFewest || ramp.times < kTimes) return Moot();
  return Yes(says::NormRampsYes{.points = ramp.points, .times = ramp.times}, incident.onset, ramp.times);
}

// Gradients that are added up grow with the step whatever the loss does; those of sound runs grow two or three times.
Answer NormClimbsAllAlong(const RunView& run, const Incident&) {
  constexpr std::size_t kFewest = 20;
  constexpr double kLeast = 4;
  const auto climb = ClimbOfNorm(RunDigest(run), kFewest, kLeast);
  if (!climb) return Unknown();
  if (!climb->all_along)
    return No(says::NormClimbsAllAlongNo{.first = climb->first, .last = climb->last}, {}, climb->last);
  return Yes(says::NormClimbsAllAlongYes{.first = climb->first, .last = climb->last}, {}, climb->last);
}

// Labels that do not belong to their inputs cannot be predicted: who lost most of the loss, on held-out data too where
// there are any, has learned what the two have to do with each other.
Answer MostWasLearned(const RunView& run, const Incident&) {
  constexpr double kMost = 0.5;
  constexpr double kHeldOutToo = 0.3;
  if (IsReinforcement(run)) return Moot();
  const RunDigest digest(run);
  const Digest* loss = digest.Of("loss");
  if (loss == nullptr || loss->size() < 30 || !(loss->end > 0)) return Unknown();
  const Digest* held_out = digest.Of("eval_loss");
  const bool agrees = held_out == nullptr || held_out->end < (1 - kHeldOutToo) * loss->first;
  const bool learned = loss->end < (1 - kMost) * loss->scale && agrees;
  return learned ? Yes(says::MostWasLearnedYes{.first = loss->first, .end = loss->end}, {}, loss->end)
                 : No(says::MostWasLearnedNo{.first = loss->first, .end = loss->end}, {}, loss->end);
}

Answer ResultTooGood(const RunView&, const Incident& incident) {
  return incident.Has("loss/too-good") ? Yes(says::ResultTooGoodYes{}) : Moot();
}

constexpr std::array kTests = {
    NamedTest{"optimizer-setting-odd", OptimizerSettingOdd},
    NamedTest{"objective-setting-odd", ObjectiveSettingOdd},
    NamedTest{"decay-outweighs-learning", DecayOutweighsLearning},
    NamedTest{"clip-limit-low", ClipLimitLow},
    NamedTest{"batch-is-most-of-the-data", BatchIsMostOfTheData},
    NamedTest{"weights-in-low-precision", WeightsInLowPrecision},
    NamedTest{"norm-ramps", NormRamps},
    NamedTest{"norm-climbs-all-along", NormClimbsAllAlong},
    NamedTest{"rate-not-low", RateNotLow},
    NamedTest{"blew-up-without-warmup", BlewUpWithoutWarmup},
    NamedTest{"most-was-learned", MostWasLearned},
    NamedTest{"result-too-good", ResultTooGood},
    NamedTest{"pairs-are-equal", PairsAreEqual},
    NamedTest{"policy-is-reference", PolicyIsReference},
    NamedTest{"batches-of-one-class", BatchesOfOneClass},
    NamedTest{"labels-of-tokens", LabelsOfTokens},
    NamedTest{"half-precision-shown", HalfPrecisionShown},
    NamedTest{"adversarial-training", AdversarialTraining},
    NamedTest{"rate-is-known", RateIsKnown},
};

}  // namespace

std::span<const NamedTest> SettingTests() { return kTests; }

}  // namespace vigil::diagnose
