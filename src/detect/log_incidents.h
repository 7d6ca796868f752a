// The failures that a log reports, each with what followed from it. Private to detect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "model/run.h"

namespace vigil::detect {

// The row of an exception that no known message explains.
inline constexpr std::string_view kFallbackSignature = "log/uncaught-exception";

enum class Role : std::uint8_t { kRoot, kCascade, kTeardown };

// An event that reports a failure, with the row that explains it.
struct Trouble {
  const model::Event* event = nullptr;
  const catalogue::SignatureRow* row = nullptr;
  Role role = Role::kRoot;
  std::string text;  // what to quote
};

// Troubles that belong together: one failure and what followed from it.
struct Incident {
  std::vector<Trouble> troubles;
  std::uint32_t source = 0;
  model::Position at;
};

// One incident per failure: an abort with its message, the error of a rank with what its peers report of it, and a
// crash that is in two logs are one. Pointers are into `run`.
std::vector<Incident> IncidentsOf(const model::Run& run, const catalogue::Thresholds& thresholds);
// The root: the first error that follows from no other, or the first of what is known. Null when nothing is worth a
// finding.
const Trouble* PrimaryOf(const Incident& incident);
// Whether a message says that a rank waited in vain: another one failed or took another branch.
bool IsWaiting(std::string_view id);
// Whether another process reports in this incident that it lost its peer.
bool HasLostPeer(const Incident& incident);
// The signal that ended a process, 0 when none did: Python's code -9, a shell's 137.
std::int64_t SignalOf(std::int64_t code);

}  // namespace vigil::detect
