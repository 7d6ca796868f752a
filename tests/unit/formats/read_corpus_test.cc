// Files of other people's runs, where they are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "report/report.h"
#include "support/paths.h"

namespace vigil::formats {
namespace {

std::vector<std::string> CorpusFiles(const char* folder) {
  const std::filesystem::path path = std::filesystem::path(testing_support::kSourceDir) / "../shared/corpus" / folder;
  std::vector<std::string> files;
  if (!std::filesystem::exists(path)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path().string());
  return files;
}

void ExpectAllRead(const char* folder, const char* format) {
  const auto files = CorpusFiles(folder);
  if (files.empty()) GTEST_SKIP() << "not run: corpus absent";
  for (const std::string& file : files) {
    const auto part = ReadFile(file);
    ASSERT_TRUE(part) << part.error().Text();
    EXPECT_EQ(part->sources[0].format, format) << file;
    EXPECT_EQ(part->sources[0].state, model::SourceState::kRead) << file << ": " << report::NoteText(part->sources[0]);
    EXPECT_FALSE(part->series.empty()) << file;
  }
}

TEST(Corpus, EveryTableIsReadToItsEnd) { ExpectAllRead("csv_metrics", "csv"); }
TEST(Corpus, EveryEventFileIsReadToItsEnd) { ExpectAllRead("tfevents", "tfevents"); }

}  // namespace
}  // namespace vigil::formats
