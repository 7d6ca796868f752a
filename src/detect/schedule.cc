#include <algorithm>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// ---- zero

class LrZero : public Cloned<LrZero> {
 public:
  explicit LrZero(const Context& context)
      : places_(context), min_points_(context.Threshold("min_points")), tail_share_(context.Threshold("tail_share")) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1) return loss_.Add(sample.step, sample.value);
    if (sample.role == 2) return reward_.Add(sample.step, -sample.value);
    if (!std::isfinite(sample.value)) return;
    if (points_++ == 0) first_step_ = sample.step;
    if (points_ > 1 && sample.value > 0) ++(sample.value == last_.value ? repeats_ : changes_);
    const double before = last_.value;
    last_ = sample;
    peak_ = std::max(peak_, sample.value);
    if (sample.value != 0.0) {
      streak_ = 0;
      return;
    }
    if (streak_++ == 0) {
      streak_start_ = sample;
      before_streak_ = before;
    }
    ++zeros_;
    if (streak_ > longest_) {
      longest_ = streak_;
      longest_start_ = streak_start_;
      longest_end_ = sample.step;
      before_longest_ = before_streak_;
    }
  }

  void Restart(std::int64_t step) override {
    streak_ = 0;
    if (longest_start_.step >= step) longest_ = 0;
    longest_end_ = std::min(longest_end_, step - 1);
    loss_.ForgetFrom(step);
    reward_.ForgetFrom(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (static_cast<double>(longest_) < min_points_ || IsTheEndOfASchedule() || IsRoundedAway()) return;
    const bool always = zeros_ == points_;
    // Zeros before the first rate are a warm-up whose first digits are not printed, or steps that were skipped.
    const bool before_warmup = !always && longest_start_.step == first_step_;
    if (before_warmup && longest_ * 10 <= points_) return;
    model::Finding finding = MakeFinding(longest_start_.step, longest_end_, Says(always));
    AddEvidence(finding, says::LrZeroFirst{.at = places_.At(longest_start_.step)}, longest_start_.step, 0,
                longest_start_.line);
    if (before_warmup || RanPastTheEnd()) finding.severity = model::Severity::kWarning;
    AddMeasure(finding, "always", always ? 1 : 0);
    AddMeasure(finding, "share", static_cast<double>(zeros_) / static_cast<double>(points_));
    out.push_back(std::move(finding));
  }

 private:
  model::Statement Says(bool always) const {
    const model::Position first = places_.At(longest_start_.step);
    const model::Position last = places_.At(longest_end_);
    if (always) return says::LrZeroAlways{.points = points_};
    if (RanPastTheEnd()) return says::LrZeroPastTheEnd{.first = first, .last = last};
    return says::LrZeroStretch{.first = first, .last = last};
  }

  bool IsTheEndOfASchedule() const {
    const bool at_end = longest_end_ == last_.step;
    const auto run = static_cast<double>(last_.step - first_step_);
    return at_end && zeros_ < points_ && static_cast<double>(longest_end_ - longest_start_.step) <= tail_share_ * run;
  }
  // The rate came down to 0 as planned and stayed there to the end: what was trained before is sound.
  bool RanPastTheEnd() const {
    return longest_end_ == last_.step && before_longest_ > 0 && before_longest_ < kDecayedTo * peak_ &&
           2 * longest_ < points_;
  }
  // A log that prints three decimals shows 0.000 for every rate in use: the run learns all the same. And one that
  // comes down to 0 in a staircase, one value on several points, has run out of digits, not of schedule.
  bool IsRoundedAway() const {
    if (zeros_ == points_) return loss_.Improved(0.05) || reward_.Improved(0.1);
    return longest_end_ == last_.step && changes_ >= 2 && repeats_ > changes_;
  }

  static constexpr double kDecayedTo = 0.1;
  Places places_;
  double min_points_;
  double tail_share_;
  double peak_ = 0;
  double before_streak_ = 0;
  double before_longest_ = 0;
  Sample last_;
  Sample streak_start_;
  Sample longest_start_;
  std::int64_t longest_end_ = 0;
  std::int64_t first_step_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t zeros_ = 0;
  std::uint64_t repeats_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t streak_ = 0;
  std::uint64_t longest_ = 0;
  LossCourse loss_;
  LossCourse reward_;
};

// ---- warm-up

class NoWarmup : public Cloned<NoWarmup> {
 public:
  explicit NoWarmup(const Context& context)
      : places_(context),
        run_(context.run),
        warmup_share_(context.Threshold("warmup_share")),
        min_steps_(context.Threshold("min_steps")),
        enabled_(!context.reinforcement && !context.run->HasMethod("lora")) {}

