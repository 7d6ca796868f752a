// One source that takes more than its share is a failure of its own; the others are read. And memory may be out at any
// point of any reader.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "formats/formats.h"
#include "ingest/feed.h"
#include "ingest/ingest.h"
#include "ingest/read.h"
#include "pipeline/pipeline.h"
#include "platform/clock.h"
#include "platform/memory_budget.h"
#include "support/paths.h"
#include "support/scratch.h"

namespace vigil::ingest {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VIGIL_SLOW_POINTS 1
#endif
#endif

// The allocation to fail next: each of the first `dense`, then fewer and fewer. Under a sanitizer a point takes ten
// times as long, and fewer of the later ones are tried unless VIGIL_ALL_POINTS is set, as `make nightly` does.
std::int64_t NextPoint(std::int64_t at, std::int64_t dense) {
#ifdef VIGIL_SLOW_POINTS
  static const bool all = std::getenv("VIGIL_ALL_POINTS") != nullptr;
  if (!all) dense /= 10;
#endif
  return at + 1 + at / dense;
}

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Budget, GrowsWithTheFileAndHasAnEnd) {
  EXPECT_EQ(BudgetFor(0).memory_bytes, std::int64_t{1} << 30U);
  EXPECT_EQ(BudgetFor(std::uint64_t{100} << 20U).memory_bytes, (std::int64_t{1} << 30U) + (std::int64_t{800} << 20U));
  EXPECT_EQ(BudgetFor(~std::uint64_t{0}).memory_bytes, std::int64_t{8} << 30U);
  EXPECT_EQ(BudgetFor(0).seconds, 60);
  EXPECT_EQ(BudgetFor(10'000'000'000).seconds, 1060);
  EXPECT_EQ(BudgetForArchive(0).memory_bytes, std::int64_t{1} << 30U);
  EXPECT_EQ(BudgetForArchive(std::uint64_t{32} << 20U).memory_bytes, std::int64_t{2} << 30U);
  EXPECT_EQ(BudgetForArchive(~std::uint64_t{0}).memory_bytes, std::int64_t{8} << 30U);
  EXPECT_GE(BudgetForAll().most_bytes, std::int64_t{2} << 30U);
}

TEST(Budget, OfTimeCountsTheProcessorAndNoWaiting) {
  platform::MemoryBudget budget;
  budget.until_thread_s = platform::ThreadSeconds() + 0.2;
  const platform::MemoryScope scope(budget);
  const auto take = [](int count) {
    for (int i = 0; i < count; ++i) std::make_unique<int>(i);
  };
  platform::SleepSeconds(0.3);
  EXPECT_NO_THROW(take(20'000));
  EXPECT_THROW(take(2'000'000'000), std::bad_alloc);
  const auto refusal = platform::TakeRefusal();
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(refusal->is_late);
  EXPECT_FALSE(platform::TakeRefusal()) << "it is given once";
}

TEST(Budget, OfAnOuterScopeKeepsWhatAnInnerOneTook) {
  platform::MemoryBudget outer;
  outer.most_bytes = 1'000'000;
  outer.of = "all of it";
  const platform::MemoryScope scope(outer);
  std::vector<std::string> kept(3);
  for (int i = 0; i < 2; ++i) {
    platform::MemoryBudget inner;
    const platform::MemoryScope within(inner);
    kept[static_cast<std::size_t>(i)] = std::string(400'000, 'x');
  }
  platform::MemoryBudget inner;
  const platform::MemoryScope within(inner);
  EXPECT_THROW(std::string(400'000, 'x'), std::bad_alloc);
  const auto refusal = platform::TakeRefusal();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->of, "all of it");
}

TEST(Budget, IsCountedInOurPrograms) {
  platform::MemoryBudget budget;
  budget.most_bytes = 1'000'000;
  {
    const platform::MemoryScope scope(budget);
    const std::string small(500'000, 'x');
    EXPECT_GE(budget.used_bytes, 500'000);
    EXPECT_THROW(std::string(600'000, 'x'), std::bad_alloc);
  }
  EXPECT_TRUE(budget.is_exceeded);
  EXPECT_LT(budget.used_bytes, 1000);
  EXPECT_GE(budget.peak_bytes, 500'000);
}

// A reader that takes all the memory there is, and one that breaks.
class Greedy : public Reader {
 public:
  std::size_t Consume(std::string_view bytes, bool) override {
    for (;;) taken_.emplace_back(std::size_t{64} << 20U, '\0');
    return bytes.size();
  }

 private:
  std::vector<std::string> taken_;
};
class Broken : public Reader {
 public:
  std::size_t Consume(std::string_view, bool) override { throw std::runtime_error("a mistake of ours"); }
};

template <class Kind>
Format FormatOf(std::string_view begin) {
  static std::string_view wanted;
  wanted = begin;
  return {.id = begin,
          .title = begin,
          .recognise = [](const Probe& probe) { return probe.head.starts_with(wanted) ? 100 : 0; },
          .open = [](PartBuilder&) -> std::unique_ptr<Reader> { return std::make_unique<Kind>(); }};
}

// Holds as many megabytes as it says, in its part. They are counted, but not written to.
class Holding : public Reader {
 public:
  explicit Holding(PartBuilder& builder) : builder_(builder) {}
  std::size_t Consume(std::string_view bytes, bool last) override {
    if (!last) return 0;
    const auto megabytes = ParseInteger(bytes.substr(8, 3)).value_or(0);
    builder_.part().name.reserve(static_cast<std::size_t>(megabytes) << 20U);
    builder_.AddFact("learning_rate", "0.1");
    return bytes.size();
  }

 private:
  PartBuilder& builder_;
};
std::vector<Format> WithHolding() {
  std::vector<Format> formats = {
      {.id = "holding",
       .title = "holding",
       .recognise = [](const Probe& probe) { return probe.head.starts_with("holding ") ? 100 : 0; },
       .open = [](PartBuilder& builder) -> std::unique_ptr<Reader> { return std::make_unique<Holding>(builder); }}};
  const auto all = formats::Formats();
  formats.insert(formats.end(), all.begin(), all.end());
  return formats;
}

// A tar of small files.
std::string TarOf(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string tar;
  for (const auto& [name, content] : members) {
    std::string header(512, '\0');
    const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
    put(0, name);
    put(100, "0000644");
    put(124, fmt::format("{:011o}", content.size()));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar");
    put(263, "00");
    unsigned sum = 0;
    for (const char byte : header) sum += static_cast<unsigned char>(byte);
    put(148, fmt::format("{:06o}", sum));
    header[154] = '\0';
    tar += header + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

class BudgetTest : public ScratchTest {};

TEST_F(BudgetTest, OfAnArchiveIsOneForAllItsMembers) {
  const std::vector<Format> formats = WithHolding();
  const std::string path =
      Write("a.tar", TarOf({{"1", "holding 400"}, {"2", "holding 400"}, {"3", "holding 400"}, {"4", "holding 100"}}));
  const FoundParts found = ReadPaths({path}, formats);
  ASSERT_THAT(found.parts, SizeIs(3));
  EXPECT_EQ(found.parts.back().sources.front().path, path + "/4") << "what fits is read";
  ASSERT_THAT(found.unread, SizeIs(1));
  EXPECT_EQ(found.unread.front().path, path + "/3");
  EXPECT_THAT(found.unread.front().reason, HasSubstr("the archive that it is in takes more than 1.0 GiB of memory"));
}

TEST_F(BudgetTest, OfAllSourcesTogetherLeavesOutWhatComesTooLate) {
  const std::vector<Format> formats = WithHolding();
  platform::MemoryBudget all;
  all.most_bytes = std::int64_t{1} << 30U;
  all.of = "what is read in all";
  std::vector<ReadOutcome> outcomes;
  for (const char* name : {"a", "b", "c"}) {
    Write(name, name == std::string_view("c") ? "holding 100" : "holding 600");
    outcomes.push_back(ReadSource(Folder() + "/" + name, formats, &all));
  }
  EXPECT_THAT(outcomes[0].parts, SizeIs(1));
  EXPECT_THAT(outcomes[1].parts, SizeIs(0));
  ASSERT_THAT(outcomes[1].errors, SizeIs(1));
  EXPECT_THAT(outcomes[1].errors.front().Text(), HasSubstr("what is read in all takes more than 1.0 GiB of memory"));
  EXPECT_THAT(outcomes[2].parts, SizeIs(1));
}

// Takes forty megabytes for each piece.
class Hungry : public Reader {
 public:
  explicit Hungry(PartBuilder& builder) : builder_(builder) {}
  std::size_t Consume(std::string_view bytes, bool) override {
    builder_.Add(builder_.OpenSeries("loss"), step_++, 1);
    taken_.emplace_back(new char[std::size_t{40} << 20U]);
    return bytes.size();
  }

 private:
  PartBuilder& builder_;
  std::int64_t step_ = 0;
  std::vector<std::unique_ptr<char[]>> taken_;
};

TEST_F(BudgetTest, KeepsWhatWasReadBeforeTheMemoryWasNearlyTaken) {
  const std::vector<Format> formats = {
      {.id = "hungry",
       .title = "hungry",
       .recognise = [](const Probe&) { return 100; },
       .open = [](PartBuilder& builder) -> std::unique_ptr<Reader> { return std::make_unique<Hungry>(builder); }}};
  const auto runs = ReadRuns(Write("a", std::string(std::size_t{20} << 20U, 'x')), formats);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->front().sources.front().state, model::SourceState::kPartial);
  EXPECT_GE(runs->front().series.front().size(), 20U);
  EXPECT_LE(runs->front().series.front().size(), 29U) << "1 GiB and 8 times 20 MiB";
}

// ---- files that are followed

TEST_F(BudgetTest, AFollowedFileOverItIsNamedOnceAndLeftAloneUntilItIsReplaced) {
  const std::vector<Format> formats = WithHolding();
  Write("a", "holding 100");
  Write("c.jsonl", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n");
  std::vector<Format> greedy = {FormatOf<Greedy>("greedy")};
  greedy.insert(greedy.end(), formats.begin(), formats.end());
  Write("b", "greedy");
  Follower follower({Folder()}, greedy);
  EXPECT_TRUE(follower.Poll());
  EXPECT_THAT(follower.Parts(), SizeIs(2));
  ASSERT_THAT(follower.unread(), SizeIs(1));
  EXPECT_EQ(follower.unread().front().path, Folder() + "/b");
  EXPECT_THAT(follower.unread().front().reason, HasSubstr("takes more than 1.0 GiB of memory"));
  std::ofstream(Folder() + "/b", std::ios::app) << " and greedier";
  EXPECT_FALSE(follower.Poll()) << "nothing was read again";
  std::ofstream(Folder() + "/c.jsonl", std::ios::app) << "{\"step\": 3, \"loss\": 1}\n";
  EXPECT_TRUE(follower.Poll()) << "the others go on";
  EXPECT_THAT(follower.unread(), SizeIs(1));
  Write("new", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n");
  std::filesystem::rename(Folder() + "/new", Folder() + "/b");
  EXPECT_TRUE(follower.Poll());
  EXPECT_THAT(follower.Parts(), SizeIs(3));
}

class BrokenAtOnce : public Reader {
 public:
  BrokenAtOnce() { throw std::runtime_error("a mistake of ours"); }
  std::size_t Consume(std::string_view bytes, bool) override { return bytes.size(); }
};

TEST_F(BudgetTest, AReaderThatFailsDoesNotEndFollowingTheOthers) {
  for (Format bad : {FormatOf<BrokenAtOnce>("bad"), FormatOf<Broken>("bad")}) {
    std::vector<Format> formats = {bad};
    const auto all = formats::Formats();
    formats.insert(formats.end(), all.begin(), all.end());
    Write("a", "bad");
    Write("c.jsonl", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n");
    Follower follower({Folder()}, formats);
    EXPECT_TRUE(follower.Poll());
    EXPECT_THAT(follower.Parts(), SizeIs(1));
    ASSERT_THAT(follower.unread(), SizeIs(1));
    EXPECT_THAT(follower.unread().front().reason, HasSubstr("a mistake of ours"));
    follower.Conclude();
    EXPECT_THAT(follower.Parts(), SizeIs(1));
  }
}

TEST_F(BudgetTest, OfOneSourceIsNoneOfTheOthers) {
  std::vector<Format> formats = {FormatOf<Greedy>("greedy"), FormatOf<Broken>("broken")};
  const auto all = formats::Formats();
  formats.insert(formats.end(), all.begin(), all.end());
  Write("a", "greedy");
  Write("b", "broken");
  Write("c.jsonl", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n");
  const auto greedy = ReadRuns(Folder() + "/a", formats);
  ASSERT_FALSE(greedy);
  EXPECT_EQ(greedy.error().code, ErrorCode::kLimit);
  EXPECT_THAT(greedy.error().Text(), HasSubstr("/a: takes more than 1.0 GiB of memory to read"));
  const auto broken = ReadRuns(Folder() + "/b", formats);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().Text(), HasSubstr("a mistake of ours"));
  EXPECT_TRUE(ReadRuns(Folder() + "/c.jsonl", formats));
}

// ---- memory that is out

// Whether reading fails when that allocation does, and how many there were.
struct Attempt {
  bool is_whole = false;
  bool has_failed = false;
  std::int64_t allocations = 0;
};

Attempt ReadWithFailureAt(const std::string& path, std::int64_t at, bool fails_once) {
  platform::MemoryBudget budget;
  budget.allocations_left = at;
  budget.fails_once = fails_once;
  Attempt attempt;
  {
    const platform::MemoryScope scope(budget);
    try {
      attempt.is_whole = ReadRuns(path, formats::Formats()).has_value();
    } catch (const std::bad_alloc&) {
      // Without any memory there is none for the failure either.
      EXPECT_TRUE(!fails_once || at < 3) << at;
    }
  }
  attempt.has_failed = budget.has_failed;
  attempt.allocations = at - budget.allocations_left;
  return attempt;
}

// Reads with the allocation that fails further and further behind, until none does: each of them where a small file
// takes few, else evenly over all of them.
void FailEveryAllocation(const std::string& path, bool fails_once) {
  SCOPED_TRACE(path);
  constexpr std::int64_t kMostAttempts = 10'000;
  const Attempt whole = ReadWithFailureAt(path, std::int64_t{1} << 40U, fails_once);
  ASSERT_TRUE(whole.is_whole);
  const std::int64_t step = 1 + whole.allocations / kMostAttempts;
  std::int64_t failures = 0;
  for (std::int64_t at = 0; at < whole.allocations; at += step)
    failures += ReadWithFailureAt(path, at, fails_once).is_whole ? 0 : 1;
  EXPECT_GT(failures, 0);
}

// The smallest fixture of each format.
std::map<std::string, std::string> SmallestFixtures() {
  std::map<std::string, std::pair<std::uintmax_t, std::string>> smallest;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(testing_support::kSourceDir) + "/tests/fixtures/")) {
    if (!entry.is_regular_file() || entry.file_size() > 300'000) continue;
    const auto run = ReadRuns(entry.path(), formats::Formats());
    if (!run) continue;
    auto& known = smallest[run->front().sources.front().format];
    if (known.second.empty() || entry.file_size() < known.first) known = {entry.file_size(), entry.path()};
  }
  std::map<std::string, std::string> paths;
  for (const auto& [format, file] : smallest) paths[format] = file.second;
  return paths;
}

class OutOfMemoryTest : public ScratchTest {};

TEST_F(OutOfMemoryTest, IsAFailureAtEveryPointOfEveryReader) {
  std::map<std::string, std::string> fixtures = SmallestFixtures();
  fixtures["keras-history"] = Write("history.json", R"({"loss": [3, 2, 1], "val_loss": [3.5, 2.5, 2.25]})");
  fixtures["metric-json"] = Write("metrics.json", R"({"loss": [3, 2, 1], "val_loss": [3.5]})");
  fixtures["notebook"] =
      Write("train.ipynb", R"({"cells": [{"cell_type": "code", "outputs": [{"text": ["step 1 loss 2.5\n"]}]}]})");
  fixtures["config-toml"] = Write("train.toml", "[optimizer]\nlr = 1e-4\n\n[training]\nsteps = 1000\n");
  std::string events;
  for (int step = 1; step <= 3; ++step)
    events += fmt::format(
        "{{\"rank\": 1, \"step\": {}, \"time_us\": 1763200000000000, \"log_type\": \"instant\", \"log_type_name\": "
        "\"metric\", \"event_name\": \"loss_metrics/global_avg_loss\", \"value\": 2.5}}\n",
        step);
  fixtures["titan-events"] = Write("train.global_rank_1.jsonl", events);
  std::size_t without = 0;
  for (const Format& format : formats::Formats()) {
    bool has_one = fixtures.contains(std::string(format.id));
    for (const std::string_view variant : format.traits.variants)
      has_one = has_one || fixtures.contains(std::string(variant));
    if (has_one) continue;
    fmt::print("no fixture of {}\n", format.id);
    ++without;
  }
  EXPECT_EQ(without, 0U);
  for (const auto& [format, path] : fixtures) {
    const auto run = ReadRuns(path, formats::Formats());
    ASSERT_TRUE(run) << path;
    EXPECT_EQ(run->front().sources.front().format, format) << path;
    for (const bool fails_once : {true, false}) FailEveryAllocation(path, fails_once);
  }
}

// Two runs; whichever allocation fails, of reading, joining or judging: no run is missing without a word, and one
// failure does not cost both.
TEST_F(OutOfMemoryTest, CostsOneRunItsVerdictAndIsNamed) {
  for (const char* name : {"a", "b"}) {
    std::string rows;
    for (int step = 1; step <= 40; ++step)
      rows += fmt::format("{{\"step\": {}, \"loss\": {}}}\n", step, step < 30 ? "2.5" : "NaN");
    Write(std::string(name) + "/train.jsonl", rows);
  }
  const catalogue::Thresholds thresholds;
  std::int64_t named = 0;
  std::int64_t thrown = 0;
  for (std::int64_t at = 0;; at = NextPoint(at, 4000)) {
    platform::MemoryBudget budget;
    budget.allocations_left = at;
    budget.fails_once = true;
    model::Report report;
    {
      const platform::MemoryScope scope(budget);
      try {
        report = pipeline::DiagnosePaths({Folder()}, thresholds).report;
      } catch (const std::bad_alloc&) {
        ++thrown;  // while the folder was listed: there is nothing to name yet
        continue;
      }
    }
    EXPECT_EQ(report.runs.size() + report.unread.size(), 2U) << at;
    EXPECT_GE(report.runs.size(), 1U) << at;
    named += report.unread.empty() ? 0 : 1;
    if (!budget.has_failed) break;
  }
  EXPECT_GT(named, 10);
  EXPECT_LT(thrown, named);
}

// Members of an archive, and a file: each source is in a run or named, whichever allocation fails.
TEST_F(OutOfMemoryTest, LosesNoSourceWithoutAWord) {
  std::string rows;
  for (int step = 1; step <= 10; ++step) rows += fmt::format("{{\"step\": {}, \"loss\": 2.5}}\n", step);
  Write("a.tar", TarOf({{"x/train.jsonl", rows}, {"y/train.jsonl", rows}}));
  Write("b/train.jsonl", rows);
  const std::vector<std::string> sources = {Folder() + "/a.tar/x/train.jsonl", Folder() + "/a.tar/y/train.jsonl",
                                            Folder() + "/b/train.jsonl"};
  std::int64_t named = 0;
  for (std::int64_t at = 0;; at = NextPoint(at, 4000)) {
    platform::MemoryBudget budget;
    budget.allocations_left = at;
    budget.fails_once = true;
    pipeline::Imported imported;
    try {
      const platform::MemoryScope scope(budget);
      imported = pipeline::ImportPaths({Folder()});
    } catch (const std::bad_alloc&) {
      continue;  // while the folder was listed: there is nothing to name yet
    }
    for (const std::string& source : sources) {
      const auto has = [&](const model::Run& run) {
        return std::any_of(run.sources.begin(), run.sources.end(), [&](const auto& one) { return one.path == source; });
      };
      const bool is_read = std::any_of(imported.runs.begin(), imported.runs.end(), has);
      const bool is_named = std::any_of(imported.unread.begin(), imported.unread.end(),
                                        [&](const auto& one) { return source.starts_with(one.path); });
      EXPECT_TRUE(is_read || is_named) << source << " at " << at;
      named += is_named ? 1 : 0;
    }
    if (!budget.has_failed) break;
  }
  EXPECT_GT(named, 10);
}

// While files are followed: no exception passes, and each file is in a run or named at the end.
TEST_F(OutOfMemoryTest, DoesNotEndWatching) {
  const auto grow = [&](int first, int last) {
    std::string rows;
    for (int step = first; step <= last; ++step) rows += fmt::format("{{\"step\": {}, \"loss\": 2.5}}\n", step);
    for (const char* name : {"a", "b"}) std::ofstream(Folder() + "/" + name + "/train.jsonl", std::ios::app) << rows;
  };
  const catalogue::Thresholds thresholds;
  for (std::int64_t at = 0;; at = NextPoint(at, 1000)) {
    for (const char* name : {"a", "b"}) Write(std::string(name) + "/train.jsonl", "");
    grow(1, 20);
    pipeline::Monitor monitor({Folder()}, thresholds);
    monitor.Poll();
    grow(21, 40);
    platform::MemoryBudget budget;
    budget.allocations_left = at;
    budget.fails_once = true;
    {
      const platform::MemoryScope scope(budget);
      EXPECT_NO_THROW(monitor.Poll()) << at;
    }
    monitor.Poll();
    const model::Report report = monitor.Conclude();
    EXPECT_GE(report.runs.size() + report.unread.size(), 2U) << at;
    EXPECT_GE(report.runs.size(), 1U) << at;
    if (!budget.has_failed) break;
  }
}

}  // namespace
}  // namespace vigil::ingest
