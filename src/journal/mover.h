// journal/mover: from the ring to the journal, by its owner while it lives and by whoever comes next when it was
// killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/base.h"
#include "journal/entries.h"
#include "platform/clock.h"

namespace vigil::journal {

class Ring;

struct MoverOptions {
  std::string folder;
  Begin begin;
  std::uint32_t flush_interval_ms = 250;
  // What is in the file is made to survive a loss of power so often, and when moving is forced; 0: never.
  std::uint32_t sync_interval_ms = 0;
  std::uint64_t (*monotonic_ns)() = platform::MonotonicNs;
  std::int64_t (*unix_ns)() = platform::UnixNs;
};

struct MoverStatus {
  std::uint64_t written_bytes = 0;
  std::uint64_t records = 0;          // in the file
  std::uint64_t dropped_records = 0;  // overwritten before they could be moved; the file says so when it can be written
  int problem = 0;                    // errno while writing fails, 0 when all is well
  std::uint32_t files = 0;            // opened: more than one after a folder came back
  std::uint32_t sync_failures = 0;    // each may have lost what was written since the sync before
};

// Moves what the ring holds to the journal. Trouble with the file never loses what the ring can keep: a write that was
// cut is finished later, a file that vanished is begun again when its folder is there, and what had to be given up is
// counted in the journal. Used by one thread.
class Mover {
 public:
  // Creates the journal's file. The ring must outlive the mover.
  static Result<std::unique_ptr<Mover>> Create(Ring& ring, MoverOptions options);
  // Goes on with the journal of a ring whose owner is dead, where it lies now. Fails when it is not that ring's.
  static Result<std::unique_ptr<Mover>> Resume(Ring& ring, const std::string& path);
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  Mover(Mover&&) = delete;
  Mover& operator=(Mover&&) = delete;

  // Moves what is there when it is time, or always with `force`. True when nothing was left unwritten. When memory is
  // out it is a problem like a full disk: nothing is lost by it that the ring can keep.
  bool Move(bool force) noexcept;
  // Records that found no way into the ring: counted in the journal as dropped.
  void NoteDropped(std::uint64_t records);
  // Milliseconds after which Move should be called again.
  std::uint32_t wait_ms() const;
  // Status and path may be asked for by other threads.
  MoverStatus status() const;
  std::string path() const;

 private:
  struct State;
  explicit Mover(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// ---- what killed processes left

struct Leftovers {
  std::size_t rings = 0;  // emptied and removed
  std::uint64_t records = 0;
  std::vector<Error> problems;  // rings that had to be left, with the reason
  bool out_of_memory = false;   // not all were looked at
};

struct DrainOptions {
  std::vector<std::string> places;  // folders or files (absolute): rings of journals there are emptied at once
  // Rings of journals that are not where they were are kept so long: they may come back, or have been moved.
  double forget_after_s = 3 * 86400.0;
  // Also removes what is to be forgotten of other places. Not for those who only read.
  bool tidies_up = false;
};

// Empties rings of this user on this host whose owners are dead and whose journals are in the places, each into its
// journal. Never throws: what cannot be done is a problem, and stays. Damaged rings are put aside.
Leftovers DrainLeftovers(const DrainOptions& options) noexcept;
// The rings that would be emptied, one problem each, for those who must not write: records are missing in the journals.
std::vector<Error> FindLeftovers(const DrainOptions& options);

}  // namespace vigil::journal
