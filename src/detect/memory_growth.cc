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
        host_(context.primary->signal == "host_memory"),
        min_share_(context.Threshold("min_share")),
        min_points_(Count(context.Threshold("min_points"))) {}

  void Observe(const Sample& sample) override {
    if (sample.role == 0 && std::isfinite(sample.value) && sample.value > 0) history_.Add(sample.step, sample.value);
  }

  // A new process begins with memory of its own.
  void Restart(std::int64_t /*step*/) override { history_.Clear(); }

  void Report(std::vector<model::Finding>& out) const override {
    const auto climb = FindClimb();
    if (!climb) return;
    const double per_step = (climb->to - climb->from) / static_cast<double>(climb->last_step - climb->first_step);
    model::Finding finding = MakeFinding(climb->first_step, climb->last_step, Says(*climb));
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
  };

  model::Statement Says(const Climb& climb) const {
    const model::Position first = places_.At(climb.first_step);
    const model::Position last = places_.At(climb.last_step);
    if (host_) return says::MemoryLeakClimbs{.from = climb.from, .to = climb.to, .first = first, .last = last};
    return says::MemoryGrowthClimbs{.from = climb.from, .to = climb.to, .first = first, .last = last};
  }

  // The lowest value of each of kPieces stretches behind `begin`.
  static std::vector<double> Floors(const std::vector<stats::Bucket>& buckets, std::size_t begin) {
    std::vector<double> floors;
    const std::size_t count = buckets.size() - begin;
    for (std::size_t i = 0; i < kPieces; ++i) {
      const auto from = buckets.begin() + static_cast<std::ptrdiff_t>(begin + i * count / kPieces);
      const auto to = buckets.begin() + static_cast<std::ptrdiff_t>(begin + (i + 1) * count / kPieces);
      floors.push_back(std::min_element(from, to, [](const stats::Bucket& a, const stats::Bucket& b) {
                         return a.smallest < b.smallest;
                       })->smallest);
    }
    return floors;
  }

  // Every stretch lies above the one before, and the second half climbs as the first does: pools and caches that fill
  // up slow down.
  bool Climbs(const std::vector<double>& floors) const {
    const double rise = floors.back() - floors.front();
    if (rise < min_share_ * floors.front()) return false;
    for (std::size_t i = 1; i < floors.size(); ++i) {
      if (floors[i] - floors[i - 1] < kLeastPiece * rise / static_cast<double>(kPieces - 1)) return false;
    }
    return floors.back() - floors[kPieces / 2] > kSecondHalf * rise;
  }

  // The longest stretch up to the end that climbs all the way.
  std::optional<Climb> FindClimb() const {
    const std::vector<stats::Bucket>& buckets = history_.buckets();
    constexpr std::size_t kTries = 24;
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::size_t begin = buckets.size() * i / kTries;
      if (buckets.size() - begin < std::max(min_points_, kPieces)) return std::nullopt;
      const std::vector<double> floors = Floors(buckets, begin);
      if (Climbs(floors))
        return Climb{buckets[begin].first_step, buckets.back().last_step, floors.front(), floors.back()};
    }
    return std::nullopt;
  }

  static constexpr std::size_t kPieces = 12;
  static constexpr double kLeastPiece = 0.25;  // of the mean climb of a piece
  static constexpr double kSecondHalf = 0.3;   // of the whole climb

  Places places_;
  bool host_;
  double min_share_;
  std::size_t min_points_;
  stats::BucketHistory history_{256};
};

}  // namespace

std::unique_ptr<Detector> MakeMemoryGrowth(const Context& context) { return std::make_unique<MemoryGrowth>(context); }

}  // namespace vigil::detect
