#include <fmt/format.h>

#include <algorithm>

#include "journal/journal.h"

namespace vigil::journal {
namespace {

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool IsBelow(const std::string& path, const std::string& place) {
  return path == place || place == "/" || (path.starts_with(place) && path[place.size()] == '/');
}

// Looked at without its lock, so that nobody who wants to empty it is kept from doing so.
bool IsWanted(const std::string& name, const DrainOptions& options) {
  const auto entry = platform::Stat(std::string(platform::SharedMemory::kFolder) + "/" + name);
  if (!entry) return false;
  const double age_s = static_cast<double>(platform::UnixNs()) * 1e-9 - entry->modified_unix_s;
  if (age_s > options.others_after_s) return true;
  const auto path = Ring::PeekJournalPath(name);
  if (!path) return false;
  if (path->empty()) return true;  // it died while it was made
  return std::any_of(options.places.begin(), options.places.end(),
                     [&](const std::string& place) { return IsBelow(*path, place); });
}

void Drain(const std::string& name, Leftovers& leftovers) {
  // Not this user's, or its owner lives: nothing of ours.
  if (!platform::SharedMemory::Adopt(name)) return;
  auto ring = Ring::Adopt(name);
  if (!ring) {
    const bool removed = !platform::Stat(std::string(platform::SharedMemory::kFolder) + "/" + name);
    if (!removed) leftovers.problems.push_back(ring.error().message);
    return;
  }
  const std::string path = ring->journal_path();
  if (!platform::Stat(FolderOf(path))) {
    // The run was removed: what its last moments were is of no use to anybody.
    ring->Remove();
    return;
  }
  auto mover = Mover::Resume(*ring);
  if (!mover || !(*mover)->Move(true)) {
    const int problem = mover ? (*mover)->status().problem : 0;
    leftovers.problems.push_back(fmt::format("{}: the last records of a killed process stay in memory: {}", path,
                                             mover ? platform::SystemReason(problem) : mover.error().message));
    return;
  }
  leftovers.records += (*mover)->status().records;
  ++leftovers.rings;
  ring->Remove();
}

}  // namespace

Leftovers DrainLeftovers(const DrainOptions& options) {
  Leftovers leftovers;
  for (const std::string& name : platform::NamesIn(platform::SharedMemory::kFolder, Ring::NamePrefix())) {
    const bool own = options.is_own != nullptr && options.is_own(name);
    if (!own && IsWanted(name, options)) Drain(name, leftovers);
  }
  return leftovers;
}

}  // namespace vigil::journal
