// A loss of power, simulated: what was asked of the disk is kept in order, and a disk is made of it on which a part of
// what was not synced is missing, torn, or zeros, in any order. What a flush had confirmed must be there.
#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include "../journal/support.h"
#include "platform/faults.h"
#include "record/record.h"
#include "support.h"

namespace vigil::record {
namespace {

using platform::DiskCall;

struct Call {
  DiskCall::Kind kind = DiskCall::Kind::kCreate;
  std::string path;
  std::string bytes;
};

std::mutex calls_mutex;
std::vector<Call> calls;

void Keep(const DiskCall& call) {
  const std::lock_guard lock(calls_mutex);
  calls.push_back({call.kind, std::string(call.path), std::string(call.bytes)});
}

std::vector<Call> CallsSoFar() {
  const std::lock_guard lock(calls_mutex);
  return calls;
}

// Watches what this process asks of the disk while it is there.
class Watching {
 public:
  Watching() {
    calls.clear();
    platform::WatchDisk(Keep);
  }
  ~Watching() { platform::WatchDisk(nullptr); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
};

// A file as a disk has it: its name and its first bytes for certain, the rest perhaps.
struct DiskFile {
  bool has_name = false;
  std::string synced;
  std::vector<std::string> unsynced;
};

using Disk = std::map<std::string, DiskFile>;

Disk DiskAfter(std::span<const Call> done) {
  Disk disk;
  for (const Call& call : done) {
    if (call.kind == DiskCall::Kind::kSyncFolder) {
      for (auto& [path, file] : disk) file.has_name = true;  // all are in one folder here
      continue;
    }
    DiskFile& file = disk[call.path];
    if (call.kind == DiskCall::Kind::kWrite) file.unsynced.push_back(call.bytes);
    if (call.kind != DiskCall::Kind::kSync) continue;
    for (const std::string& bytes : file.unsynced) file.synced += bytes;
    file.unsynced.clear();
  }
  return disk;
}

// What may be in the file when the power is back: of each write that was not synced all, a part, zeros or nothing. A
// later one that arrived leaves zeros where an earlier one did not.
std::string ContentAfterLoss(const DiskFile& file, std::mt19937& random) {
  std::string content = file.synced;
  for (std::size_t i = 0, end = content.size(); i < file.unsynced.size(); ++i) {
    const std::string& bytes = file.unsynced[i];
    const std::size_t begin = end;
    end += bytes.size();
    const std::size_t kept = std::array<std::size_t, 3>{0, random() % bytes.size(), bytes.size()}[random() % 3];
    if (kept == 0 && random() % 2 == 0) continue;
    content.resize(kept == 0 ? end : std::max(content.size(), begin), '\0');
    content.replace(begin, std::min(kept, content.size() - begin), bytes, 0, kept);
  }
  return content;
}

std::set<std::int64_t> StepsAfterLoss(const Disk& disk, std::mt19937& random) {
  std::set<std::int64_t> steps;
  for (const auto& [path, file] : disk) {
    if (!file.has_name && random() % 2 == 0) continue;
    const journal::Kept kept = journal::Decode(ContentAfterLoss(file, random));
    for (const auto& [series, points] : kept.points) {
      for (const journal::Point& point : points) {
        EXPECT_EQ(std::bit_cast<double>(point.bits), static_cast<double>(point.step) * 0.5) << "never recorded";
        steps.insert(point.step);
      }
    }
  }
  return steps;
}

// A flush that returned kOk: how many steps were recorded, and how many calls had been made of the disk.
struct Confirmed {
  std::int64_t steps = 0;
  std::size_t calls = 0;
};

constexpr int kFlushes = 12;
constexpr std::int64_t kStepsEach = 300;

std::vector<Confirmed> RecordIn(const std::string& folder, std::uint32_t sync_interval_ms) {
  Options options;
  options.folder = folder;
  options.flush_interval_ms = 1;
  options.sync_interval_ms = sync_interval_ms;
  RunHandle run = 0;
  std::string message;
  EXPECT_EQ(Open(options, run, message), Code::kOk) << message;
  const SeriesHandle loss = SeriesIn(run, "loss");
  std::vector<Confirmed> confirmed;
  for (std::int64_t step = 0; step < kFlushes * kStepsEach; ++step) {
    EXPECT_EQ(Add(loss, step, static_cast<double>(step) * 0.5), Code::kOk);
    if ((step + 1) % kStepsEach != 0) continue;
    EXPECT_EQ(Flush(run, 10'000), Code::kOk);
    confirmed.push_back({step + 1, CallsSoFar().size()});
  }
  EXPECT_EQ(Close(run, 0), Code::kOk);
  return confirmed;
}

// Steps that a flush had confirmed and that are missing, over losses of power at every call and many disks of each.
std::size_t MissingAfterLosses(const std::vector<Confirmed>& confirmed, std::span<const Call> done) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  std::size_t missing = 0;
  for (std::size_t at = 1; at <= done.size(); ++at) {
    const Disk disk = DiskAfter(done.first(at));
    std::int64_t promised = 0;
    for (const Confirmed& flush : confirmed) promised = flush.calls <= at ? flush.steps : promised;
    for (int round = 0; round < 5; ++round) {
      const std::set<std::int64_t> steps = StepsAfterLoss(disk, random);
      for (std::int64_t step = 0; step < promised; ++step) missing += steps.contains(step) ? 0 : 1;
    }
  }
  return missing;
}

TEST(LossOfPower, TakesNothingThatAFlushConfirmedWhereSyncingWasAskedFor) {
  const Folder folder;
  const Watching watching;
  const auto confirmed = RecordIn(folder.path(), 20);
  EXPECT_EQ(MissingAfterLosses(confirmed, CallsSoFar()), 0U);
}

// What the simulation is worth: without syncing it does lose.
TEST(LossOfPower, TakesWhatWasNotSynced) {
  const Folder folder;
  const Watching watching;
  const auto confirmed = RecordIn(folder.path(), 0);
  EXPECT_GT(MissingAfterLosses(confirmed, CallsSoFar()), 0U);
  for (const Call& call : CallsSoFar()) EXPECT_NE(call.kind, DiskCall::Kind::kSync) << "syncing is off by default";
}

// The disk reports an error once: the flush that hears of it must not say that all is well, and the journal says it.
TEST(LossOfPower, ASyncThatFailsIsACodeAndStandsInTheJournal) {
  bool noted = false;
  for (std::int64_t call = 0; !noted && call < 200; ++call) {
    const Folder folder;
    Options options;
    options.folder = folder.path();
    options.flush_interval_ms = 3'600'000;
    options.sync_interval_ms = 1;
    RunHandle run = 0;
    std::string message;
    ASSERT_EQ(Open(options, run, message), Code::kOk) << message;
    const SeriesHandle loss = SeriesIn(run, "loss");
    ASSERT_EQ(Flush(run, 10'000), Code::kOk);
    ASSERT_EQ(Add(loss, 1, 1), Code::kOk);
    platform::FailCall(call, EIO);
    const Code flushed = Flush(run, 10'000);
    platform::FailCall(-1, 0);
    EXPECT_TRUE(flushed == Code::kOk || flushed == Code::kIo);
    EXPECT_EQ(Flush(run, 10'000), Code::kOk) << "what comes later is confirmed again";
    EXPECT_EQ(Close(run, 0), Code::kOk);
    if (flushed != Code::kIo) continue;
    const journal::Kept kept = journal::Decode(journal::ReadAll(folder.path() + "/rank-0.vigil"));
    noted = std::any_of(kept.events.begin(), kept.events.end(), [](const journal::Event& event) {
      return event.text.find("could not be synced") != std::string::npos;
    });
    EXPECT_TRUE(noted);
  }
  EXPECT_TRUE(noted) << "no call of the sync was reached";
}

}  // namespace
}  // namespace vigil::record
