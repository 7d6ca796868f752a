// What is recorded is in the journal, from any number of threads; misuse is a code.
#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "platform/files.h"
#include "record/slots.h"
#include "report/report.h"
#include "support.h"

namespace vigil::record {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Recorder, EverythingThatIsRecordedIsInTheJournal) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle loss = SeriesIn(run, "train/loss");
  journal::Definition labelled;
  labelled.name = "reward";
  labelled.unit = "points";
  labelled.labels = {{"task", "math"}};
  SeriesHandle reward = 0;
  ASSERT_EQ(OpenSeries(run, labelled, reward), Code::kOk);
  TensorHandle gradient = 0;
  ASSERT_EQ(OpenTensor(run, "gradient", "h.0.attn", gradient), Code::kOk);
  EXPECT_EQ(AddHyperparameter(run, "learning_rate", "0.001"), Code::kOk);
  for (std::int64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(BeginStep(run, step), Code::kOk);
    EXPECT_EQ(BeginPhase(run, Phase::kForward), Code::kOk);
    EXPECT_EQ(EndPhase(run, Phase::kForward), Code::kOk);
    EXPECT_EQ(Add(loss, step, 3.0 / static_cast<double>(step + 1)), Code::kOk);
    EXPECT_EQ(Add(reward, step, 0.5), Code::kOk);
    EXPECT_EQ(AddTensor(gradient, step, {1.5, -1, 1, 0.01, 0.1, 1024, 0, 12}), Code::kOk);
    EXPECT_EQ(AddBatch(run, step, Fingerprint("batch")), Code::kOk);
    EXPECT_EQ(EndStep(run), Code::kOk);
  }
  journal::Event event;
  event.step = 99;
  event.severity = model::Severity::kWarning;
  event.text = "almost there";
  EXPECT_EQ(AddEvent(run, event), Code::kOk);
  EXPECT_EQ(AddArtifact(run, 99, "checkpoint", "step-99"), Code::kOk);
  RunStatus status;
  EXPECT_EQ(GetStatus(run, status), Code::kOk);
  EXPECT_TRUE(status.survives_kill);
  EXPECT_EQ(Close(run, 0), Code::kOk);

  const model::Run read = ReadRun(folder.path());
  EXPECT_EQ(SeriesOf(read, "train/loss").size(), 100U);
  EXPECT_EQ(SeriesOf(read, "train/loss").values[2], 1.0);
  EXPECT_EQ(SeriesOf(read, "reward").unit, "points");
  EXPECT_EQ(model::FindLabel(SeriesOf(read, "reward").labels, "task"), "math");
  EXPECT_EQ(SeriesOf(read, "gradient/norm").values[7], 1.5);
  EXPECT_EQ(model::FindLabel(SeriesOf(read, "gradient/zeros").labels, "layer"), "h.0.attn");
  EXPECT_EQ(SeriesOf(read, "step_time_s").size(), 100U);
  EXPECT_EQ(model::FindLabel(SeriesOf(read, "phase_time_s").labels, "phase"), "forward");
  EXPECT_THAT(read.batches.hashes, SizeIs(100));
  EXPECT_EQ(read.batches.hashes[0], Fingerprint("batch"));
  EXPECT_THAT(read.artifacts, SizeIs(1));
  ASSERT_NE(read.FindFact("lr"), nullptr);
  ASSERT_THAT(read.events, SizeIs(2));
  EXPECT_EQ(read.events[0].text, "almost there");
  EXPECT_EQ(read.events[1].name, "finished");
  const std::string ring = BeginOf(folder.path()).ring;
  ASSERT_FALSE(ring.empty());
  EXPECT_THAT(platform::NamesIn("/dev/shm", ring), IsEmpty()) << "its ring goes when all is written";
}

TEST(Recorder, TheSameNameAndLabelsAreTheSameSeries) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  EXPECT_EQ(SeriesIn(run, "loss"), SeriesIn(run, "loss"));
  EXPECT_NE(SeriesIn(run, "loss"), SeriesIn(run, "reward"));
  EXPECT_EQ(Close(run, 0), Code::kOk);
}

