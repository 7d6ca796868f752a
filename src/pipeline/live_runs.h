// Runs joined from files that grow, kept and added to. Private to pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ingest/ingest.h"
#include "model/report.h"
#include "model/run.h"
#include "pipeline/live_part.h"
#include "tabular/loss_parts.h"

namespace vigil::pipeline {

// The runs are joined once; then what is appended to a part goes to where the join put the points before it. What the
// join may decide otherwise (a new file, a new series, settings, a restart in a run of several files, a file that goes
// on where another one stopped) joins them again: parts and runs share their points, so that this costs what the join
// really has to compare or to merge. Training method and map of axes may be as old as the last eighth of the points.
class LiveRuns {
 public:
  explicit LiveRuns(const ingest::Follower& files) : files_(files) {}

  // Takes over what the follower has read. Each run stays where it is in memory as long as it is there. After an
  // exception Forget must follow.
  void Update();
  // All runs: the next Update joins them again.
  void Forget();
  // Files that joining failed for, with the reason.
  const std::vector<model::Unread>& unread() const { return unread_; }

  const std::vector<std::unique_ptr<model::Run>>& runs() const { return runs_; }
  // How often the runs were joined.
  std::uint64_t joins() const { return joins_; }

 private:
  // A series that the join added up.
  struct Sum {
    std::size_t run = 0;
    std::size_t series = 0;
    std::vector<std::size_t> parts;  // series of the run
    tabular::PartSum added;          // how far they are in it
  };

  void JoinAgain();
  void Replace(std::vector<model::Run> joined);
  void RouteParts();
  LivePart PartOf(const ingest::PartBuilder& builder) const;
  void FindMadeSeries(LivePart& part, const RouteTargets& targets);
  bool FindParts(Sum& sum, const RouteTargets& targets) const;
  void FindOnlyOnes();

  bool CanGrow() const;
  bool Grow();
  void GrowEvents(LivePart& part);
  bool Extend(Sum& sum);
  void LearnMore();
  model::Run& RunOf(const LivePart& part) { return *runs_[part.run()]; }

  const ingest::Follower& files_;
  std::uint64_t structure_ = static_cast<std::uint64_t>(-1);
  std::uint64_t joins_ = 0;
  std::vector<std::unique_ptr<model::Run>> runs_;
  std::vector<std::size_t> learned_points_;  // of each run, when it was last found out what it is
  std::vector<LivePart> parts_;              // those that grow
  std::vector<Sum> sums_;
  std::vector<model::Unread> unread_;
};

}  // namespace vigil::pipeline
