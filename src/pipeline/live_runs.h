// Runs joined from files that grow, kept and added to. Private to pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ingest/ingest.h"
#include "model/run.h"
#include "tabular/loss_parts.h"

namespace vigil::pipeline {

// The runs are joined once; then what is appended to a part goes to where the join put the points before it. What the
// join may decide otherwise (a new file, a new series, settings, a restart in a run of several files, a file that goes
// on where another one stopped) joins them again. Training method and map of axes may be as old as the last eighth of
// the points.
class LiveRuns {
 public:
  explicit LiveRuns(const ingest::Follower& files) : files_(files) {}

  // Takes over what the follower has read. Each run stays where it is in memory as long as it is there.
  void Update();

  const std::vector<std::unique_ptr<model::Run>>& runs() const { return runs_; }
  // How often the runs were joined.
  std::uint64_t joins() const { return joins_; }

 private:
  // Where the points of a part's series go.
  struct Route {
    enum class Kind : std::uint8_t { kAppend, kDuplicate, kLeftOut, kUnknown };
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
  };
  // One part, and how much of it is in its run.
  struct Source {
    const ingest::PartBuilder* builder = nullptr;
    std::size_t run = kNoRun;
    bool has_all_points = false;  // the points of the run are those of this part
    std::uint32_t place = 0;
    std::string framework;
    std::size_t facts = 0;
    std::size_t artifacts = 0;
    std::size_t batches = 0;
    std::optional<model::StepAt> planned_steps;
    std::int32_t ranks = 0;
    std::vector<model::Event> events;  // as they were taken
    bool has_own_events = false;       // they are in the run as they are, from `first_event` on
    std::size_t first_event = 0;
    std::vector<Route> routes;  // by series of the part
  };
  // A series that the join added up.
  struct Sum {
    std::size_t run = 0;
    std::size_t series = 0;
    std::vector<std::size_t> parts;  // series of the run
    tabular::PartSum added;          // how far they are in it
  };
  static constexpr std::size_t kNoRun = static_cast<std::size_t>(-1);

  void JoinAgain();
  void Replace(std::vector<model::Run> joined);
  void RoutePart(Source& source) const;
  void RouteSeries(std::size_t at, Source& source) const;
  bool FitsTail(const Route& route, const model::Series& from, const model::Series& to) const;
  void FindDuplicates(Source& source) const;
  void RouteEvents(Source& source) const;
  void FindMadeSeries(Source& source);
  bool FindParts(Sum& sum) const;
  bool IsRouted(std::size_t run, std::size_t series) const;
  void FindOnlyOnes();
  void MakeRoom();

  bool CanAppend() const;
  bool CanAppend(const Source& source) const;
  bool CanAppendEvents(const Source& source) const;
  bool CanAppendSeries(const Source& source, std::size_t at) const;
  bool Append();
  bool PassDuplicates(Source& source, std::size_t at);
  void Append(Source& source);
  void AppendPoints(Source& source, std::size_t at);
  void AppendEvents(Source& source);
  bool Extend(Sum& sum);
  void LearnMore();

  const ingest::Follower& files_;
  std::uint64_t structure_ = static_cast<std::uint64_t>(-1);
  std::uint64_t joins_ = 0;
  std::vector<std::unique_ptr<model::Run>> runs_;
  std::vector<std::size_t> learned_points_;  // of each run, when it was last found out what it is
  std::vector<Source> sources_;
  std::vector<Sum> sums_;
};

}  // namespace vigil::pipeline
