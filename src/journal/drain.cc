#include <fmt/format.h>

#include <algorithm>

#include "journal/journal.h"
#include "journal/journal_end.h"
#include "journal/mover.h"
#include "journal/ring.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/process.h"
#include "platform/recording.h"

namespace vigil::journal {
namespace {

constexpr std::string_view kAside = "damaged-";  // begins the names of rings that were put aside

std::string ShownName(const std::string& name) { return fmt::format("{}/{}", platform::SharedMemory::kFolder, name); }

bool IsBelow(const std::string& path, const std::string& place) {
  return path == place || place == "/" || (path.starts_with(place) && path[place.size()] == '/');
}

// Where the journal may lie: where it was written, or in one of the places that is the same folder under another name.
std::vector<std::string> PathsNow(const RingNote& note, const std::vector<std::string>& places) {
  std::vector<std::string> paths = {note.journal_path};
  const std::size_t slash = note.journal_path.rfind('/');
  if (note.folder == platform::FileIdentity() || slash == std::string::npos) return paths;
  for (const std::string& place : places) {
    const auto entry = platform::Stat(place);
    if (!entry) continue;
    const std::string folder = entry->kind == platform::EntryKind::kFolder ? place : platform::FolderOf(place);
    const auto found = platform::Stat(folder);
    if (found && found->identity == note.folder) paths.push_back(folder + note.journal_path.substr(slash));
  }
  return paths;
}

bool IsAmong(const std::string& path, const std::vector<std::string>& places) {
  return std::any_of(places.begin(), places.end(), [&](const std::string& place) { return IsBelow(path, place); });
}

double SecondsSince(double unix_s) { return static_cast<double>(platform::UnixNs()) * 1e-9 - unix_s; }

// How long its owner has been dead. By the clock since the start of the machine, which shared memory does not outlive:
// that of the day may be set. Not by the file's own time, where the owner left one: that stops when the pages are
// mapped, and begins again when somebody looks (what is reserved again counts as written).
double AgeSeconds(const std::string& name, const RingNote& note) {
  if (note.alive_monotonic_ns != 0)
    return static_cast<double>(static_cast<std::int64_t>(platform::MonotonicNs() - note.alive_monotonic_ns)) * 1e-9;
  if (note.alive_unix_ns != 0) return SecondsSince(static_cast<double>(note.alive_unix_ns) * 1e-9);
  const auto entry = platform::Stat(ShownName(name));
  return entry ? SecondsSince(entry->modified_unix_s) : 0;
}

bool IsOfThePlaces(const RingNote& note, const DrainOptions& options) {
  const std::vector<std::string> paths = PathsNow(note, options.places);
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& path) { return IsAmong(path, options.places); });
}

// Looked at without its lock, so that nobody who wants to empty it is kept from doing so.
bool IsWanted(const std::string& name, const DrainOptions& options) {
  const auto note = Ring::Peek(name);
  if (!note) return options.tidies_up && AgeSeconds(name, {}) > options.forget_after_s;
  const bool died_while_it_was_made = note->journal_path.empty();
  return died_while_it_was_made || IsOfThePlaces(*note, options) ||
         (options.tidies_up && AgeSeconds(name, *note) > options.forget_after_s);
}

// Whether another journal stands where that of the ring was.
bool IsReplaced(const Ring& ring, const std::string& path) {
  const auto journal = platform::AppendFile::OpenExisting(path);
  if (!journal) return false;
  const auto ring_id = ReadRingId(*journal);
  return ring_id && !ring_id->empty() && *ring_id != ring.id();
}

// Days after its journal was removed or replaced; weeks after, when the file system that held it, or the folder above
// it, is out of sight: that may come back.
bool IsForgotten(const Ring& ring, const DrainOptions& options) {
  constexpr double kTimesOutOfSight = 10;
  const RingNote note = ring.note();
  const double age_s = AgeSeconds(ring.name(), note);
  if (age_s <= options.forget_after_s) return false;
  if (!platform::IsAbsent(note.journal_path) && !IsReplaced(ring, note.journal_path)) return false;
  const std::string folder = platform::FolderOf(note.journal_path);
  const auto nearest = platform::Stat(platform::IsAbsent(folder) ? platform::FolderOf(folder) : folder);
  const bool is_known = note.folder != platform::FileIdentity();
  const bool in_sight = nearest && (!is_known || nearest->identity.device == note.folder.device);
  return in_sight || age_s > options.forget_after_s * kTimesOutOfSight;
}

// Why one that cannot be emptied stays.
Error WhyNot(Ring& ring, RingState state) {
  const std::string shown = ShownName(ring.name());
  if (state == RingState::kOtherVersion)
    return {ErrorCode::kUnsupported, shown, std::nullopt,
            "holds the last records of a killed process, for another version of vigil"};
  const std::string aside = fmt::format("{}{}", kAside, ring.name());
  return {ErrorCode::kCorrupt, shown, std::nullopt,
          fmt::format("held the last records of a killed process, and is damaged{}",
                      ring.Rename(aside) ? fmt::format("; it is called {} now", aside) : "")};
}

