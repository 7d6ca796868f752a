#include <algorithm>
#include <cmath>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// Counts bad points of a series: when they began, how long they lasted, whether the series went on afterwards.
class BadPoints {
 public:
  void Add(const Sample& sample, bool bad) {
    ++points_;
    if (!bad) {
      streak_ = 0;
      ++good_since_;
      ++good_;
      return;
    }
    if (overwritten_) {  // what it was before is overwritten; this is another
      count_ = 0;
      longest_ = 0;
      overwritten_ = false;
    }
    if (count_ == 0) first_ = sample;
    last_step_ = sample.step;
    ++count_;
    good_since_ = 0;
    longest_ = std::max(longest_, ++streak_);
  }

  // A restart before the first bad point: what was bad is overwritten.
  void Restart(std::int64_t step) {
    streak_ = 0;
    if (count_ > 0 && step <= first_.step) overwritten_ = true;
  }

  bool any() const { return count_ > 0; }
  bool overwritten() const { return overwritten_; }
  bool all() const { return count_ == points_; }
  const Sample& first() const { return first_; }
  std::int64_t last_step() const { return last_step_; }
  std::uint64_t count() const { return count_; }
  std::uint64_t points() const { return points_; }
  std::uint64_t longest() const { return longest_; }
  std::uint64_t streak_at_end() const { return streak_; }
  std::uint64_t good_since() const { return good_since_; }
  std::uint64_t good() const { return good_; }
  double share() const { return points_ == 0 ? 0 : static_cast<double>(count_) / static_cast<double>(points_); }
  // The run went on: enough good points after the last bad one, and more of them than the longest outage.
  bool Recovered(double good_points) const {
    return static_cast<double>(good_since_) >= good_points && (overwritten_ || good_since_ > longest_);
  }

 private:
  Sample first_;
  std::int64_t last_step_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t streak_ = 0;
  std::uint64_t good_since_ = 0;
  std::uint64_t good_ = 0;
  bool overwritten_ = false;
};

void AddOutage(model::Finding& finding, const BadPoints& bad) {
  AddMeasure(finding, "count", static_cast<double>(bad.count()));
  AddMeasure(finding, "longest", static_cast<double>(bad.longest()));
  AddMeasure(finding, "good_since", static_cast<double>(bad.good_since()));
  AddMeasure(finding, "points", static_cast<double>(bad.points()));
}

// "loss is nan" with its place: when, for how long, and whether it ended.
model::Statement SaysOutage(const model::Statement& what, model::Position first, const BadPoints& bad, bool recovered) {
  if (recovered && bad.overwritten()) return says::OutageOverwritten{.what = what, .first = first};
  if (recovered && bad.count() == 1) return says::OutageOnce{.what = what, .first = first};
  if (recovered) return says::OutagePassed{.what = what, .first = first, .bad = bad.count(), .points = bad.points()};
  if (bad.streak_at_end() == bad.count()) return says::OutageToEnd{.what = what, .first = first};
  return says::OutageSome{.what = what, .first = first, .bad = bad.count(), .points = bad.points()};
}

// ---- loss

class NonFiniteLoss : public Cloned<NonFiniteLoss> {
 public:
  explicit NonFiniteLoss(const Context& context)
      : places_(context),
        recovered_points_(context.Threshold("recovered_points")),
        interval_(context.logging_interval),
        name_(NameOf(context)),
        replaced_(ReplacesNan(*context.run)),
        reinforcement_(context.reinforcement) {}

