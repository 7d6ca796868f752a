// One source that takes more than its share is a failure of its own; the others are read. And memory may be out at any
// point of any reader.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "ingest/feed.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "platform/memory_budget.h"
#include "support/scratch.h"

namespace vigil::ingest {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Budget, GrowsWithTheFileAndHasAnEnd) {
  EXPECT_EQ(BudgetFor(0).memory_bytes, std::int64_t{1} << 30U);
  EXPECT_EQ(BudgetFor(std::uint64_t{100} << 20U).memory_bytes, (std::int64_t{1} << 30U) + (std::int64_t{800} << 20U));
  EXPECT_EQ(BudgetFor(~std::uint64_t{0}).memory_bytes, std::int64_t{8} << 30U);
  EXPECT_EQ(BudgetFor(0).seconds, 60);
  EXPECT_EQ(BudgetFor(10'000'000'000).seconds, 1060);
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

class BudgetTest : public ScratchTest {};

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

// Reads with the allocation that fails further and further behind, until none does.
void FailEveryAllocation(const std::string& path, bool fails_once) {
  SCOPED_TRACE(path);
  std::int64_t failures = 0;
  for (std::int64_t at = 0;; at += 1 + at / 200) {
    platform::MemoryBudget budget;
    budget.allocations_left = at;
    budget.fails_once = fails_once;
    bool is_whole = false;
    {
      const platform::MemoryScope scope(budget);
      try {
        is_whole = ReadRuns(path, formats::Formats()).has_value();
      } catch (const std::bad_alloc&) {
        // Without any memory there is none for the failure either.
        EXPECT_TRUE(!fails_once || at < 3) << at;
      }
    }
    failures += is_whole ? 0 : 1;
    if (budget.has_failed) continue;
    EXPECT_TRUE(is_whole);
    EXPECT_GT(failures, 0);
    return;
  }
}

TEST(OutOfMemory, IsAFailureAtEveryPointOfEveryReader) {
  const std::string fixtures = std::string(VIGIL_SOURCE_DIR) + "/tests/fixtures/";
  std::vector<std::string> paths;
  std::set<std::string> kinds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixtures)) {
    if (!entry.is_regular_file() || entry.file_size() > 300'000) continue;
    const auto run = ReadRuns(entry.path(), formats::Formats());
    if (!run || !kinds.insert(run->front().sources.front().format).second) continue;
    paths.push_back(entry.path());
  }
  EXPECT_GT(kinds.size(), 8U);
  for (const std::string& path : paths) {
    for (const bool fails_once : {true, false}) FailEveryAllocation(path, fails_once);
  }
}

class OutOfMemoryTest : public ScratchTest {};

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
  for (std::int64_t at = 0;; at += 1 + at / 100) {
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

}  // namespace
}  // namespace vigil::ingest