  void Observe(const Sample& sample) override {
    last_step_ = std::max(last_step_, sample.step);
    if (sample.role != 0) return ObserveTrouble(sample);
    if (!std::isfinite(sample.value)) return;
    if (points_++ == 0) first_ = sample;
    if (sample.value > peak_.value) peak_ = sample;
  }
  void Restart(std::int64_t) override { restarted_ = true; }

  void Report(std::vector<model::Finding>& out) const override {
    // A plan in steps says nothing about a log of epochs, unless the run logged how the two relate.
    const std::int64_t steps = PlannedEnd(*run_, places_.axis(), last_step_);
    if (!enabled_ || points_ < 3 || peak_.value <= 0 || static_cast<double>(steps) < min_steps_) return;
    const double allowed = std::max(1.0, warmup_share_ * static_cast<double>(steps));
    // A first point later than that cannot show whether a warm-up came before it.
    if (static_cast<double>(first_.step) > 2 * allowed || first_.value < kAtPeak * peak_.value || StatesAWarmup())
      return;
    const model::Position at = places_.At(first_.step);
    model::Finding finding =
        MakeFinding(first_.step, first_.step, says::LrNoWarmupAtPeak{.rate = first_.value, .at = at});
    const bool trouble = HadEarlyTrouble(steps);
    if (!trouble) finding.severity = model::Severity::kInfo;
    AddEvidence(finding, says::LrNoWarmupFirst{.rate = first_.value, .at = at}, first_.step, first_.value, first_.line);
    if (const Sample peak = EarlyPeak(); trouble && peak.value > first_loss_.value) {
      AddEvidence(finding,
                  says::LrNoWarmupLossRose{.from = first_loss_.value, .to = peak.value, .at = places_.At(peak.step)},
                  peak.step, peak.value, peak.line);
    }
    AddMeasure(finding, "early_trouble", trouble ? 1 : 0);
    AddMeasure(finding, "peak", peak_.value);
    out.push_back(std::move(finding));
  }

 private:
  void ObserveTrouble(const Sample& sample) {
    if (sample.role != 1 || restarted_) return;
    loss_.Add(sample.step, sample.value);
    if (losses_++ == 0) first_loss_ = sample;
    if (!std::isfinite(sample.value) && first_bad_ == model::kNoStep) first_bad_ = sample.step;
    if (std::isfinite(sample.value) && losses_ <= kEarlyPoints) early_.push_back(sample);
  }
  bool HadEarlyTrouble(std::int64_t steps) const {
    const auto early = static_cast<std::int64_t>(kEarlyShare * static_cast<double>(steps));
    const Sample peak = EarlyPeak();
    const bool rose = peak.value > kRose * first_loss_.value && peak.step <= early && first_loss_.value > 0;
    return rose || (first_bad_ != model::kNoStep && first_bad_ <= early) || NeverLearned();
  }
  // The highest of the first losses: one that is above the start by far more than the noise, or three in a row that
  // do so by less. Nothing where neither does. The noise is that of what follows: that of the trouble itself would hide
  // it.
  Sample EarlyPeak() const {
    std::vector<double> values;
    values.reserve(early_.size());
    for (const Sample& sample : early_) values.push_back(sample.value);
    if (values.size() < 3) return {};
    const double noise =
        stats::NoiseSigma({values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end()});
    const auto highest = [&](const std::vector<double>& of, double deviations) -> Sample {
      const auto at = static_cast<std::size_t>(std::max_element(of.begin(), of.end()) - of.begin());
      if (of[at] - first_loss_.value < deviations * noise) return {};
      return {1, early_[at].step, of[at], early_[at].line};
    };
    const Sample alone = highest(values, kAloneBeyondNoise);
    return alone.value > 0 ? alone : highest(stats::SmoothByMedian(values, 3), kBeyondNoise);
  }
  // Thrown into a flat region by the first updates, a run stays there.
  bool NeverLearned() const {
    const bool fell_at_once = first_loss_.value > kRose * loss_.EndLevel();
    return loss_.points() >= kEnough && !loss_.Improved(0.1) && !fell_at_once;
  }
  // Whether a warm-up was configured, however long: its length is in steps and is not compared with the axis here.
  bool StatesAWarmup() const {
    return run_->FactNumber("warmup_steps").value_or(0) > 1 || run_->FactNumber("warmup_ratio").value_or(0) > 0;
  }

