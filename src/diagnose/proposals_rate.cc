// Proposed values of the learning rate, its schedule and the clip limit.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {
namespace {

std::string LrText(double lr) { return std::isnan(lr) ? std::string() : FormatNumber(lr); }

// The value of the config where there is one: what the user wrote. A logged peak may be a point of a schedule.
std::string CurrentLr(const RunView& run, double peak) {
  const auto stated = run.FactNumber("lr");
  const bool is_peak = stated && std::isfinite(*stated) && std::abs(*stated - peak) <= 0.02 * std::abs(peak);
  return is_peak ? StatedValue(run, "lr") : LrText(peak);
}

// Where the run was lost within a few steps, a small change would not have saved it.
bool IsViolent(const Incident& incident) {
  return incident.Has("grad/explosion") || incident.Has("loss/non-finite") || incident.Has("grad/non-finite");
}

// The rate that each kind of optimizer is used with where nothing is known of the method: its default in PyTorch or
// Keras, for SGD what image models are trained with.
struct OptimizerRate {
  std::string_view name;  // part of the stated name
  double usual;
  double most;
  double small;  // usual for a small model, whose narrow layers take longer steps; of Lion a fifth of Adam's
};
constexpr std::array kRates = {
    OptimizerRate{"lion", 1e-4, 5e-4, 4e-4},      OptimizerRate{"adagrad", 1e-2, 3e-2, 2e-2},
    OptimizerRate{"adafactor", 1e-3, 1e-2, 3e-3}, OptimizerRate{"rmsprop", 1e-3, 3e-3, 1e-3},
    OptimizerRate{"adadelta", 1.0, 1.0, 1.0},     OptimizerRate{"adam", 1e-3, 3e-3, 2e-3},
    OptimizerRate{"sgd", 1e-2, 1e-1, 3e-2},       OptimizerRate{"momentum", 1e-2, 1e-1, 3e-2},
};

// The stated parameters of a model too small for what is usual for a method: those ranges are of language models from
// a hundred million parameters on.
std::optional<double> SmallModel(const RunView& run) {
  constexpr double kSmall = 1e7;
  const auto parameters = run.FactNumber("parameters");
  return parameters && *parameters > 0 && *parameters < kSmall ? parameters : std::nullopt;
}

LrBand BandFor(const RunView& run) {
  LrBand band = UsualLr(run);
  if (band.exact && SmallModel(run)) band = {};
  return band;
}

const OptimizerRate* RateOfOptimizer(const RunView& run) {
  const model::Fact* stated = run.FindFact("optimizer");
  const std::string name = ToLower(stated == nullptr ? std::string() : stated->value);
  for (const OptimizerRate& rate : kRates) {
    if (!name.empty() && name.find(rate.name) != std::string::npos) return &rate;
  }
  return name.empty() && UsesAdam(run) ? &kRates[5] : nullptr;
}

// Momentum m makes steps 1/(1-m) times as long.
double Lengthening(const RunView& run) {
  const double momentum = run.FactNumber("momentum").value_or(0);
  return momentum > 0 && momentum < 1 ? 1 / (1 - momentum) : 1;
}

// The highest rate that is usual, NaN when nothing is known: of the method, else of the optimizer.
double MostUsual(const RunView& run, const LrBand& band) {
  if (band.exact) return band.high;
  const OptimizerRate* rate = RateOfOptimizer(run);
  if (rate == nullptr) return band.known ? band.high : model::kNoValue;
  return rate->name == "sgd" && Lengthening(run) > 1 ? rate->most / std::sqrt(Lengthening(run)) : rate->most;
}

model::Statement WhyLower(const RunView& run, const LrBand& band, double peak, double most, bool violent) {
  if (band.exact && peak > band.high) return says::ReasonAboveUsual{.peak = peak, .usual = UsualRange(band)};
  if (peak > most) return says::ReasonAboveMost{.peak = peak, .times = peak / most, .most = most};
  const model::Statement extent = violent ? says::ReasonTenth{} : model::Statement(says::ReasonThird{});
  const Stretch norms = LastCourse(run, "grad_norm").View();
  return norms.empty() ? extent : model::Statement(says::ReasonWithinUsual{.peak = peak, .extent = extent});
}

// By the size of the excess: down to what is usual where the rate is above it, else 10 times where the run was lost at
// once and 3 times elsewhere; never below what the method needs.
std::optional<Proposal> LowerLr(const RunView& run, const Incident& incident) {
  // A rate that jumped is a matter of the schedule.
  if (Applies("rate-jumped", run, incident)) return std::nullopt;
  const bool violent = IsViolent(incident);
  const double peak = PeakLr(run);
  if (std::isnan(peak) || peak <= 0)
    return Proposal{
        "", violent ? "a tenth" : "a third", {}, violent ? says::ReasonTenth{} : model::Statement(says::ReasonThird{})};
  const LrBand band = BandFor(run);
  const double most = MostUsual(run, band);
  double proposed = peak / (violent ? 10 : 3);
  if (peak > most) proposed = std::min(proposed, most);
  if (band.exact && peak > band.low) proposed = std::max(proposed, band.low);
  return Proposal{CurrentLr(run, peak), Rounded(proposed), {}, WhyLower(run, band, peak, most, violent)};
}

model::Statement WhyRaise(const RunView& run, const OptimizerRate& rate) {
  const auto small = SmallModel(run);
  if (!small) return says::ReasonBelowUsual{.usual = rate.usual, .optimizer = std::string(rate.name)};
  return says::ReasonSmallModel{.usual = rate.small, .optimizer = std::string(rate.name), .parameters = *small};
}

// The rate that people use with the optimizer, for a model of this size.
double UsualOf(const RunView& run, const OptimizerRate& rate) { return SmallModel(run) ? rate.small : rate.usual; }

// A rate above 0 raised by a factor, and at least to where usual rates begin. A pretrained model takes less than the
// default of its optimizer: a language model goes there by a factor of ten.
double RaisedTo(const RunView& run, const OptimizerRate* rate, const LrBand& band, double peak) {
  const double usual = rate == nullptr ? 10 * peak : UsualOf(run, *rate);
  const bool from_default = rate != nullptr && (SmallModel(run).has_value() || !IsLanguageModel(run));
  double raised = (peak < usual ? 10 : 3) * peak;
  if (from_default && peak < usual) raised = std::max(raised, usual);
  if (band.known) raised = std::max(raised, band.low);
  return rate == nullptr ? raised : std::min(raised, std::max(rate->most, peak));
}

// A rate for a run whose rate is 0, unknown, or far below what its optimizer is used with.
std::optional<Proposal> RaiseLr(const RunView& run, const Incident& incident) {
  const double peak = PeakLr(run);
  // A rate that was above 0 and came to be 0 is a matter of the schedule.
  if (incident.Has("lr/zero") && peak > 0) return std::nullopt;
  const LrBand band = BandFor(run);
  const bool none = std::isnan(peak) || peak <= 0;
  if (band.exact) {
    const double proposed = none || peak < band.low ? band.low : std::min(3 * peak, band.high);
    if (!none && proposed <= peak) return std::nullopt;
    return Proposal{CurrentLr(run, peak), Rounded(proposed), {}, UsualRange(band)};
  }
  const OptimizerRate* rate = RateOfOptimizer(run);
  if (rate == nullptr && none) return Proposal{LrText(peak), "", says::ProposedUsualOfModel{}};
  const double proposed = none ? std::min(UsualOf(run, *rate), rate->most) : RaisedTo(run, rate, band, peak);
  if (!none && proposed <= peak) return std::nullopt;
  Proposal proposal{CurrentLr(run, peak), Rounded(proposed)};
  // The reason names what the value was taken from.
  if (rate != nullptr && proposed >= UsualOf(run, *rate)) {
    proposal.reason = WhyRaise(run, *rate);
  } else if (band.known && proposed == band.low) {
    proposal.reason = UsualRange(band);
  }
  return proposal;
}

// A rate that was above 0 at any step was given: what took it to 0 is the schedule.
std::optional<Proposal> SetLr(const RunView& run, const Incident& incident) {
  return PeakLr(run) > 0 ? std::nullopt : RaiseLr(run, incident);
}

std::optional<Proposal> WarmupSteps(const RunView& run, const Incident& /*incident*/) {
  const double planned = EndOf(run, model::Axis::kStep).length();
  if (planned < 20) return std::nullopt;
  // 5-10% of the steps; 6% leaves room on both sides.
  const double proposed = std::max(5.0, 0.06 * planned);
  const auto steps = run.FactNumber("warmup_steps");
  const auto ratio = run.FactNumber("warmup_ratio");
  const double now = steps.value_or(0) > 0 ? *steps : ratio.value_or(0) * planned;
  if (now >= 0.05 * planned) return std::nullopt;
  const std::string current = steps || ratio ? FormatNumber(now) : "";
  return Proposal{
      current, Whole(proposed), {}, says::ReasonWarmupOf{.planned = model::Extent{model::Axis::kStep, planned}}};
}

// The gradient norm that the run had while it went well; NaN where none was logged.
double UsualNorm(const RunView& run, const Incident& incident) {
  const Course norms = LastCourse(run, "grad_norm");
  const Stretch before = incident.onset.known() ? norms.View().Before(incident.onset) : norms.View();
  constexpr std::size_t kEnough = 8;
  const std::vector<double> values = FiniteValues(before.size() >= kEnough ? before : norms.View());
  return values.size() < kEnough ? model::kNoValue : Median(values);
}

// 1 suits norms of about 1; a run of other norms is cut at its own.
double ClipFor(double usual) {
  if (std::isnan(usual) || usual <= 0) return 1;
  if (usual > 1) return usual;
  return usual < 0.1 ? 5 * usual : 1;
}

std::string ClipText(double limit) { return limit == 1 ? "1.0" : Rounded(limit); }

model::Statement WhyClip(double usual) {
  return std::isnan(usual) ? model::Statement() : says::ReasonUsualNorm{.norm = usual};
}

std::optional<Proposal> ClipUsual(const RunView& run, const Incident& incident) {
  const Clipping clipping = ClippingOf(run);
  const double usual = UsualNorm(run, incident);
  const double limit = ClipFor(usual);
  if (clipping.state == Clip::kOn && clipping.limit <= 1.5 * limit) return std::nullopt;
  return Proposal{
      clipping.state == Clip::kOff ? "off" : StatedValue(run, "max_grad_norm"), ClipText(limit), {}, WhyClip(usual)};
}

std::optional<Proposal> RaiseClip(const RunView& run, const Incident& incident) {
  const Clipping clipping = ClippingOf(run);
  if (clipping.state != Clip::kOn) return std::nullopt;
  const double usual = UsualNorm(run, incident);
  // A norm logged after clipping is never above the limit: it says nothing about the usual one.
  const bool known = usual > 1.1 * clipping.limit;
  const double limit = known ? usual : std::max(1.0, 10 * clipping.limit);
  if (limit <= clipping.limit) return std::nullopt;
  return Proposal{StatedValue(run, "max_grad_norm"), ClipText(limit), {}, WhyClip(known ? usual : model::kNoValue)};
}

std::optional<Proposal> CosineSchedule(const RunView& run, const Incident& /*incident*/) {
  return Proposal{StatedValue(run, "lr_schedule"), "cosine"};
}

constexpr std::array kProposals = {
    NamedProposal{"lower-lr", LowerLr},
    NamedProposal{"raise-lr", RaiseLr},
    NamedProposal{"warmup-steps", WarmupSteps},
    NamedProposal{"clip-usual", ClipUsual},
    NamedProposal{"raise-clip", RaiseClip},
    NamedProposal{"cosine-schedule", CosineSchedule},
    NamedProposal{"set-lr", SetLr},
};

}  // namespace

std::span<const NamedProposal> RateProposals() { return kProposals; }

}  // namespace vigil::diagnose
