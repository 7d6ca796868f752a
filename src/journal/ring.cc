#include "journal/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "platform/clock.h"
#include "platform/files.h"
#include "platform/process.h"
#include "platform/recording.h"

namespace vigil::journal {
namespace {

constexpr std::uint64_t kRingMagic = 0x31474e5249474956U;  // "VIGIRNG1"
constexpr std::uint32_t kLayout = 1;
constexpr std::uint64_t kTextLaneBytes = std::uint64_t{512} << 10U;
constexpr std::uint64_t kDefinitionBytes = std::uint64_t{16} << 20U;
constexpr std::uint64_t kDefinitionStep = std::uint64_t{64} << 10U;
constexpr std::uint64_t kHeaderBytes = std::uint64_t{32} << 10U;
constexpr std::uint64_t kSmallestLaneBytes = std::uint64_t{32} << 10U;
constexpr std::uint64_t kLargestLaneBytes = std::uint64_t{64} << 20U;

std::uint64_t RoundUp(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

std::uint64_t SizeFor(std::uint64_t lane_bytes) {
  return kHeaderBytes + kDefinitionBytes + kTextLaneBytes + (kLanes - 1) * lane_bytes;
}

}  // namespace

struct Ring::Header {
  std::uint64_t magic = 0;
  std::uint32_t layout = 0;
  std::uint32_t lanes = 0;
  std::uint64_t lane_bytes = 0;
  std::array<std::uint64_t, 2> id = {};
  Word committed;
  Word definitions_end;
  Word definitions_reserved;
  Word text_bytes;  // of the two texts below, set when both are there
  std::array<char, 4096> path = {};
  std::array<char, 4096> begin = {};
  std::array<LaneControl, kLanes> lanes_control;
  // Zero in rings of libraries that did not have them.
  Word folder_device;
  Word folder_inode;
  WritingTrouble trouble;
  Word refused_noted;
};

// ---- the memory

Ring::Header& Ring::header() const { return *std::launder(reinterpret_cast<Header*>(memory_.data())); }
LaneControl& Ring::control(std::uint32_t lane) const { return header().lanes_control[lane]; }

std::uint64_t Ring::Capacity(std::uint32_t lane) const {
  return (lane == kTextLane ? kTextLaneBytes : header().lane_bytes) / sizeof(Word);
}

std::uint64_t Ring::LaneOffset(std::uint32_t lane) const {
  const std::uint64_t first = kHeaderBytes + kDefinitionBytes;
  return lane == kTextLane ? first : first + kTextLaneBytes + (lane - 1) * header().lane_bytes;
}

Word* Ring::LaneWords(std::uint32_t lane) const { return reinterpret_cast<Word*>(memory_.data() + LaneOffset(lane)); }

std::string Ring::NamePrefix() { return fmt::format("{}{}-", kAnyUsersPrefix, platform::UserId()); }
std::string Ring::NewName() {
  const auto random = static_cast<std::uint32_t>(platform::RandomNumber());
  return fmt::format("{}{:08x}{:08x}", NamePrefix(), platform::ProcessTag(), random);
}
bool Ring::IsOwnName(std::string_view name) {
  return name.starts_with(fmt::format("{}{:08x}", NamePrefix(), platform::ProcessTag()));
}
std::string Ring::id() const { return fmt::format("{:016x}{:016x}", header().id[0], header().id[1]); }

namespace {

// What all rings of a user may take of shared memory.
std::uint64_t ShareOfAll(const platform::SharedMemorySpace& space) { return space.total_bytes / 4; }

// What a ring may take of it.
std::uint64_t ShareOf(const RingOptions& options) {
  const platform::SharedMemorySpace& space = options.space;
  const std::uint64_t together = ShareOfAll(space);
  const std::uint64_t others = options.taken_bytes(Ring::NamePrefix());
  return std::min({space.total_bytes / 8, space.free_bytes / 4, together - std::min(together, others)});
}

// Lanes that leave room for some threads in what a ring may take.
std::uint64_t LaneBytesWithin(std::uint64_t share, std::uint64_t wanted) {
  constexpr std::uint64_t kSomeThreads = 8;
  const std::uint64_t fixed = kHeaderBytes + kDefinitionStep + kTextLaneBytes;
  const std::uint64_t each = share > fixed ? (share - fixed) / kSomeThreads : 0;
  return each < kSmallestLaneBytes ? 0 : std::bit_floor(std::min(each, wanted));
}

}  // namespace

Result<Ring> Ring::Create(const RingOptions& options) {
  const std::uint64_t wanted = std::bit_floor(std::clamp(options.lane_bytes, kSmallestLaneBytes, kLargestLaneBytes));
  const std::uint64_t share = ShareOf(options);
  if (const std::uint64_t lane_bytes = LaneBytesWithin(share, wanted); options.shared && lane_bytes != 0) {
    if (auto memory = platform::SharedMemory::Create(SizeFor(lane_bytes))) {
      Limits limits = {share, ShareOfAll(options.space), options.taken_bytes, NamePrefix()};
      if (auto ring = Prepare(std::move(*memory), lane_bytes, std::move(limits))) return ring;
    }
  }
  auto memory = platform::SharedMemory::CreatePrivate(SizeFor(wanted));
  if (!memory) return Fail(memory.error());
  return Prepare(std::move(*memory), wanted, Limits{SizeFor(wanted)});
}

double Ring::ShareTaken(const platform::SharedMemorySpace& space) {
  const std::uint64_t most = ShareOfAll(space);
  return most == 0 ? 1 : static_cast<double>(platform::SharedMemoryUsedBy(NamePrefix())) / static_cast<double>(most);
}

std::uint64_t Ring::reserved_bytes() const {
  return std::atomic_ref(const_cast<std::uint64_t&>(reserved_bytes_)).load(std::memory_order_relaxed);
}

// Other processes may have made their rings at the same time: what is free for all of them is looked up when it is
// taken, and not when a ring is made.
bool Ring::IsRoomFor(std::uint64_t size_bytes) const {
  if (limits_.taken_bytes == nullptr) return true;
  const std::uint64_t taken = limits_.taken_bytes(limits_.prefix);
  return taken <= limits_.together_bytes && size_bytes <= limits_.together_bytes - taken;
}

bool Ring::Reserve(std::uint64_t offset, std::uint64_t size_bytes) {
  const std::atomic_ref reserved(reserved_bytes_);
  const bool is_within = reserved.fetch_add(size_bytes) + size_bytes <= limits_.own_bytes && IsRoomFor(size_bytes);
  if (is_within && memory_.Reserve(offset, size_bytes)) return true;
  reserved.fetch_sub(size_bytes);
  return false;
}

Result<Ring> Ring::Prepare(platform::SharedMemory memory, std::uint64_t lane_bytes, Limits limits) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  static_assert(Word::is_always_lock_free);
  Ring ring(std::move(memory));
  ring.limits_ = std::move(limits);
  if (!ring.Reserve(0, kHeaderBytes + kDefinitionStep)) return Fail(ErrorCode::kLimit, "no room for a ring");
  auto* const header = new (ring.memory_.data()) Header;
  header->layout = kLayout;
  header->lanes = kLanes;
  header->lane_bytes = lane_bytes;
  header->id = {platform::RandomNumber(), platform::RandomNumber()};
  header->definitions_reserved = kDefinitionStep;
  // The shared lane and that of texts are there from the start: later nothing may be left.
  if (!ring.ReserveLane(kTextLane) || !ring.ReserveLane(kSharedLane))
    return Fail(ErrorCode::kLimit, "no room for a ring");
  return ring;
}

// Words are written in the order reserved, head; moved words were written before.
RingState Ring::LaneState(std::uint32_t lane) const {
  const LaneControl& it = control(lane);
  const std::uint64_t head = it.head.load();
  const std::uint64_t reserved = it.reserved.load();
  if (head > reserved || reserved - head > Capacity(lane) || it.tail.load() > head) return RingState::kDamaged;
  if (it.tail_records.load() > it.records.load() || it.records.load() > head) return RingState::kDamaged;
  // What was never reserved could not be read either: the system may have no memory for it.
  const bool is_there = reserved == 0 || memory_.Reserve(LaneOffset(lane), Capacity(lane) * sizeof(Word));
  return is_there ? RingState::kSound : RingState::kOutOfReach;
}

RingState Ring::state() const {
  if (memory_.size_bytes() < kHeaderBytes) return RingState::kDamaged;
  const Header& it = header();
  if (it.magic == 0) {
    bool unused = it.text_bytes.load() == 0;
    for (const LaneControl& lane : it.lanes_control) unused = unused && lane.head.load() == 0;
    return unused ? RingState::kUnfinished : RingState::kDamaged;
  }
  if (it.magic != kRingMagic) return RingState::kDamaged;
  if (it.layout != kLayout) return RingState::kOtherVersion;
  if (it.lanes != kLanes || it.lane_bytes < kSmallestLaneBytes || it.lane_bytes > kLargestLaneBytes ||
      !std::has_single_bit(it.lane_bytes) || memory_.size_bytes() != SizeFor(it.lane_bytes))
    return RingState::kDamaged;
  const std::uint64_t definitions = it.definitions_end.load();
  if (definitions > kDefinitionBytes) return RingState::kDamaged;
  if (definitions > 0 && !memory_.Reserve(kHeaderBytes, definitions)) return RingState::kOutOfReach;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if (const RingState found = LaneState(lane); found != RingState::kSound) return found;
  }
  return RingState::kSound;
}