// The journal of a ring, opened where it lies now; else why it cannot be, where it was.
Result<std::unique_ptr<Mover>> Resume(Ring& ring, const DrainOptions& options) {
  const std::vector<std::string> paths = PathsNow(ring.note(), options.places);
  auto mover = Mover::Resume(ring, paths[0]);
  for (std::size_t i = 1; i < paths.size() && !mover; ++i) {
    if (auto moved = Mover::Resume(ring, paths[i])) mover = std::move(moved);
  }
  return mover;
}

void Empty(Ring& ring, const DrainOptions& options, Leftovers& leftovers) {
  const RingNote note = ring.note();
  const auto mover = Resume(ring, options);
  if (mover && (*mover)->Move(true)) {
    leftovers.records += (*mover)->status().records;
    ++leftovers.rings;
    return ring.Remove();
  }
  if (!mover && IsForgotten(ring, options)) return ring.Remove();
  // A folder with the number of one that was removed long ago has nothing to do with it.
  if (!IsAmong(note.journal_path, options.places)) return;
  const std::string reason = mover ? platform::SystemReason((*mover)->status().problem) : mover.error().Text();
  leftovers.problems.push_back(
      Error{ErrorCode::kIo, note.journal_path, std::nullopt,
            fmt::format("the last records of a killed process stay in {}: {}", ShownName(ring.name()), reason)});
}

void Drain(const std::string& name, const DrainOptions& options, Leftovers& leftovers) {
  auto memory = platform::SharedMemory::TakeOver(name);
  if (!memory) return;  // not this user's, or its owner lives: not ours to drain
  Ring ring = Ring::TakeOver(std::move(*memory));
  switch (const RingState state = ring.state()) {
    case RingState::kSound:
      if (IsOfThePlaces(ring.note(), options)) return Empty(ring, options, leftovers);
      if (IsForgotten(ring, options)) ring.Remove();
      return;
    case RingState::kUnfinished:
      return ring.Remove();
    case RingState::kOutOfReach:
      leftovers.problems.push_back({ErrorCode::kIo, ShownName(name), std::nullopt,
                                    "holds the last records of a killed process, and cannot be looked at now"});
      return;
    case RingState::kOtherVersion:
      // Nobody here can say where its journal is, or when its owner died.
      if (options.tidies_up && AgeSeconds(name, {}) > options.forget_after_s) return ring.Remove();
      [[fallthrough]];
    case RingState::kDamaged:
      leftovers.problems.push_back(WhyNot(ring, state));
  }
}

// Rings that were put aside, for whoever wants to look at them, after days.
void ForgetDamaged(const DrainOptions& options) {
  for (const std::string& name :
       platform::NamesIn(platform::SharedMemory::kFolder, fmt::format("{}{}", kAside, Ring::NamePrefix()))) {
    const auto entry = platform::Stat(ShownName(name));
    if (!entry || SecondsSince(entry->modified_unix_s) <= options.forget_after_s) continue;
    if (auto memory = platform::SharedMemory::TakeOver(name)) memory->Remove();
  }
}

// The superuser sees the rings of all users, and empties none of them: where a journal is to be written is up to
// whoever made the ring. That records are missing has to be said.
void ReportOthers(const DrainOptions& options, Leftovers& leftovers) {
  if (platform::UserId() != 0) return;
  for (const std::string& name : platform::NamesIn(platform::SharedMemory::kFolder, Ring::kAnyUsersPrefix)) {
    if (name.starts_with(Ring::NamePrefix())) continue;
    const auto note = Ring::Peek(name, Ring::Owner::kAnyUser);
    if (!note || !IsOfThePlaces(*note, options) || platform::SharedMemory::IsInUse(name)) continue;
    leftovers.problems.push_back(
        Error{ErrorCode::kPermission, note->journal_path, std::nullopt,
              fmt::format("the last records of a killed process are in {}, which another user owns: they are added "
                          "when that user runs vigil on it",
                          ShownName(name))});
  }
}

void DrainAll(const DrainOptions& options, Leftovers& leftovers) {
  for (const std::string& name : platform::NamesIn(platform::SharedMemory::kFolder, Ring::NamePrefix())) {
    if (!Ring::IsOwnName(name) && IsWanted(name, options)) Drain(name, options, leftovers);
  }
  if (options.tidies_up) ForgetDamaged(options);
  ReportOthers(options, leftovers);
}

}  // namespace

std::vector<Error> FindLeftovers(const DrainOptions& options) {
  std::vector<Error> found;
  for (const std::string& name : platform::NamesIn(platform::SharedMemory::kFolder, Ring::NamePrefix())) {
    if (Ring::IsOwnName(name)) continue;
    const auto note = Ring::Peek(name);
    const bool is_left =
        note && !note->journal_path.empty() && IsOfThePlaces(*note, options) && !platform::SharedMemory::IsInUse(name);
    if (is_left)
      found.push_back(
          {ErrorCode::kBusy, note->journal_path, std::nullopt,
           fmt::format("the last records of a killed process are in {}, and were not read", ShownName(name))});
  }
  Leftovers of_others;
  ReportOthers(options, of_others);
  found.insert(found.end(), of_others.problems.begin(), of_others.problems.end());
  return found;
}

Leftovers DrainLeftovers(const DrainOptions& options) noexcept {
  Leftovers leftovers;
  try {
    DrainAll(options, leftovers);
  } catch (...) {
    leftovers.out_of_memory = true;  // rings stay as they are for whoever comes next
  }
  return leftovers;
}

}  // namespace vigil::journal