  void SetLoggingInterval(double interval) override { interval_ = interval; }
  void Observe(const Sample& sample) override {
    if (sample.role == 1) {
      const bool bad = !std::isfinite(sample.value);
      if (bad && !grad_is_bad_) grad_turned_bad_ = sample;
      grad_ = sample;
      grad_is_bad_ = bad;
      return;
    }
    if (sample.role == 2) {
      rate_step_ = sample.step;
      ++rates_since_;
      return;
    }
    last_step_ = sample.step;
    rates_before_ += rates_since_;
    rates_since_ = 0;
    with_rate_ += rate_step_ == sample.step ? 1 : 0;
    const bool grad_here = grad_.step == sample.step;
    // A filter in the logger writes 0 for what it could not average. A true loss of exactly 0 has a gradient.
    const bool zero = sample.value == 0.0;
    const bool has_gradient = grad_here && grad_.value > 0;
    const bool by_gradient = zero && ((grad_here && grad_is_bad_) || (in_hidden_ && !has_gradient));
    // Code that replaces NaN by 0 hides it even from the gradient; infinity becomes the largest number of its type.
    const bool by_code = (replaced_ && zero && !has_gradient && bad_.good() > 0) || IsLargestOfItsType(sample.value);
    const bool hidden = by_gradient || by_code;
    const bool visible = !std::isfinite(sample.value);
    if (hidden && IsNew()) {
      hidden_ = zero ? Hidden::kZero : Hidden::kLargest;
      // An averaging logger still shows the finite steps of that interval.
      began_ = by_gradient ? grad_turned_bad_ : sample;
    }
    if (visible && IsNew()) {
      began_ = sample;
      hidden_ = model::IsNoValue(sample.value) ? Hidden::kLeftOut : Hidden::kNot;
    }
    in_hidden_ = hidden;
    if (zero && zeros_++ == 0) zeros_began_ = sample;
    if (!zero) zeros_ = 0;
    if (zero && !hidden) {
      bad_.Add(sample, false);
      return;
    }
    if (!visible && !hidden) last_good_ = sample;
    bad_.Add(sample, visible || hidden);
  }
  void Restart(std::int64_t step) override {
    bad_.Restart(step);
    in_hidden_ = false;
    grad_is_bad_ = false;
    rates_since_ = 0;
  }
  bool IsNew() const { return !bad_.any() || bad_.overwritten(); }

