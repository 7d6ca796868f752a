// journal/inspect: what is in a journal and whether it is sound, and a sound journal of what a damaged one still holds.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/base.h"
#include "journal/journal.h"

namespace vigil::journal {

// Hands the file to the visitor, piece by piece, while that wants more. An Error when it cannot be read, or is no
// journal.
Status Visit(const std::string& path, Visitor& visitor);

struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t resumed = 0;         // where reading went on
  std::uint64_t missing_blocks = 0;  // 0 when none can be counted
  std::string reason;
};

struct Survey {
  Begin begin;
  std::uint64_t size_bytes = 0;
  std::size_t series = 0;
  std::uint64_t samples = 0;
  std::uint64_t events = 0;
  std::uint64_t hyperparameters = 0;
  std::uint64_t batches = 0;
  std::uint64_t artifacts = 0;
  std::uint64_t dropped_records = 0;
  std::vector<Damage> damages;
  std::optional<std::uint64_t> cut_at;  // it ends inside a block, as that of a run that was killed or still writes
  std::optional<End> end;

  // A journal that ends inside a block is what every killed process may leave: all before it is whole.
  bool is_damaged() const { return !damages.empty(); }
  bool is_sound() const { return damages.empty() && !cut_at; }
};
Result<Survey> SurveyFile(const std::string& path);

// Writes all that can be read of a journal into a new one, which must not exist yet. What was damaged is noted in it.
// Returns what it found in the old one. The new one appears whole: a failure leaves nothing.
Result<Survey> Repair(const std::string& path, const std::string& into);

}  // namespace vigil::journal