  static constexpr double kAtPeak = 0.97;
  static constexpr double kEarlyShare = 0.1;
  static constexpr double kRose = 1.3;
  static constexpr double kBeyondNoise = 4;
  static constexpr double kAloneBeyondNoise = 12;
  static constexpr std::uint64_t kEarlyPoints = 200;
  static constexpr std::uint64_t kEnough = 30;
  Places places_;
  LossCourse loss_;
  const model::Run* run_;
  double warmup_share_;
  double min_steps_;
  bool enabled_;
  bool restarted_ = false;
  Sample first_;
  Sample peak_{0, 0, 0, 0};
  Sample first_loss_;
  std::vector<Sample> early_;
  std::int64_t first_bad_ = model::kNoStep;
  std::int64_t last_step_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t losses_ = 0;
};

// ---- jumps

class ScheduleBreak : public Cloned<ScheduleBreak> {
 public:
  explicit ScheduleBreak(const Context& context)
      : places_(context), jump_(context.Threshold("jump")), cyclic_(StatesCycles(*context.run)) {}

  void Observe(const Sample& sample) override {
    if (sample.role != 0 || !std::isfinite(sample.value) || sample.value < 0) return;
    if (restarted_) CheckRestart(sample);
    CheckClimb(sample);
    window_.push_back(sample);
    ++points_;
    if (window_.size() > kWindow) window_.erase(window_.begin());
    if (window_.size() == kWindow) CheckMiddle();
    if (kept_.size() < kKept) kept_.push_back(sample);
  }

  void Restart(std::int64_t step) override {
    restarted_ = true;
    at_restart_ = step;
    window_.clear();
    std::erase_if(breaks_, [&](const Break& found) { return found.to.step >= step; });
    RememberUpTo(step);
  }

  void Report(std::vector<model::Finding>& out) const override {
    if (breaks_.empty() || cyclic_ || AreCycles()) return;
    const Break& first = breaks_.front();
    model::Statement restart;
    if (first.at_restart) restart = says::LrScheduleBreakAtRestart{};
    model::Finding finding = MakeFinding(
        first.to.step, breaks_.back().to.step,
        says::LrScheduleBreakJumped{
            .from = first.from.value, .to = first.to.value, .at = places_.At(first.to.step), .restart = restart});
    for (const Break& each : breaks_) {
      AddEvidence(finding,
                  says::LrScheduleBreakPoints{.from = each.from.value,
                                              .before = places_.At(each.from.step),
                                              .to = each.to.value,
                                              .after = places_.At(each.to.step)},
                  each.to.step, each.to.value, each.to.line);
    }
    AddMeasure(finding, "from", first.from.value);
    AddMeasure(finding, "to", first.to.value);
    AddMeasure(finding, "at_restart", first.at_restart ? 1 : 0);
    out.push_back(std::move(finding));
  }

 private:
  struct Break {
    Sample from;
    Sample to;
    bool at_restart = false;
  };

  // A schedule that is meant to rise again says so in its name: cosine_with_restarts, cyclic, one-cycle.
  static bool StatesCycles(const model::Run& run) {
    const model::Fact* stated = run.FindFact("lr_schedule");
    if (stated == nullptr) return false;
    const std::string name = ToLower(stated->value);
    return name.find("restart") != std::string::npos || name.find("cycl") != std::string::npos;
  }

  // Judges the step from the third to the fourth of six points, by the slopes on both sides of it.
  void CheckMiddle() {
    const Sample& before = window_[2];
    const Sample& after = window_[3];
    const double change = after.value - before.value;
    const double scale = std::max(before.value, after.value);
    if (points_ < kEarly || scale <= 0 || std::abs(change) < jump_ * scale) return;
    const double slope_before =
        std::max(std::abs(window_[2].value - window_[1].value), std::abs(window_[1].value - window_[0].value));
    const double slope_after =
        std::max(std::abs(window_[5].value - window_[4].value), std::abs(window_[4].value - window_[3].value));
    // A fall that a rise follows is a warm-up that began again: its own slope says nothing about the fall.
    const bool warms_up_again =
        change < 0 && window_[4].value > window_[3].value && window_[5].value > window_[4].value;
    const double slope = warms_up_again ? slope_before : std::max(slope_before, slope_after);
    if (std::abs(change) < kOverSlope * slope) return;
    // From flat to flat, downwards, is a step schedule or a reduction on a plateau.
    const bool flat_before = slope_before < kFlat * before.value;
    const bool flat_after = slope_after < kFlat * std::max(after.value, kFlat * before.value);
    if (change < 0 && flat_before && flat_after) return;
    AddBreak({before, after, false});
  }

  // A schedule that has come down does not climb again, however gently: neither above its peak nor to a multiple of
  // where it was. Cycles do, and are recognised by their period.
  void CheckClimb(const Sample& sample) {
    const bool above_peak = sample.value > kNewPeak * peak_;
    const bool climbed = lowest_since_peak_.value > 0 && sample.value > kClimb * lowest_since_peak_.value;
    if (decayed_ && (above_peak || climbed)) {
      AddBreak({lowest_since_peak_, sample, false});
      decayed_ = false;
      peak_ = sample.value;
      lowest_since_peak_ = sample;
    }
    TakeIn(sample);
  }