  void Report(std::vector<model::Finding>& out) const override {
    if (!bad_.any()) return FellToZero() ? ReportFall(out) : ReportSilence(out);
    const bool recovered = bad_.Recovered(recovered_points_);
    const Sample& first = began_;
    model::Finding finding = MakeFinding(first.step, bad_.last_step(),
                                         SaysOutage(WhatIsLogged(first), places_.At(first.step), bad_, recovered));
    if (recovered) finding.severity = model::Severity::kWarning;
    AddEvidence(finding, HowItShows(first), first.step, first.value, first.line);
    if (bad_.good() > 0 && !recovered) {
      AddEvidence(
          finding,
          says::LossNonFiniteLastFinite{.metric = name_, .value = last_good_.value, .at = places_.At(last_good_.step)},
          last_good_.step, last_good_.value, last_good_.line);
    }
    AddOutage(finding, bad_);
    AddMeasure(finding, "hidden", hidden_ != Hidden::kNot ? 1 : 0);
    AddMeasure(finding, "recovered", recovered ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  static constexpr std::uint64_t kZerosToJudge = 5;
  enum class Hidden : std::uint8_t { kNot, kZero, kLargest, kLeftOut };

  // The loss stood beside the learning rate, and then only the rate is logged: an empty cell or a missing key is how
  // tables and JSON writers put NaN.
  void ReportSilence(std::vector<model::Finding>& out) const {
    const auto points = static_cast<double>(bad_.points());
    const bool together =
        static_cast<double>(with_rate_) >= 0.9 * points && static_cast<double>(rates_before_) <= 1.5 * points;
    if (points < recovered_points_ || !together) return;
    if (static_cast<double>(rates_since_) < std::max(recovered_points_, 0.05 * points)) return;
    model::Finding finding =
        MakeFinding(last_good_.step, rate_step_,
                    says::LossNonFiniteSilent{.last = places_.At(last_good_.step), .until = places_.At(rate_step_)});
    finding.severity = model::Severity::kError;
    AddEvidence(finding, says::LossNonFiniteEmptyCell{}, last_good_.step, last_good_.value, last_good_.line);
    AddMeasure(finding, "hidden", 1);
    out.push_back(std::move(finding));
  }

  // From an ordinary loss to exactly 0 at once, and there to the end, with no gradient norm that says otherwise: no
  // model learns like that.
  bool FellToZero() const {
    constexpr double kOrdinary = 0.01;
    return !reinforcement_ && zeros_ >= kZerosToJudge && bad_.good() >= zeros_ + kZerosToJudge &&
           std::abs(last_good_.value) > kOrdinary && grad_.step == model::kNoStep;
  }

  void ReportFall(std::vector<model::Finding>& out) const {
    model::Finding finding = MakeFinding(
        zeros_began_.step, last_step_,
        says::LossNonFiniteReplaced{.metric = name_, .before = last_good_.value, .at = places_.At(zeros_began_.step)});
    AddEvidence(finding, says::LossNonFiniteReplacedHow{}, zeros_began_.step, 0, zeros_began_.line);
    AddMeasure(finding, "hidden", 1);
    out.push_back(std::move(finding));
  }

  // What nan_to_num makes of infinity in fp32, bf16 and fp16. No loss is that by itself.
  static bool IsLargestOfItsType(double value) {
    constexpr double kFloat = 3.4028234663852886e38;
    constexpr double kBfloat = 3.3895313892515355e38;
    constexpr double kHalf = 65504;
    return std::abs(value) == kHalf || std::abs(std::abs(value) / kFloat - 1) < 1e-6 ||
           std::abs(std::abs(value) / kBfloat - 1) < 1e-6;
  }

  // A part of the loss is called what the run calls it.
  static std::string NameOf(const Context& context) {
    const bool is_part = context.primary != nullptr && context.primary->signal != "loss";
    return is_part ? Printable(context.primary->raw) : "loss";
  }

  static bool ReplacesNan(const model::Run& run) {
    const model::Fact* stated = run.FindFact("nan_to_num");
    if (stated != nullptr && ToLower(stated->value) == "true") return true;
    return std::any_of(run.events.begin(), run.events.end(), [](const model::Event& event) {
      return event.kind == model::EventKind::kNanHider && event.name == "nan_to_num";
    });
  }

  model::Statement WhatIsLogged(const Sample& first) const {
    switch (hidden_) {
      case Hidden::kZero:
        return says::LossNonFiniteZero{.metric = name_};
      case Hidden::kLargest:
        return says::LossNonFiniteLargest{.metric = name_, .value = first.value};
      case Hidden::kLeftOut:
        return says::LossNonFiniteLeftOut{.metric = name_};
      case Hidden::kNot:
        break;
    }
    return says::LossNonFiniteValue{.metric = name_, .value = first.value};
  }

  model::Statement HowItShows(const Sample& first) const {
    const model::Position at = places_.At(first.step);
    if (hidden_ == Hidden::kZero && first.role == 1) {
      return says::LossNonFiniteZeroByGradient{.value = first.value, .at = at, .zeros = places_.At(bad_.first().step)};
    }
    if (hidden_ == Hidden::kZero) return says::LossNonFiniteZeroByCode{.at = at};
    if (hidden_ == Hidden::kLargest) return says::LossNonFiniteLargestByCode{.at = at};
    if (hidden_ == Hidden::kLeftOut) return says::LossNonFiniteMissingKey{.at = at, .metric = name_};
    if (interval_ > 1)
      return says::LossNonFiniteFirstSparse{
          .metric = name_, .at = at, .interval = places_.Length(interval_), .earlier = places_.Length(interval_ - 1)};
    return says::LossNonFiniteFirst{.metric = name_, .at = at};
  }

  Places places_;
  double recovered_points_;
  double interval_;
  std::string name_;
  bool replaced_;
  bool reinforcement_;
  std::uint64_t zeros_ = 0;  // in a row, up to now
  Sample zeros_began_;
  Hidden hidden_ = Hidden::kNot;
  BadPoints bad_;
  Sample grad_{1, model::kNoStep, 0, 0};
  Sample last_good_;
  Sample grad_turned_bad_;
  Sample began_;
  bool grad_is_bad_ = false;
  bool in_hidden_ = false;
  std::int64_t last_step_ = model::kNoStep;
  std::int64_t rate_step_ = model::kNoStep;
  std::uint64_t rates_since_ = 0;
  std::uint64_t rates_before_ = 0;
  std::uint64_t with_rate_ = 0;
};

// ---- evaluation

class NonFiniteEval : public Cloned<NonFiniteEval> {
 public:
  explicit NonFiniteEval(const Context& context)
      : places_(context), recovered_points_(context.Threshold("recovered_points")) {}

  void Observe(const Sample& sample) override {
    const bool bad = !std::isfinite(sample.value);
    if (sample.role == 1) {
      if (bad && first_bad_loss_ == model::kNoStep) first_bad_loss_ = sample.step;
      if (!bad) train_loss_ = sample;
      return;
    }
    bad_.Add(sample, bad);
  }
  void Restart(std::int64_t step) override {
    bad_.Restart(step);
    if (first_bad_loss_ >= step) first_bad_loss_ = model::kNoStep;
  }

  void Report(std::vector<model::Finding>& out) const override {
    // Of a model that is lost the evaluation says nothing new.
    const bool lost = first_bad_loss_ != model::kNoStep && bad_.any() && first_bad_loss_ <= bad_.first().step;
    if (!bad_.any() || lost) return;
    const bool recovered = bad_.Recovered(recovered_points_);
    const Sample& first = bad_.first();
    const model::Position at = places_.At(first.step);
    model::Finding finding =
        MakeFinding(first.step, bad_.last_step(),
                    SaysOutage(says::LossEvalNonFiniteValue{.value = first.value}, at, bad_, recovered));
    if (recovered) finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::LossEvalNonFiniteFirst{.at = at}, first.step, first.value, first.line);
    if (train_loss_.step != model::kNoStep) {
      AddEvidence(
          finding,
          says::LossEvalNonFiniteTrainingIsFinite{.loss = train_loss_.value, .at = places_.At(train_loss_.step)},
          train_loss_.step, train_loss_.value);
    }
    AddOutage(finding, bad_);
    AddMeasure(finding, "recovered", recovered ? 1 : 0);
    AddMeasure(finding, "from_start", bad_.all() ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  Places places_;
  double recovered_points_;
  BadPoints bad_;
  Sample train_loss_{1, model::kNoStep, 0, 0};
  std::int64_t first_bad_loss_ = model::kNoStep;
};

// ---- gradient norm

class NonFiniteGrad : public Cloned<NonFiniteGrad> {
 public:
  explicit NonFiniteGrad(const Context& context)
      : places_(context),
        recovered_points_(context.Threshold("recovered_points")),
        harmless_share_(context.Threshold("harmless_share")),
        scaler_(context.loss_scaler) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1 || sample.role == 2) {
      ++losses_;
      if (!std::isfinite(sample.value) && first_bad_loss_ == model::kNoStep) first_bad_loss_ = sample.step;
      if (sample.role == 2) return;  // a policy's loss says nothing by its course
      loss_.Add(sample.step, sample.value);
      last_loss_ = sample;
    } else if (sample.role == 0) {
      // What precedes the first finite norm is a loss scaler's search when the loss is finite meanwhile.
      const bool bad = !std::isfinite(sample.value);
      if (bad && bad_.good() == 0) ++leading_;
      if (bad) last_bad_loss_value_ = last_loss_.value;
      // A loss of exactly 0 beside it is a NaN that the logger replaced.
      const bool hidden = bad && last_loss_.step == sample.step && last_loss_.value == 0.0;
      if (hidden && first_bad_loss_ == model::kNoStep) first_bad_loss_ = sample.step;
      bad_.Add(sample, bad);
    }
  }
  void Restart(std::int64_t step) override {
    bad_.Restart(step);
    loss_.ForgetFrom(step);
    if (first_bad_loss_ >= step) first_bad_loss_ = model::kNoStep;
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (!bad_.any() || IsHarmless()) return;
    const bool recovered = bad_.Recovered(recovered_points_);
    const Sample& first = bad_.first();
    model::Finding finding = MakeFinding(
        first.step, bad_.last_step(),
        SaysOutage(says::GradNonFiniteValue{.value = first.value}, places_.At(first.step), bad_, recovered));
    if (bad_.all() && loss_.Improved()) {
      finding.says = says::GradNonFiniteNotMeasured{};
      finding.severity = model::Severity::kWarning;
    } else if (recovered || EndsWithAFewSkips() || AreSkips()) {
      finding.severity = model::Severity::kWarning;
    }
    AddEvidence(finding, WhoWasFirst(first), first.step, first.value, first.line);
    AddOutage(finding, bad_);
    AddMeasure(finding, "recovered", recovered ? 1 : 0);
    AddMeasure(finding, "first_bad_loss_step", static_cast<double>(first_bad_loss_));
    AddMeasure(finding, "loss_scaler", scaler_ ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  bool IsHarmless() const {
    if (first_bad_loss_ != model::kNoStep || bad_.streak_at_end() > 0) return false;
    const bool only_search = leading_ == bad_.count();
    const bool rare = bad_.share() <= harmless_share_ && bad_.longest() <= 2;
    return (scaler_ && rare) ||
           (only_search && loss_.points() > leading_ && bad_.good() > 2 * leading_ && (scaler_ || leading_ <= 3));
  }

  // The log stops on one or two bad norms while the loss is still finite: perhaps skipped, not proven lost.
  bool EndsWithAFewSkips() const {
    return bad_.streak_at_end() > 0 && bad_.streak_at_end() <= 2 && bad_.good() > 10 &&
           first_bad_loss_ == model::kNoStep && std::isfinite(last_bad_loss_value_) && last_bad_loss_value_ != 0.0;
  }

  // Single bad norms all along a run whose loss never was: somebody leaves those steps out.
  bool AreSkips() const {
    return losses_ > 0 && first_bad_loss_ == model::kNoStep && bad_.longest() <= 2 && bad_.streak_at_end() == 0 &&
           bad_.good() > 10 * bad_.longest() && bad_.share() <= kSkipShare;
  }

  model::Statement WhoWasFirst(const Sample& first) const {
    const model::Position at = places_.At(first.step);
    if (losses_ == 0) return says::GradNonFiniteNoLoss{.at = at};
    if (first_bad_loss_ == model::kNoStep) return says::GradNonFiniteLossIsFinite{.at = at};
    if (first_bad_loss_ < first.step) return says::GradNonFiniteLossFirst{.at = places_.At(first_bad_loss_)};
    if (first_bad_loss_ == first.step) return says::GradNonFiniteTogether{.at = at};
    return says::GradNonFiniteGradientFirst{.at = places_.At(first_bad_loss_)};
  }

  static constexpr double kSkipShare = 0.1;
  Places places_;
  double recovered_points_;
  double harmless_share_;
  bool scaler_;
  BadPoints bad_;
  LossCourse loss_;
  Sample last_loss_;
  double last_bad_loss_value_ = 0;
  std::int64_t first_bad_loss_ = model::kNoStep;
  std::uint64_t leading_ = 0;
  std::uint64_t losses_ = 0;
};

// ---- loss scale

class LossScaleCollapse : public Cloned<LossScaleCollapse> {
 public:
  explicit LossScaleCollapse(const Context& context)
      : places_(context), drop_(context.Threshold("drop")), floor_(context.Threshold("floor")) {}

  void Observe(const Sample& sample) override {
    if (sample.role != 0 || !std::isfinite(sample.value)) return;
    ++points_;
    // Falling from the first value is the search for a scale; the first value that holds, or rises, is the settled one.
    const bool falling = points_ > 1 && sample.value < last_.value;
    held_ = falling ? 0 : held_ + 1;
    if (settled_ == 0 && points_ > 1 && (held_ >= kHold || sample.value > last_.value)) {
      settled_ = sample.value;
      if (sample.value > floor_) halvings_ = 0;  // those of the search do not count
    }
    if (settled_ > 0) settled_ = std::max(settled_, sample.value);
    if (falling) {
      if (halvings_++ == 0) {
        first_fall_ = sample;
        before_fall_ = settled_ > 0 ? last_.value : 0;
      }
    } else if (points_ > 1 && sample.value > last_.value) {
      halvings_ = 0;
    }
    last_ = sample;
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (points_ < 3 || halvings_ == 0) return;
    // Since it last rose: a scale that once grew higher and now swings around a lower value is sound.
    const bool lost = settled_ > 0 && last_.value * drop_ <= before_fall_;
    const bool at_floor = last_.value <= floor_ && halvings_ >= 3;
    if (!lost && !at_floor) return;
    model::Finding finding =
        MakeFinding(first_fall_.step, last_.step,
                    says::NumericsLossScaleCollapseFell{
                        .scale = last_.value, .halvings = halvings_, .first = places_.At(first_fall_.step)});
    AddEvidence(finding, says::NumericsLossScaleCollapseEnd{.scale = last_.value}, last_.step, last_.value, last_.line);
    AddMeasure(finding, "scale", last_.value);
    AddMeasure(finding, "settled", settled_);
    out.push_back(std::move(finding));
  }

 private:
  static constexpr std::uint64_t kHold = 10;
  Places places_;
  double drop_;
  double floor_;
  Sample last_;
  Sample first_fall_;
  double before_fall_ = 0;
  double settled_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t halvings_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeNonFiniteLoss(const Context& context) { return std::make_unique<NonFiniteLoss>(context); }
std::unique_ptr<Detector> MakeNonFiniteEval(const Context& context) { return std::make_unique<NonFiniteEval>(context); }
std::unique_ptr<Detector> MakeNonFiniteGrad(const Context& context) { return std::make_unique<NonFiniteGrad>(context); }
std::unique_ptr<Detector> MakeLossScaleCollapse(const Context& context) {
  return std::make_unique<LossScaleCollapse>(context);
}

}  // namespace vigil::detect
