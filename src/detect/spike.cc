#include <algorithm>

#include "detect/detectors.h"
#include "detect/log_baseline.h"

namespace vigil::detect {
namespace {

struct Spike {
  Sample start;
  Sample peak;
  double baseline = 0;
  std::uint64_t points = 0;
  bool with_grad = false;
  bool open = false;  // the log ends before it came back
  double ratio() const { return peak.value / baseline; }
};

// Collects spikes: from the first point that stands out to the first that is back near the baseline.
class SpikeCollector {
 public:
  // Room for all that is kept, at once: the guard's detectors run inside a training step and do not allocate there.
  SpikeCollector() { biggest_.reserve(kKept + 1); }

  // `outstanding`: the point is a spike by itself. A point inside a spike is judged only by how far it is back.
  // Returns whether the point belongs to a spike (and must stay out of the baseline).
  bool Add(const Sample& sample, const Height& height, bool outstanding, bool with_grad) {
    if (!open_ && !outstanding) return false;
    if (!open_) {
      open_ = true;
      current_ = {sample, sample, height.baseline, 0, with_grad, false};
    }
    const bool back = height.z < kBackZ || height.ratio < 1 + (current_.ratio() - 1) * kBackShare;
    if (back && current_.points > 0) {
      Close();
      return false;
    }
    ++current_.points;
    current_.with_grad |= with_grad;
    if (sample.value > current_.peak.value) current_.peak = sample;
    return true;
  }
  // The level stayed up: what looked like a spike is the new level, unless it comes back before long.
  bool HasBecomeTheLevel() const { return open_ && current_.points > kNarrow; }
  void TakeAsLevel() {
    open_ = false;
    risen_ = current_;
    back_ = 0;
  }
  // Every point, before it is judged: a level that was taken for the new one may go back after all.
  void Watch(const Sample& sample) {
    if (!risen_) return;
    const double back_below = risen_->baseline * (1 + (risen_->ratio() - 1) * kBackShare);
    back_ = sample.value < back_below ? back_ + 1 : 0;
    ++risen_->points;
    if (back_ == kALevel) {
      risen_->points -= kALevel;
      Keep(*risen_);
    }
    if (back_ == kALevel || risen_->points > kWidest) risen_.reset();
  }
  void Abandon() {
    open_ = false;
    risen_.reset();
  }
  // With what the log ends in: too short for a level, and not back.
  SpikeCollector AtEndOfLog() const {
    SpikeCollector all = *this;
    if (open_) {
      all.current_.open = true;
      all.Close();
    }
    return all;
  }

  bool open() const { return open_; }
  std::uint64_t count() const { return count_; }
  const Spike& first() const { return first_; }
  const Spike& last() const { return last_; }
  const std::vector<Spike>& biggest() const { return biggest_; }

