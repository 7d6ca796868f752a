// A growing part, and where what is appended to it goes in its run. Private to pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/ingest.h"
#include "model/run.h"
#include "pipeline/live_events.h"

namespace vigil::pipeline {

// The series of a joined run, while parts are routed to them: each grows from one part.
class RouteTargets {
 public:
  explicit RouteTargets(const model::Run& run);

  // The series of that raw name.
  std::span<const std::size_t> Named(std::string_view raw) const;
  bool IsTaken(std::size_t series) const { return is_taken_[series]; }
  void Take(std::size_t series) { is_taken_[series] = true; }

 private:
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name_;
  std::vector<bool> is_taken_;
};

// Knows for each series of the part which series of the run ends with its points. A series that the join took over as
// it was shares the columns of the part, and grows with them in O(1). One that the join made of several files, or that
// is in another unit, has columns of its own, which are appended to.
class LivePart {
 public:
  static constexpr std::size_t kNoRun = static_cast<std::size_t>(-1);

  // The part as it is now, in run `run` (kNoRun: the join dropped it) as source `place` of it.
  LivePart(const ingest::PartBuilder& builder, std::size_t run, std::uint32_t place);

  std::size_t run() const { return run_; }
  std::uint32_t place() const { return place_; }
  LiveEvents& events() { return events_; }
  const LiveEvents& events() const { return events_; }

  // ---- after the runs were joined

  // Finds the series of the run that its series go to.
  void Route(const model::Run& run, RouteTargets& targets);
  // Series that the join left out, for another one of the same metric that also grows.
  void FindDuplicates(const model::Run& run, const RouteTargets& targets);
  // Nothing is appended: the join decides.
  void ForgetRoutes();
  // The points of the run are those of this part: nothing has to be compared with it.
  void HasAllPoints() { has_all_points_ = true; }
  // The first point that is appended to a column of the run's own would move all of it: at ten million points that is a
  // look of a second.
  void MakeRoom(model::Run& run) const;

  // ---- when the part has grown

  // Whether what is new can be put where the join put what was before it.
  bool CanGrow(const model::Run* run) const;
  void Grow(model::Run& run);
  // Its events in the run, likewise. By how many the run has more of them.
  std::ptrdiff_t UpdateEvents(model::Run& run) {
    return events_.IsUnchanged(builder_->part()) ? 0 : events_.Update(builder_->part(), run);
  }
  // Passes over points that the series of another file has too. False when the join has to decide.
  bool PassDuplicates(const model::Run& run);

 private:
  struct SeriesRoute {
    enum class Kind : std::uint8_t { kShared, kAppended, kDuplicate, kLeftOut, kUnknown };
    Kind kind = Kind::kUnknown;
    std::size_t series = 0;
    double scale = 1;
    std::size_t taken = 0;       // points of the part that are in the run
    std::size_t segments = 0;    // of the part's series then
    std::int64_t last_step = 0;  // of them
    double last_value = 0;
    std::string signal;  // what the series was when it was routed: readers learn more about it
    model::Axis axis = model::Axis::kStep;
    model::Aggregation aggregation = model::Aggregation::kUnknown;

    bool Grows() const { return kind == Kind::kShared || kind == Kind::kAppended; }
    // Points of the part up to there are in the run.
    void TakeUpTo(const model::Series& from, std::size_t count);
  };

  SeriesRoute Describe(std::size_t at) const;
  void RouteSeries(std::size_t at, const model::Run& run, RouteTargets& targets);
  std::int32_t RankGivenIn(const model::Run& run) const;
  bool CanGrowBatches() const;
  bool CanGrowSeries(std::size_t at) const;
  void GrowSeries(std::size_t at, model::Run& run);
  void GrowBatches(model::Run& run);
  bool PassDuplicates(std::size_t at, const model::Series& whole);

  const ingest::PartBuilder* builder_;
  std::size_t run_ = kNoRun;
  std::uint32_t place_ = 0;
  bool has_all_points_ = false;
  std::string framework_;
  std::size_t facts_ = 0;
  std::size_t artifacts_ = 0;
  std::size_t batches_ = 0;  // that are in the run
  bool shares_batches_ = false;
  std::int32_t rank_ = -1;  // that the join gave it; -1 where it gave none
  std::optional<model::StepAt> planned_steps_;
  std::int32_t ranks_ = 0;
  LiveEvents events_;
  std::vector<SeriesRoute> routes_;  // by series of the part
};

}  // namespace vigil::pipeline
