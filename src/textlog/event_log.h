// The events of a log, bounded in number (the last of a kind is never the one that is left out), and whether the run
// went on after them: the text of a memory error in a run that trains on is a different matter from the same text at
// its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ingest/ingest.h"
#include "textlog/failure_table.h"
#include "textlog/traceback.h"

namespace vigil::textlog {

class EventLog {
 public:
  explicit EventLog(ingest::PartBuilder& builder) : builder_(builder) {}

  // Where the reader is: the latest step on its axis, and how many bytes came before.
  struct Place {
    std::int64_t step = model::kNoStep;
    model::Axis axis = model::Axis::kStep;
    std::uint64_t offset = 0;
    std::uint32_t line = 0;
    std::int32_t rank = -1;
  };

  // `exception`: the message is this exception's; null when it stands alone.
  void AddSignature(std::string_view id, std::string_view text, const Exception* exception, const Place& place);
  // A chained exception is added to the one it followed: the first of a chain is the root.
  void AddException(const Exception& exception, const Place& place);
  void AddFailure(const ProcessFailure& failure, const Place& place);
  // Checkpoints, restarts, the regular end.
  void AddNotice(model::EventKind kind, std::string_view name, std::string_view text, const Place& place);

  // A metric line or bar shows that `step` was made.
  void ObserveStep(std::int64_t step, std::uint64_t offset);
  void ObserveBar(std::int64_t count);
  // Events at the end of the process that buffered metric lines followed get the last step so far.
  void Settle(std::int64_t last_step, model::Axis axis);
  // Nothing more comes: notes how many were left out.
  void Finish();

 private:
  struct Watch {
    std::size_t event = 0;
    Place place;
    bool ends_process = false;
    bool was_moved = false;  // Settle gave the event another step
    std::int64_t highest_bar = 0;
    int bar_advances = 0;
    int steps_below = 0;   // seen since, before the one of the failure: the training was started again
    int steps_beyond = 0;  // seen behind these, past the one of the failure
  };
  model::Event& Add(model::EventKind kind, std::string_view name, std::string_view text, const Place& place);
  void MakeRoomFor(std::string_view name);
  void DropOneOf(std::vector<std::size_t>& kept);
  void Thin();
  bool MayGo(std::size_t index) const;
  void Drop(std::size_t index);
  void RemoveDropped();
  void WatchFrom(const Place& place, bool ends_process);
  void WentOn(const Watch& watch);

  ingest::PartBuilder& builder_;
  std::unordered_map<std::string, std::vector<std::size_t>> kept_;  // of each name, in order
  std::unordered_set<std::size_t> dropped_;                         // still in the list, until it is tidied up
  std::uint64_t left_out_ = 0;
  std::unordered_map<std::int32_t, std::size_t> last_exception_;  // of each rank
  std::vector<Watch> watches_;
};

}  // namespace vigil::textlog