RingNote Ring::NoteOf(const Header& header) {
  const std::uint64_t size = header.text_bytes.load() >> 32U;
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(size, header.path.size()));
  return {std::string(header.path.data(), most),
          {header.folder_device.load(), header.folder_inode.load()},
          static_cast<std::int64_t>(header.trouble.alive_unix_ns.load()),
          header.trouble.alive_monotonic_ns.load()};
}

std::optional<RingNote> Ring::Peek(const std::string& name, Owner owner) {
  alignas(Header) std::array<std::byte, sizeof(Header)> copy = {};
  if (!platform::SharedMemory::Peek(name, copy, owner)) return std::nullopt;
  const auto* const header = std::launder(reinterpret_cast<const Header*>(copy.data()));
  if (header->magic == 0) return RingNote();
  if (header->magic != kRingMagic || header->layout != kLayout) return std::nullopt;
  return NoteOf(*header);
}

bool Ring::ReserveLane(std::uint32_t lane) {
  const bool is_reserved = (reserved_lanes_ >> lane & 1U) != 0;
  if (!is_reserved && !Reserve(LaneOffset(lane), Capacity(lane) * sizeof(Word))) return false;
  reserved_lanes_ |= std::uint64_t{1} << lane;
  return true;
}

// Of words the first count most: they say what went wrong before all else did.
LaneWriter Ring::Writer(std::uint32_t lane) {
  return {&control(lane), LaneWords(lane), Capacity(lane), lane == kTextLane ? nullptr : &header().trouble};
}