 private:
  void Close() {
    open_ = false;
    Keep(current_);
  }
  void Keep(const Spike& spike) {
    ++count_;
    if (count_ == 1) first_ = spike;
    last_ = spike;
    biggest_.push_back(spike);
    std::sort(biggest_.begin(), biggest_.end(), [](const Spike& a, const Spike& b) { return a.ratio() > b.ratio(); });
    if (biggest_.size() > kKept) biggest_.pop_back();
  }
  static constexpr double kBackZ = 3;
  static constexpr double kBackShare = 0.25;
  static constexpr std::uint64_t kNarrow = 64;
  static constexpr std::uint64_t kWidest = 512;
  static constexpr std::uint64_t kALevel = 3;  // points in a row that are no accident
  static constexpr std::size_t kKept = 3;
  bool open_ = false;
  Spike current_;
  std::optional<Spike> risen_;
  std::uint64_t back_ = 0;
  Spike first_;
  Spike last_;
  std::uint64_t count_ = 0;
  std::vector<Spike> biggest_;
};

model::Statement HowItEnded(const Spike& spike) {
  if (spike.open) return says::SpikeOpen{};
  return says::SpikeBack{.points = spike.points};
}

// The sentences of spikes name their metric: those of the gradient norm are the same.
void AddSpikes(model::Finding& finding, const Places& places, std::string_view metric,
               const std::vector<Spike>& spikes) {
  for (const Spike& spike : spikes) {
    AddEvidence(finding,
                says::LossSpikePoint{.metric = metric,
                                     .peak = spike.peak.value,
                                     .at = places.At(spike.peak.step),
                                     .ratio = spike.ratio(),
                                     .ended = HowItEnded(spike)},
                spike.peak.step, spike.peak.value, spike.peak.line);
  }
  AddMeasure(finding, "height", spikes.front().ratio());
  AddMeasure(finding, "width", static_cast<double>(spikes.front().points));
}

// One template for both sentences of a kind: the one that names the learning rate has the same places.
template <class One, class Many>
model::Statement DescribeAs(const Places& places, std::string_view metric, const SpikeCollector& spikes,
                            const Spike& top) {
  const model::Position at = places.At(top.peak.step);
  if (spikes.count() == 1) {
    return One{.metric = metric, .peak = top.peak.value, .ratio = top.ratio(), .at = at, .ended = HowItEnded(top)};
  }
  return Many{.count = spikes.count(),
              .metric = metric,
              .first = places.At(spikes.first().start.step),
              .last = places.At(spikes.last().start.step),
              .peak = top.peak.value,
              .ratio = top.ratio(),
              .at = at};
}

// Spikes on more than a few of the points are the noise of the run, not events in it.
bool AreNoise(std::uint64_t spikes, std::uint64_t points) {
  constexpr double kNoiseShare = 0.05;
  return static_cast<double>(spikes) > std::max(2.0, kNoiseShare * static_cast<double>(points));
}

// ---- loss

class LossSpike : public Cloned<LossSpike> {
 public:
  explicit LossSpike(const Context& context)
      : places_(context),
        enabled_(!context.reinforcement),
        judges_points_(context.judges_points),
        z_with_grad_(context.Threshold("z_with_grad")),
        limits_(LimitsOf(context)),
        loss_(limits_),
        grad_(limits_) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0) last_ = {};
    if (!enabled_ || !std::isfinite(sample.value)) return;
    if (sample.role == 2) return ObserveRate(sample);
    if (sample.value <= 0) {
      goes_below_zero_ |= sample.role == 0 && sample.value < 0;
      return;
    }
    if (sample.role == 1) return grad_.Add(sample.step, sample.value);
    ++points_;
    spikes_.Watch(sample);
    const double log = std::log(sample.value);
    const bool ordinary = !judges_points_ && !spikes_.open() && !loss_.MayStandOut(log);
    if (!loss_.Ready() || ordinary) return loss_.Push(log);
    JudgeLoss(sample, log);
  }

  PointVerdict LastPoint() const override { return last_; }

  void Restart(std::int64_t) override {
    spikes_.Abandon();
    ForgetBaselines();
  }

  void Report(std::vector<model::Finding>& out) const override {
    const SpikeCollector spikes = spikes_.AtEndOfLog();
    // A loss that goes below zero has no logarithm: of its course nothing is said. The guard asks for each point alone.
    if (!enabled_ || goes_below_zero_ || spikes.count() == 0 || AreNoise(spikes.count(), points_)) return;
    const Spike& top = spikes.biggest().front();
    // One odd batch that moved neither the gradient nor the next point is worth a note; several are a flaw of the data.
    const bool harmless =
        top.points == 1 && !top.with_grad && top.ratio() < kTall && (spikes.count() < kSeveral || top.ratio() < kPlain);
    // Where a schedule goes back to its peak the loss does too, and a schedule that should not have is its own finding.
    const bool by_rate = by_rate_ > 0 && unasked_ == 0;
    model::Finding finding = MakeFinding(
        spikes.first().start.step, spikes.last().start.step,
        by_rate ? DescribeAs<says::LossSpikeOneWithRate, says::LossSpikeManyWithRate>(places_, "loss", spikes, top)
                : DescribeAs<says::LossSpikeOne, says::LossSpikeMany>(places_, "loss", spikes, top));
    if (harmless || by_rate) finding.severity = model::Severity::kInfo;
    AddSpikes(finding, places_, "loss", spikes.biggest());
    AddMeasure(finding, "count", static_cast<double>(spikes.count()));
    AddMeasure(finding, "with_grad", top.with_grad ? 1 : 0);
    AddMeasure(finding, "peak_step", static_cast<double>(top.peak.step));
    out.push_back(std::move(finding));
  }

 private:
  void JudgeLoss(const Sample& sample, double log) {
    const Height height = loss_.Measure(log);
    // The gradient norm is asked for only where its answer matters.
    const bool may_be_spike = spikes_.open() || loss_.IsSpike(height, std::min(z_with_grad_, limits_.z));
    const bool with_grad = may_be_spike && grad_.StoodAbove(sample.step, z_with_grad_);
    const bool outstanding = loss_.IsSpike(height, with_grad ? z_with_grad_ : limits_.z);
    if (outstanding && !spikes_.open()) ++(points_ - rate_rose_at_ <= kSoonAfter ? by_rate_ : unasked_);
    last_ = {spikes_.Add(sample, height, outstanding, with_grad), height.ratio};
    if (!last_.in_incident) return loss_.Push(log);
    if (!spikes_.HasBecomeTheLevel()) return;
    spikes_.TakeAsLevel();
    ForgetBaselines();
  }

