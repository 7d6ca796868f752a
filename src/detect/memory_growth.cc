#include <algorithm>
#include <optional>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// Memory whose floor climbs and climbs. Peaks come and go with the data; what is never given back lifts the floor.
class MemoryGrowth : public Cloned<MemoryGrowth> {
 public:
  explicit MemoryGrowth(const Context& context)
      : places_(context),
        kind_(KindOf(context.primary->signal)),
        min_share_(context.Threshold("min_share")),
        even_share_(context.Threshold("even_share")),
        min_points_(Count(context.Threshold("min_points"))),
        fewest_points_(Count(context.Threshold("fewest_points"))) {}

  void Observe(const Sample& sample) override {
    if (!std::isfinite(sample.value) || sample.value <= 0) return;
    if (kind_ == Kind::kReserved) return ObserveReserved(sample);
    if (sample.role == 0) history_.Add(sample.step, sample.value);
  }

  // A new process begins with memory of its own.
  void Restart(std::int64_t /*step*/) override {
    history_.Clear();
    first_reserved_ = 0;
  }

  void Report(std::vector<model::Finding>& out) const override {
    const auto climb = FindClimb();
    if (!climb) return;
    const double per_step = (climb->to - climb->from) / static_cast<double>(climb->last_step - climb->first_step);
    model::Finding finding = MakeFinding(climb->first_step, climb->last_step, Says(*climb));
    if (!climb->steep) finding.severity = model::Severity::kWarning;
    AddEvidence(finding, says::MemoryPerStep{.mib = per_step * 1024, .axis = model::Name(places_.axis())},
                climb->last_step, climb->to);
    AddMeasure(finding, "gib_per_step", per_step);
    AddMeasure(finding, "growth", climb->to / climb->from);
    out.push_back(std::move(finding));
  }

 private:
  struct Climb {
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
    double from = 0;
    double to = 0;
    bool steep = false;  // by its size, and not by its evenness alone
  };

  enum class Kind : std::uint8_t { kHost, kAllocated, kReserved };

  static Kind KindOf(std::string_view signal) {
    if (signal == "host_memory") return Kind::kHost;
    return signal == "mem_reserved" ? Kind::kReserved : Kind::kAllocated;
  }

  // What is reserved and not allocated, on top of what was reserved at first: a climb is then a share of that.
  void ObserveReserved(const Sample& sample) {
    if (sample.role == 1) allocated_ = sample;
    if (sample.role != 0 || allocated_.step != sample.step) return;
    if (first_reserved_ <= 0) first_reserved_ = sample.value;
    history_.Add(sample.step, first_reserved_ + std::max(0.0, sample.value - allocated_.value));
  }

  model::Statement Says(const Climb& climb) const {
    const model::Position first = places_.At(climb.first_step);
    const model::Position last = places_.At(climb.last_step);
    if (kind_ == Kind::kReserved)
      return says::MemoryFragmentationClimbs{.by = climb.to - climb.from, .first = first, .last = last};
    if (kind_ == Kind::kHost)
      return says::MemoryLeakClimbs{.from = climb.from, .to = climb.to, .first = first, .last = last};
    return says::MemoryGrowthClimbs{.from = climb.from, .to = climb.to, .first = first, .last = last};
  }

  // The lowest value of each of `pieces` stretches behind `begin`.
  static std::vector<double> Floors(const std::vector<stats::Bucket>& buckets, std::size_t begin, std::size_t pieces) {
    std::vector<double> floors;
    const std::size_t count = buckets.size() - begin;
    for (std::size_t i = 0; i < pieces; ++i) {
      const auto from = buckets.begin() + static_cast<std::ptrdiff_t>(begin + i * count / pieces);
      const auto to = buckets.begin() + static_cast<std::ptrdiff_t>(begin + (i + 1) * count / pieces);
      floors.push_back(std::min_element(from, to, [](const stats::Bucket& a, const stats::Bucket& b) {
                         return a.smallest < b.smallest;
                       })->smallest);
    }
    return floors;
  }

  // Every stretch adds at least that share of what a stretch adds on average, and the second half climbs as the first
  // does: pools and caches that fill up slow down.
  static bool ClimbsAllTheWay(const std::vector<double>& floors, double least_piece) {
    const double rise = floors.back() - floors.front();
    const double mean_piece = rise / static_cast<double>(floors.size() - 1);
    for (std::size_t i = 1; i < floors.size(); ++i) {
      if (floors[i] - floors[i - 1] < least_piece * mean_piece) return false;
    }
    return floors.back() - floors[floors.size() / 2] > kSecondHalf * rise;
  }

  // Few points are each a stretch of their own, many are looked at in a fixed number of stretches.
  std::size_t PiecesOf(std::size_t points) const {
    if (points >= 2 * kPieces) return kPieces;
    return points >= min_points_ ? std::max(fewest_points_, points / 2) : points;
  }

  // A climb that is seen in few points must be as much steeper.
  double ShareNeeded(std::size_t points) const {
    if (points >= min_points_) return min_share_;
    return min_share_ * static_cast<double>(min_points_) / static_cast<double>(points);
  }

  std::optional<Climb> ClimbFrom(const std::vector<stats::Bucket>& buckets, std::size_t begin) const {
    const std::size_t points = buckets.size() - begin;
    const std::vector<double> floors = Floors(buckets, begin, PiecesOf(points));
    const double share = floors.back() / floors.front() - 1;
    const bool steep = share >= ShareNeeded(points) && ClimbsAllTheWay(floors, kLeastPiece);
    const bool even = points >= min_points_ && share >= even_share_ && ClimbsAllTheWay(floors, kEvenPiece);
    if (!steep && !even) return std::nullopt;
    return Climb{buckets[begin].first_step, buckets.back().last_step, floors.front(), floors.back(), steep};
  }

  // The longest stretch up to the end that climbs all the way: what is kept may be kept from a step in mid run on.
  std::optional<Climb> FindClimb() const {
    const std::vector<stats::Bucket>& buckets = history_.buckets();
    constexpr std::size_t kTries = 24;
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::size_t begin = buckets.size() * i / kTries;
      if (buckets.size() - begin < fewest_points_) return std::nullopt;
      if (auto climb = ClimbFrom(buckets, begin)) return climb;
    }
    return std::nullopt;
  }

  static constexpr std::size_t kPieces = 12;
  static constexpr double kLeastPiece = 0.25;  // of the mean climb of a piece
  static constexpr double kEvenPiece = 0.6;    // the same, of a climb that shows by its evenness
  static constexpr double kSecondHalf = 0.3;   // of the whole climb

  Places places_;
  Kind kind_;
  double min_share_;
  double even_share_;
  std::size_t min_points_;
  std::size_t fewest_points_;
  Sample allocated_{1, model::kNoStep, 0, 0};
  double first_reserved_ = 0;
  stats::BucketHistory history_{256};
};

}  // namespace

std::unique_ptr<Detector> MakeMemoryGrowth(const Context& context) { return std::make_unique<MemoryGrowth>(context); }

}  // namespace vigil::detect
