// One file as it grows: kept open, so that what is written before a rotation is not lost.
#pragma once

#include <optional>
#include <vector>

#include "ingest/feed.h"

namespace vigil::ingest {

class FollowedFile {
 public:
  // Reads all that is there. `opened.format` must not be null.
  explicit FollowedFile(OpenedFile opened);

  // Whether the reader takes what is appended where it stands. Where not, the part is right only when it was read to
  // its end: the file is read again when it has grown.
  bool grows() const { return grows_; }
  // What was appended since. False when the file can no longer be read, or no longer taken where it stands.
  bool TakeNew();
  // Nothing was appended since the last look: places what waits for more. True when anything did.
  bool Pause();
  // The parts as they stand, while more may come.
  model::Run Snapshot() const { return feed_.builder().Snapshot(); }
  // The part where it grows. Its series may be empty, and their values are not in the units of their signals yet.
  const PartBuilder& builder() const { return feed_.builder(); }
  // The parts when nothing more comes. What was read is handed over: only ReadAgain may follow.
  std::vector<model::Run> Conclude();
  // Why the file was given up; nothing when it was not. What it held is lost then.
  const std::optional<ReadFailure>& failure() const { return feed_.failure(); }
  // All that the open file holds now, whatever became of its name.
  std::vector<model::Run> ReadAgain();

 private:
  Feed feed_;
  bool grows_ = false;
  bool is_settled_ = false;  // the reader was asked for what depends on all records before the last one came
};

}  // namespace vigil::ingest