// ---- definitions: a length of four bytes, the entry

bool Ring::AddDefinition(std::string_view entry) {
  Header& it = header();
  const std::uint64_t end = it.definitions_end.load(std::memory_order_relaxed);
  const std::uint64_t next = end + sizeof(std::uint32_t) + entry.size();
  if (next > kDefinitionBytes) return false;
  const std::uint64_t reserved = it.definitions_reserved.load(std::memory_order_relaxed);
  if (next > reserved) {
    const std::uint64_t wanted = std::min(kDefinitionBytes, RoundUp(next, kDefinitionStep));
    if (!Reserve(kHeaderBytes + reserved, wanted - reserved)) return false;
    it.definitions_reserved.store(wanted, std::memory_order_relaxed);
  }
  std::byte* const at = memory_.data() + kHeaderBytes + end;
  const auto length = static_cast<std::uint32_t>(entry.size());
  std::memcpy(at, &length, sizeof(length));
  std::memcpy(at + sizeof(length), entry.data(), entry.size());
  it.definitions_end.store(next, std::memory_order_release);
  return true;
}

std::uint64_t Ring::ReadDefinitions(std::uint64_t from, std::vector<std::string_view>& entries) const {
  const std::uint64_t end = header().definitions_end.load(std::memory_order_acquire);
  const char* const area = reinterpret_cast<const char*>(memory_.data()) + kHeaderBytes;
  while (from + sizeof(std::uint32_t) <= end) {
    std::uint32_t length = 0;
    std::memcpy(&length, area + from, sizeof(length));
    if (length > end - from - sizeof(length)) return end;
    entries.emplace_back(area + from + sizeof(length), length);
    from += sizeof(length) + length;
  }
  return from;
}

// ---- collecting

Collected Ring::Collect(const Position& from, std::vector<std::uint64_t>& scratch) const {
  const LaneControl& lane = control(from.lane);
  const Word* const words = LaneWords(from.lane);
  const std::uint64_t capacity = Capacity(from.lane);
  Collected collected;
  collected.end = from;
  const std::uint64_t head = lane.head.load(std::memory_order_acquire);
  if (head <= from.position) return collected;
  const auto oldest = [&](std::uint64_t reserved) {
    const std::uint64_t kept = reserved > capacity ? reserved - capacity : 0;
    return kept <= from.position ? from.position : RoundUp(kept, kChunkWords);
  };
  const std::uint64_t first = oldest(lane.reserved.load(std::memory_order_relaxed));
  if (first >= head || head - first > capacity) return collected;
  scratch.resize(head - first);
  for (std::uint64_t at = first; at < head; ++at)
    scratch[at - first] = words[at & (capacity - 1)].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  // What was overwritten while we copied is not what it was.
  const std::uint64_t sound = oldest(lane.reserved.load(std::memory_order_relaxed));
  if (sound >= head) return collected;
  collected.words = std::span(scratch).subspan(sound - first);
  collected.end.position = head;
  const bool is_chunk = collected.words.size() >= kChunkHeadWords && collected.words[0] == sound;
  if (sound != from.position && is_chunk && collected.words[1] > from.records)
    collected.dropped_records = collected.words[1] - from.records;
  return collected;
}

