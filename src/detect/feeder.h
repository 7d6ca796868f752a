// Feeds a detector the points of the series it watches, in the order of a finished run, while they grow. Private to
// detect.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "detect/detect.h"

namespace vigil::detect {

// The series one detector instance watches, by role; null where the run has none.
using Watched = std::vector<const model::Series*>;
// The last steps before the run was stopped and went on, in rising order. Shared by the feeders of a run.
using Resumes = std::shared_ptr<const std::vector<std::int64_t>>;

// Where the feeding of one detector stands: segment after segment of the leading series, with the companions' points of
// the same stretch in step order. Companions of a step come before the leading series, so that it is judged with them
// known. A copy goes on from the same place.
class Feeder {
 public:
  explicit Feeder(std::size_t lead) : lead_(lead) {}

  // Whether what was fed is still how the feeding of these series begins. When it is not, begin with a new detector and
  // a new feeder.
  bool StillHolds(const Watched& watched, const Resumes& resumes) const;
  // Feeds what no later point can come before, as long as no more than `most_waiting` points are held back by a
  // companion that has not come so far. StillHolds must be true.
  void FeedSettled(Detector& detector, const Watched& watched, const Resumes& resumes, std::size_t most_waiting);
  // Feeds all there is.
  void FeedAll(Detector& detector, const Watched& watched, const Resumes& resumes);

  // Points that FeedSettled left.
  std::size_t waiting() const;
  // Whether it was last fed with these resumes.
  bool SameResumes(const Resumes& resumes) const { return resumes_ == resumes; }
  // Whether points were fed that a companion may still have something for: it was too far behind to wait for.
  bool took_a_chance() const { return took_a_chance_; }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // How a companion's segments belong to those of the leading series.
  enum class Pairing : std::uint8_t {
    kAbsent,
    kSame,      // as many segments: it restarted with the leading series
    kCovered,   // read where it covers the same steps: a file that a restart overwrote has one segment, for example
    kByNumber,  // too many to compare
  };
  // One series: what of the open segment was fed, and how the series looked then.
  struct Place {
    Pairing pairing = Pairing::kAbsent;
    Range stretch;  // of the open segment
    std::size_t next = 0;
    std::size_t size = 0;
    std::size_t segments = 0;
    std::int64_t last_step = 0;
    double last_value = 0;
  };

  // Where the reading of one series stands while a segment is fed: its columns, without a look at the series each time.
  struct Cursor {
    const std::int64_t* steps = nullptr;
    const double* values = nullptr;
    const std::uint32_t* lines = nullptr;  // null where no lines are known
    std::size_t next = 0;
    std::size_t end = 0;
    std::uint32_t role = 0;

    std::int64_t step() const { return steps[next]; }
    Sample Take() {
      const std::size_t at = next++;
      return {role, steps[at], values[at], lines == nullptr ? 0 : lines[at]};
    }
  };
  // Samples on their way to a detector: a virtual call for each would take longer than most detectors do.
  class Batch {
   public:
    static constexpr std::size_t kMost = 256;

    explicit Batch(Detector& detector) : detector_(detector) {}
    void Add(const Sample& sample) {
      if (filled_ == kMost) HandOver();
      samples_[filled_++] = sample;
    }
    void HandOver() {
      detector_.ObserveAll({samples_.data(), filled_});
      filled_ = 0;
    }

   private:
    Detector& detector_;
    std::array<Sample, kMost> samples_;
    std::size_t filled_ = 0;
  };

  static Range SegmentRange(const model::Series& series, std::size_t segment);
  static Range Within(const model::Series& series, Range segment, std::int64_t first, std::int64_t last);
  Pairing PairingOf(const Watched& watched, std::size_t role) const;
  Range StretchOf(const Watched& watched, std::size_t role, std::size_t segment) const;

  bool HoldsFor(const Watched& watched, std::size_t role) const;
  bool ResumesHold(const Resumes& resumes) const;
  bool ComesBehind(const Watched& watched, std::size_t role) const;
  bool IsLate(const Watched& watched, std::size_t role, std::size_t next) const;

  void Feed(Detector& detector, const Watched& watched, std::size_t most_waiting);
  void OpenSegment(Detector& detector, const Watched& watched);
  void StretchOn(const Watched& watched);
  void FeedSegment(Detector& detector, const Watched& watched, std::int64_t settled, std::size_t most_waiting);
  std::int64_t SettledStep(const Watched& watched) const;
  std::vector<Cursor> CursorsOf(const Watched& watched) const;
  static Cursor* NextOf(std::vector<Cursor>& cursors);
  std::size_t TakeTogether(std::vector<Cursor>& cursors, std::int64_t settled, Batch& batch);
  void SetLast(std::int64_t step, std::size_t role);
  bool ResumedBetween(std::int64_t last, std::int64_t next) const;
  void Remember(const Watched& watched);

  std::size_t lead_;
  Resumes resumes_;
  std::vector<Place> places_;  // by role; empty before the first feeding
  bool open_ = false;          // the segment was begun
  bool took_a_chance_ = false;
  std::size_t segment_ = 0;
  std::size_t restarts_ = 0;
  std::int64_t last_ = model::kNoStep;  // fed last in the open segment
  std::size_t last_role_ = 0;
  std::int64_t highest_ = model::kNoStep;         // fed at all
  std::int64_t highest_closed_ = model::kNoStep;  // of the leading series' segments before the open one
};

}  // namespace vigil::detect
