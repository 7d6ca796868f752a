// One file as it grows: kept open, so that what is written before a rotation is not lost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ingest/ingest.h"
#include "ingest/read.h"

namespace vigil::ingest {

class FollowedFile {
 public:
  // Reads all that is there. `opened.format` must not be null.
  explicit FollowedFile(OpenedFile opened);

  // Whether the reader takes what is appended where it stands. Where not, the part is right only when it was read to
  // its end: the file is read anew when it has grown.
  bool grows() const { return grows_; }
  // What was appended since. False when the file can no longer be read.
  bool TakeNew();
  // The parts as they stand, while more may come.
  model::Run Snapshot() const { return builder_->Snapshot(); }
  // The parts when nothing more comes. What was read is handed over: only ReadAgain may follow.
  std::vector<model::Run> Conclude();
  // All that the open file holds now, whatever became of its name.
  std::vector<model::Run> ReadAgain();

 private:
  void Start();
  void Feed();

  ByteSource file_;
  std::string path_;
  const Format* format_;
  std::unique_ptr<PartBuilder> builder_;
  std::unique_ptr<Reader> reader_;
  std::string pending_;  // bytes behind the last whole record
  std::uint64_t read_bytes_ = 0;
  bool grows_ = false;
  bool over_ = false;
};

}  // namespace vigil::ingest
