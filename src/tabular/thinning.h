// Series of more points than memory has room for: every second point goes, again and again, and what stands out stays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ingest/ingest.h"

namespace vigil::tabular {

// Points of one source that are kept, of all its series together: some hundred megabytes with all that is made of them.
inline constexpr std::uint64_t kMostPoints = 5'000'000;

// Whether a value is on another level than the one kept before it: not finite, or three times away.
bool LeavesLevel(double value, double before);
// Keeps every second point; with `spikes` also those that leave the level of the one kept before, and the first of each
// segment.
void KeepEverySecond(model::Series& series, bool spikes);
// The words for it.
std::string ThinnedNote(std::uint64_t stride);

// Decides for each point of a source, as it comes, whether it is kept. Even over the source: what came before is
// thinned as much as what comes later.
class Thinning {
 public:
  explicit Thinning(ingest::PartBuilder& builder, std::uint64_t most_points = kMostPoints)
      : builder_(builder), most_points_(most_points) {}

  // 1 while every point is kept.
  std::uint64_t stride() const { return stride_; }
  // Whether the next point of the series has its place. Not asked while the stride is 1.
  bool Keeps(ingest::PartBuilder::SeriesId id, double value);
  // How many points of the series came so far.
  std::uint64_t Seen(ingest::PartBuilder::SeriesId id) const {
    return stride_ == 1 ? builder_.series(id).size() : id < latest_.size() ? latest_[id].seen : 0;
  }
  // Thins all series when they hold more points than there is room for.
  void MakeRoom();

 private:
  struct Latest {
    std::uint64_t seen = 0;  // points, kept or not
    double kept = 0;
  };
  std::uint64_t CountPoints() const;
  void Thin(bool spikes);

  ingest::PartBuilder& builder_;
  std::uint64_t most_points_;
  std::uint64_t stride_ = 1;
  bool spikes_ = true;
  std::vector<Latest> latest_;  // by series
};

}  // namespace vigil::tabular