  // Peak and decay as they were at the step of a restart: the rate that comes back with it is no climb.
  void RememberUpTo(std::int64_t step) {
    peak_ = 0;
    lowest_since_peak_ = {};
    decayed_ = false;
    for (const Sample& old : kept_) {
      if (old.step < step) TakeIn(old);
    }
  }

  void TakeIn(const Sample& sample) {
    if (sample.value >= peak_) {
      peak_ = sample.value;
      lowest_since_peak_ = sample;
      decayed_ = false;
    } else if (sample.value < lowest_since_peak_.value) {
      lowest_since_peak_ = sample;
      decayed_ = decayed_ || sample.value < kDecayed * peak_;
    }
  }

  // A jump is seen by its height and by the climb: it counts once.
  void AddBreak(const Break& found) {
    const std::int64_t reach = window_.empty() ? 0 : window_.back().step - window_.front().step;
    if (!breaks_.empty() && found.to.step - breaks_.back().to.step <= reach) return;
    if (breaks_.size() < kMostBreaks) breaks_.push_back(found);
  }

  // At a restart the rate must continue where the run had been at that step.
  void CheckRestart(const Sample& sample) {
    restarted_ = false;
    const Sample* nearest = nullptr;
    for (const Sample& old : kept_) {
      if (old.step <= sample.step) nearest = &old;
    }
    const bool from_scratch = kept_.empty() || at_restart_ <= kept_.front().step;
    if (nearest == nullptr || from_scratch || nearest->step == kept_.front().step) return;
    // Only so many points are kept; one far from the restart says nothing about it.
    const std::int64_t interval = (kept_.back().step - kept_.front().step) / static_cast<std::int64_t>(kept_.size());
    if (sample.step - nearest->step > 3 * std::max<std::int64_t>(interval, 1)) return;
    const double scale = std::max(nearest->value, sample.value);
    if (scale > 0 && std::abs(nearest->value - sample.value) > jump_ * scale && breaks_.size() < kMostBreaks)
      breaks_.push_back({*nearest, sample, true});
  }

  // Warm restarts: upward jumps to one height, each from the bottom of a cycle, or three and more at distances that do
  // not shrink. Two jumps from somewhere in between are a scheduler that was re-created twice.
  bool AreCycles() const {
    if (breaks_.size() < 2) return false;
    bool from_the_bottom = true;
    std::int64_t distance = 0;
    bool regular = breaks_.size() > 2;
    for (std::size_t i = 0; i < breaks_.size(); ++i) {
      const Break& each = breaks_[i];
      const bool same_height = std::abs(each.to.value - breaks_[0].to.value) < 0.3 * breaks_[0].to.value;
      if (each.to.value <= each.from.value || !same_height || each.at_restart) return false;
      from_the_bottom = from_the_bottom && each.from.value < kBottom * each.to.value;
      if (i == 0) continue;
      const std::int64_t now = each.to.step - breaks_[i - 1].to.step;
      regular = regular && static_cast<double>(now) >= kAsFar * static_cast<double>(distance);
      distance = now;
    }
    return from_the_bottom || regular;
  }

  static constexpr double kBottom = 0.2;
  static constexpr double kAsFar = 0.9;
  static constexpr std::size_t kWindow = 6;
  static constexpr std::size_t kKept = 4096;
  static constexpr std::size_t kMostBreaks = 16;
  static constexpr std::uint64_t kEarly = 8;  // warm-ups of coarse logs are over by then
  static constexpr double kOverSlope = 4;
  static constexpr double kFlat = 0.01;
  Places places_;
  double jump_;
  bool cyclic_;
  std::vector<Sample> window_;
  std::vector<Sample> kept_;
  std::vector<Break> breaks_;
  static constexpr double kNewPeak = 1.25;
  static constexpr double kClimb = 3;
  static constexpr double kDecayed = 0.6;
  double peak_ = 0;
  Sample lowest_since_peak_;
  bool decayed_ = false;
  std::uint64_t points_ = 0;
  bool restarted_ = false;
  std::int64_t at_restart_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeLrZero(const Context& context) { return std::make_unique<StartedOver<LrZero>>(context); }
std::unique_ptr<Detector> MakeNoWarmup(const Context& context) { return std::make_unique<NoWarmup>(context); }
std::unique_ptr<Detector> MakeScheduleBreak(const Context& context) { return std::make_unique<ScheduleBreak>(context); }

}  // namespace vigil::detect
