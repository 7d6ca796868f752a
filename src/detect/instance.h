// One detector on one series of a run, as the run grows. Private to detect.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "detect/feeder.h"

namespace vigil::detect {

// What an instance is made for. When any of it changes, what it has seen means something else.
struct Purpose {
  std::uint64_t run = 0;              // method, settings and the like: PrintOf in engine.cc
  std::vector<std::uint64_t> series;  // by role, 0 where there is none

  friend bool operator==(const Purpose&, const Purpose&) = default;
};

class Instance {
 public:
  // Feeds what is new and returns what is found in all. `context.primary` is the leading series; it is looked at during
  // the call only. When what was fed is no longer how the run begins, all is fed again, and `replays` counted.
  const std::vector<model::Finding>& Judge(const Context& context, Purpose purpose, const Watched& watched,
                                           std::size_t lead, const Resumes& resumes, std::uint64_t& replays);
  // The same for a run that will not be looked at again: nothing is kept for later points.
  static std::vector<model::Finding> JudgeOnce(const Context& context, const Watched& watched, std::size_t lead,
                                               const Resumes& resumes);

 private:
  void Begin(const Context& context, Purpose purpose, std::size_t lead);

  // So many points wait for a companion that is behind: each look feeds them to a copy of the detector. Doubled when
  // one came later than that.
  static constexpr std::size_t kMostWaiting = 256;
  static constexpr std::size_t kMostEverWaiting = 65536;

  Purpose purpose_;
  std::unique_ptr<model::Series> primary_;  // without points: detectors keep a pointer to it
  std::unique_ptr<Detector> detector_;
  Feeder feeder_{0};
  std::size_t most_waiting_ = kMostWaiting;
  std::vector<model::Finding> found_;
  std::pair<std::size_t, std::int64_t> judged_ = {0, model::kNoStep};  // points and planned end that found_ is of
};

}  // namespace vigil::detect