void RecordFromThreads(int threads, std::int64_t each) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  std::vector<SeriesHandle> series;
  for (int i = 0; i < threads; ++i) series.push_back(SeriesIn(run, "series-" + std::to_string(i)));
  std::atomic<std::int64_t> recorded = 0;
  std::vector<std::thread> recording;
  for (int i = 0; i < threads; ++i) {
    recording.emplace_back([&, i] {
      for (std::int64_t step = 0; step < each; ++step) {
        if (Add(series[static_cast<std::size_t>(i)], step, static_cast<double>(step) + i) == Code::kOk) ++recorded;
      }
    });
  }
  for (std::thread& thread : recording) thread.join();
  RunStatus status;
  EXPECT_EQ(Flush(run, 60'000), Code::kOk);
  EXPECT_EQ(GetStatus(run, status), Code::kOk);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  const model::Run read = ReadRun(folder.path());
  std::uint64_t points = 0;
  for (const model::Series& each_series : read.series) {
    points += each_series.size();
    const int thread = std::stoi(each_series.raw.substr(7));
    for (std::size_t i = 0; i < each_series.size(); ++i)
      ASSERT_EQ(each_series.values[i], static_cast<double>(each_series.steps[i]) + thread);
  }
  EXPECT_EQ(points + status.dropped_records, static_cast<std::uint64_t>(threads * each));
  EXPECT_LE(points, static_cast<std::uint64_t>(recorded));
}

TEST(Recorder, TakesWhatFourThreadsRecord) { RecordFromThreads(4, 30'000); }
TEST(Recorder, TakesWhatSixtyFourThreadsRecord) { RecordFromThreads(64, 3000); }
TEST(Recorder, TakesWhatMoreThreadsThanLanesRecord) { RecordFromThreads(100, 500); }

TEST(Recorder, LanesOfThreadsThatEndedAreUsedAgain) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle series = SeriesIn(run, "loss");
  for (std::int64_t i = 0; i < 300; ++i) std::thread([&] { EXPECT_EQ(Add(series, i, 1), Code::kOk); }).join();
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_EQ(SeriesOf(ReadRun(folder.path()), "loss").size(), 300U);
}

TEST(Recorder, MisuseIsACode) {
  EXPECT_EQ(Add(0, 1, 1), Code::kInvalid);
  EXPECT_EQ(Add(0x1234567890abcdefU, 1, 1), Code::kInvalid);
  EXPECT_EQ(Close(0, 0), Code::kInvalid);
  EXPECT_EQ(Flush(~std::uint64_t{0}, 1), Code::kInvalid);
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle series = SeriesIn(run, "loss");
  TensorHandle tensor = 0;
  EXPECT_EQ(OpenTensor(run, "gradient", "w", tensor), Code::kOk);
  EXPECT_EQ(Add(series + 1000, 1, 1), Code::kInvalid);
  EXPECT_EQ(Add(run, 1, 1), Code::kInvalid);
  EXPECT_EQ(AddTensor(tensor + 3, 1, {}), Code::kInvalid);
  EXPECT_EQ(EndStep(run), Code::kInvalid);
  EXPECT_EQ(EndPhase(run, Phase::kData), Code::kInvalid);
  EXPECT_EQ(BeginPhase(run, static_cast<Phase>(9)), Code::kInvalid);
  EXPECT_EQ(AddHyperparameter(run, "", "x"), Code::kInvalid);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_EQ(Close(run, 0), Code::kClosed);
  EXPECT_EQ(Add(series, 1, 1), Code::kClosed);
  EXPECT_EQ(AddTensor(tensor, 1, {}), Code::kClosed);
  EXPECT_EQ(AddHyperparameter(run, "k", "x"), Code::kClosed);
  EXPECT_EQ(BeginStep(run, 1), Code::kClosed);
  // The place is used again; old handles stay dead.
  const RunHandle next = OpenIn(folder.path());
  EXPECT_EQ(Add(series, 1, 1), Code::kClosed);
  EXPECT_EQ(Close(next, 0), Code::kOk);
}

TEST(Recorder, AFolderThatCannotBeMadeIsACodeWithTheReason) {
  Options options;
  options.folder = "/proc/none/run";
  RunHandle run = 7;
  std::string message;
  EXPECT_EQ(Open(options, run, message), Code::kIo);
  EXPECT_EQ(run, 0U);
  EXPECT_THAT(message, HasSubstr("/proc/none/run"));
  options.folder.clear();
  EXPECT_EQ(Open(options, run, message), Code::kInvalid);
}

TEST(Recorder, HasRoomForEightRunsAtOnce) {
  const Folder folder;
  std::vector<RunHandle> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(OpenIn(folder.path() + "/" + std::to_string(i)));
  Options options;
  options.folder = folder.path();
  RunHandle run = 0;
  std::string message;
  EXPECT_EQ(Open(options, run, message), Code::kLimit);
  for (const RunHandle each : runs) EXPECT_EQ(Close(each, 0), Code::kOk);
}

TEST(Recorder, ClosingWhileOthersRecordIsSafe) {
  for (int round = 0; round < 20; ++round) {
    const Folder folder;
    const RunHandle run = OpenIn(folder.path());
    const SeriesHandle series = SeriesIn(run, "loss");
    std::atomic<std::int64_t> recorded = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (std::int64_t step = 0; Add(series, step, 1) == Code::kOk; ++step) {
          recorded.fetch_add(1);
          if (step % 1000 == 0) std::this_thread::yield();
        }
      });
    }
    while (recorded < 1000) std::this_thread::yield();
    EXPECT_EQ(Close(run, 0), Code::kOk);
    for (std::thread& thread : threads) thread.join();
  }
}