std::uint64_t Ring::FillPercent(std::uint32_t lane) const {
  const LaneControl& it = control(lane);
  const std::uint64_t head = it.head.load(std::memory_order_relaxed);
  return (head - it.tail.load(std::memory_order_relaxed)) * 100 / Capacity(lane);
}

std::uint64_t Ring::Refused() const {
  std::uint64_t count = 0;
  for (const LaneControl& lane : header().lanes_control) count += lane.refused.load(std::memory_order_relaxed);
  return count;
}

std::uint64_t Ring::RefusedNoted() const { return header().refused_noted.load(std::memory_order_relaxed); }
void Ring::SetRefusedNoted(std::uint64_t records) { header().refused_noted.store(records, std::memory_order_relaxed); }

std::uint64_t Ring::Overwritten(std::uint32_t lane, std::uint64_t records) const {
  const LaneControl& it = control(lane);
  const Word* const words = LaneWords(lane);
  const std::uint64_t capacity = Capacity(lane);
  const auto oldest = [&] {
    const std::uint64_t reserved = it.reserved.load(std::memory_order_acquire);
    return reserved > capacity ? RoundUp(reserved - capacity, kChunkWords) : 0;
  };
  // What is counted at the head of the oldest chunk holds while that chunk is the oldest.
  for (int tries = 0; tries < 100; ++tries) {
    const std::uint64_t chunk = oldest();
    if (chunk == 0 || chunk >= it.head.load(std::memory_order_acquire)) return 0;
    const std::uint64_t before = words[(chunk + 1) & (capacity - 1)].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (oldest() == chunk) return before > records ? before - records : 0;
  }
  return 0;
}

Position Ring::Tail(std::uint32_t lane) const {
  const LaneControl& it = control(lane);
  return {lane, it.tail.load(std::memory_order_relaxed), it.tail_records.load(std::memory_order_relaxed)};
}

void Ring::SetTail(const Position& position) {
  LaneControl& it = control(position.lane);
  it.tail_records.store(position.records, std::memory_order_relaxed);
  it.tail.store(position.position, std::memory_order_release);  // what was moved may be overwritten
}

// ---- the journal it belongs to

bool Ring::SetJournal(std::string_view path, std::string_view begin) {
  Header& it = header();
  if (path.size() > it.path.size() || begin.size() > it.begin.size()) return false;
  std::memcpy(it.path.data(), path.data(), path.size());
  std::memcpy(it.begin.data(), begin.data(), begin.size());
  it.text_bytes.store(path.size() << 32U | begin.size(), std::memory_order_relaxed);
  // From now on it can be taken over.
  std::atomic_thread_fence(std::memory_order_release);
  it.magic = kRingMagic;
  return true;
}

void Ring::SetFolder(const platform::FileIdentity& folder) {
  header().folder_device.store(folder.device, std::memory_order_relaxed);
  header().folder_inode.store(folder.inode, std::memory_order_relaxed);
}

void Ring::SetAlive(std::int64_t unix_ns, std::uint64_t monotonic_ns) {
  header().trouble.alive_unix_ns.store(static_cast<std::uint64_t>(unix_ns), std::memory_order_relaxed);
  header().trouble.alive_monotonic_ns.store(monotonic_ns, std::memory_order_relaxed);
}

void Ring::SetFails(bool fails) { header().trouble.fails.store(fails ? 1 : 0, std::memory_order_relaxed); }

RingNote Ring::note() const { return NoteOf(header()); }
std::string Ring::journal_path() const { return NoteOf(header()).journal_path; }

std::string Ring::journal_begin() const {
  const std::uint64_t size = header().text_bytes.load() & 0xffffffffU;
  return {header().begin.data(), static_cast<std::size_t>(std::min<std::uint64_t>(size, header().begin.size()))};
}

void Ring::SetCommitted(std::uint64_t offset) { header().committed.store(offset, std::memory_order_relaxed); }
std::uint64_t Ring::committed() const { return header().committed.load(std::memory_order_relaxed); }

}  // namespace vigil::journal