  void ObserveRate(const Sample& sample) {
    if (rate_ > 0 && sample.value > kRaised * rate_) rate_rose_at_ = points_;
    rate_ = sample.value;
  }

  void ForgetBaselines() {
    loss_.Clear();
    grad_.Clear();
  }

  static SpikeLimits LimitsOf(const Context& context) {
    return {context.Threshold("z"), context.Threshold("min_ratio"), context.Threshold("beyond_max"),
            Count(context.Threshold("window")), Count(context.Threshold("min_points"))};
  }

  static constexpr double kTall = 2.5;
  static constexpr double kPlain = 2;  // what anybody sees on a chart
  static constexpr std::uint64_t kSeveral = 3;
  static constexpr double kRaised = 3;
  static constexpr std::uint64_t kSoonAfter = 5;
  double rate_ = 0;
  std::uint64_t rate_rose_at_ = 0;
  std::uint64_t by_rate_ = 0;
  std::uint64_t unasked_ = 0;
  Places places_;
  bool enabled_;
  bool judges_points_;
  bool goes_below_zero_ = false;
  double z_with_grad_;
  SpikeLimits limits_;
  LogBaseline loss_;
  RarelyAskedBaseline grad_;
  SpikeCollector spikes_;
  PointVerdict last_;
  std::uint64_t points_ = 0;
};

// ---- gradient norm

class GradSpike : public Cloned<GradSpike> {
 public:
  explicit GradSpike(const Context& context)
      : places_(context),
        ratio_(context.Threshold("ratio")),
        rl_(context.reinforcement),
        judges_points_(context.judges_points),
        limits_{context.Threshold("z"), kSmallestRatio, context.Threshold("beyond_max"),
                Count(context.Threshold("window")), Count(context.Threshold("min_points"))},
        grad_(limits_, ratio_) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 1) return loss_.Add(sample.step, sample.value);
    last_ = {};
    if (!std::isfinite(sample.value) || sample.value <= 0) return;
    ++points_;
    spikes_.Watch(sample);
    const double log = std::log(sample.value);
    const bool ordinary = !judges_points_ && !spikes_.open() && !grad_.MayStandOut(log);
    if (!grad_.Ready() || ordinary) return grad_.Push(log);
    const Height height = grad_.Measure(log);
    // Near-zero norms are normal between the useful batches of RL: a jump from them to an ordinary norm is no spike.
    const bool tall = height.ratio >= ratio_ && height.z > limits_.z;
    const bool outstanding = (tall || grad_.IsSpike(height, limits_.z)) && (!rl_ || sample.value > 1);
    last_ = {spikes_.Add(sample, height, outstanding, false), height.ratio};
    if (!last_.in_incident) return grad_.Push(log);
    if (!spikes_.HasBecomeTheLevel()) return;
    spikes_.TakeAsLevel();
    grad_.Clear();
  }

  PointVerdict LastPoint() const override { return last_; }

  void Restart(std::int64_t) override {
    spikes_.Abandon();
    grad_.Clear();
  }

  void Report(std::vector<model::Finding>& out) const override {
    const SpikeCollector spikes = spikes_.AtEndOfLog();
    if (spikes.count() == 0 || AreNoise(spikes.count(), points_)) return;
    const Spike& top = spikes.biggest().front();
    model::Finding finding =
        MakeFinding(spikes.first().start.step, spikes.last().start.step,
                    DescribeAs<says::LossSpikeOne, says::LossSpikeMany>(places_, "grad_norm", spikes, top));
    // Without an order of magnitude and with a loss that ended near its best, it was noise that the clip limit absorbs.
    if (top.ratio() < ratio_ && loss_.points() > 0 && loss_.EndedNearBest()) finding.severity = model::Severity::kInfo;
    AddSpikes(finding, places_, "grad_norm", spikes.biggest());
    AddMeasure(finding, "count", static_cast<double>(spikes.count()));
    AddMeasure(finding, "peak_step", static_cast<double>(top.peak.step));
    out.push_back(std::move(finding));
  }

 private:
  static constexpr double kSmallestRatio = 3;
  Places places_;
  double ratio_;
  bool rl_;
  bool judges_points_;
  SpikeLimits limits_;
  LogBaseline grad_;
  SpikeCollector spikes_;
  PointVerdict last_;
  LossCourse loss_;
  std::uint64_t points_ = 0;
};

}  // namespace

std::unique_ptr<Detector> MakeLossSpike(const Context& context) { return std::make_unique<LossSpike>(context); }
std::unique_ptr<Detector> MakeGradSpike(const Context& context) { return std::make_unique<GradSpike>(context); }

}  // namespace vigil::detect
