// What becomes of the files of a folder: read, named as unread, or left aside.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "report/report.h"
#include "support/scratch.h"

namespace vigil::formats {
namespace {

using ::testing::HasSubstr;

class ReadWhatIsThere : public ScratchTest {
 protected:
  static std::string Log(int steps) {
    std::string text;
    for (int i = 1; i <= steps; ++i) text += fmt::format("step {} loss {}.25\n", i, 20 - i);
    return text;
  }
  static const model::Unread* FindUnread(const ingest::FoundParts& found, std::string_view ending) {
    const auto at = std::find_if(found.unread.begin(), found.unread.end(),
                                 [&](const model::Unread& one) { return one.path.ends_with(ending); });
    return at == found.unread.end() ? nullptr : &*at;
  }
};

TEST_F(ReadWhatIsThere, NotesAreReadWhereNothingElseHoldsMetrics) {
  Write("notes.md", "# My run\n\n" + Log(12));
  EXPECT_EQ(ingest::ReadPaths({Folder()}, Formats()).parts.size(), 1U);
  Write("train.log", Log(12));
  const auto both = ingest::ReadPaths({Folder()}, Formats());
  ASSERT_EQ(both.parts.size(), 1U) << "beside a log they may be anything";
  EXPECT_THAT(both.parts[0].sources[0].path, HasSubstr("train.log"));
}

TEST_F(ReadWhatIsThere, NotesThatQuoteALineAreNoRun) {
  Write("README.md", "Prints step 1 loss 2.5 or fails with CUDA out of memory.\n");
  EXPECT_TRUE(ingest::ReadPaths({Folder()}, Formats()).parts.empty());
}

TEST_F(ReadWhatIsThere, ALogThatGivesNothingIsNamedWithTheLineThatCameClosest) {
  Write("metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n");
  Write("odd.log", "hello\nwent from 0.25 to 0.75\nbye\n");
  const auto found = ingest::ReadPaths({Folder()}, Formats());
  EXPECT_EQ(found.parts.size(), 1U);
  const model::Unread* const unread = FindUnread(found, "odd.log");
  ASSERT_NE(unread, nullptr);
  EXPECT_THAT(report::WhyUnread(*unread), HasSubstr("went from 0.25 to 0.75"));
  EXPECT_THAT(report::WhyUnread(*unread), HasSubstr("line 2"));
}

TEST_F(ReadWhatIsThere, AFolderWithNothingReadableNamesItsFiles) {
  Write("a.txt", "hello\n");
  Write("b.safetensors", "xx");
  const auto found = ingest::ReadPaths({Folder()}, Formats());
  EXPECT_TRUE(found.parts.empty());
  EXPECT_NE(FindUnread(found, "a.txt"), nullptr);
  EXPECT_NE(FindUnread(found, "b.safetensors"), nullptr);
}

TEST_F(ReadWhatIsThere, AFileThatIsNamedIsReadWhateverItsEnding) {
  for (const char* name : {"few.md", "few.py", "few.dat", "few"}) {
    const std::string path = Write(name, Log(3));
    EXPECT_EQ(ingest::ReadPaths({path}, Formats()).parts.size(), 1U) << name;
  }
}

}  // namespace
}  // namespace vigil::formats
