// What a run has beside its place in the table: the ring, the journal, and the thread that moves records from one to
// the other. All that touches a disk is done by that thread, with every signal blocked: a limit on the size of files
// raises one in whoever writes. Private to record.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "journal/mover.h"
#include "journal/ring.h"
#include "platform/recording.h"
#include "record/record.h"

namespace vigil::record {

struct Lanes;

struct Session {
  explicit Session(const Options& given) : options(given) {}

  Options options;
  std::shared_ptr<Session> self;                    // until the run is closed
  std::optional<journal::Ring> ring;                // made by the worker
  std::unique_ptr<journal::Mover> mover;            // made and used by the worker; others may ask for its status
  std::map<std::string, std::uint32_t> series_ids;  // guarded by the table's mutex

  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  enum class Stage : std::uint8_t { kStarting, kReady, kFailed, kEnded };
  Stage stage = Stage::kStarting;
  Code failure = Code::kIo;
  std::string message;
  std::uint64_t flushes_wanted = 0;
  std::uint64_t flushes_done = 0;
  struct Range {
    std::uint64_t after = 0;
    std::uint64_t last = 0;
  };
  std::vector<Range> failed_flushes;  // the last that were done and not synced
  bool end_wanted = false;
  bool end_said = false;  // how it ended is to be written
  std::int64_t end_status = kUnknownEnd;
  bool whole = false;      // nothing was left unwritten at the end
  Lanes* lanes = nullptr;  // whose drops it counts

  std::uint64_t drops_noted = 0;     // of the worker
  std::uint32_t sync_failures = 0;   // that a flush has reported; of the worker
  std::uint64_t ring_looked_ns = 0;  // of the worker
  std::atomic<bool> survives_kill = false;
  platform::Worker drainer;  // empties what killed processes left in this folder, then ends
  platform::Worker worker;   // last: ends before the rest goes
};

// For one whose thread is stuck: the thread uses it for as long as it lives.
void KeepForever(std::shared_ptr<Session> session);
// Null, with the reason, when the run cannot be recorded.
std::shared_ptr<Session> StartSession(const Options& options, Code& code, std::string& message);

// Writes what is left and ends the threads. kTimeout: the worker goes on by itself, and the session must stay.
// `is_quiet`: nobody is recording any more.
Code EndSession(Session& session, std::int64_t status, bool is_quiet);

}  // namespace vigil::record