// Whoever is in the lane of texts keeps others out for some time only; what was dropped is in the journal as a number.
TEST(Recorder, WhatWasDroppedIsCountedInTheJournal) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  {
    const Lease lease(SlotOf(run), run, Lease::ForText());
    ASSERT_EQ(lease.code(), Code::kOk);
    EXPECT_EQ(AddHyperparameter(run, "key", "of the thread that is in there"), Code::kBusy);
    std::thread([&] { EXPECT_EQ(AddHyperparameter(run, "key", "of another"), Code::kBusy); }).join();
  }
  EXPECT_EQ(AddHyperparameter(run, "key", "afterwards"), Code::kOk);
  RunStatus status;
  EXPECT_EQ(GetStatus(run, status), Code::kOk);
  EXPECT_EQ(status.dropped_records, 2U);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_THAT(report::NoteText(ReadRun(folder.path()).sources[0]), HasSubstr("2 records were dropped"));
}

TEST(Recorder, LongTextsOfManyThreadsAreAllTakenOrCounted) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path(), 250);
#if defined(__has_feature)
  constexpr int kThreads = 8;  // sanitizers copy slowly
#else
  constexpr int kThreads = 32;
#endif
  constexpr int kEach = 20;
  std::atomic<std::size_t> taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int event = 0; event < kEach; ++event) {
        journal::Event made;
        made.text.assign(60'000, 'x');
        const Code code = AddEvent(run, made);
        taken += code == Code::kOk ? 1 : 0;
        EXPECT_TRUE(code == Code::kOk || code == Code::kFull);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  RunStatus status;
  EXPECT_EQ(GetStatus(run, status), Code::kOk);
  EXPECT_EQ(status.dropped_records, kThreads * kEach - taken);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  std::size_t kept = 0;
  for (const model::Event& event : ReadRun(folder.path()).events) kept += event.text.size() >= 60'000 ? 1 : 0;
  EXPECT_EQ(kept, taken);
}

TEST(Recorder, ADefinitionThatNoBlockHoldsIsRefused) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  journal::Definition definition;
  definition.name = "loss";
  for (int i = 0; i < 100; ++i) definition.labels.emplace_back("k" + std::to_string(i), std::string(60'000, 'v'));
  SeriesHandle series = 1;
  EXPECT_EQ(OpenSeries(run, definition, series), Code::kLimit);
  EXPECT_EQ(series, 0U);
  definition.labels.resize(1);
  EXPECT_EQ(OpenSeries(run, definition, series), Code::kOk);
  EXPECT_EQ(Add(series, 1, 1), Code::kOk);
  TensorHandle tensor = 1;
  EXPECT_EQ(OpenTensor(run, std::string(40'000, 'w'), std::string(40'000, 'l'), tensor), Code::kLimit);
  EXPECT_EQ(tensor, 0U);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_EQ(SeriesOf(ReadRun(folder.path()), "loss").size(), 1U);
}

std::string FirstLineOf(const std::filesystem::path& path, std::string_view prefix) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(prefix)) return line;
  }
  return {};
}

TEST(Recorder, ItsThreadIsNamedAndTakesNoSignals) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  EXPECT_EQ(Flush(run, 5000), Code::kOk);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the one that empties leftovers begins under this name
  int found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (FirstLineOf(task.path() / "comm", "") != "vigil-record") continue;
    ++found;
    // All but SIGKILL, SIGSTOP and those that the C library keeps for itself.
    EXPECT_THAT(FirstLineOf(task.path() / "status", "SigBlk:"), HasSubstr("fffffffe7ffbfeff"));
  }
  EXPECT_EQ(found, 1);
  EXPECT_EQ(Close(run, 0), Code::kOk);
}

}  // namespace
}  // namespace vigil::record
