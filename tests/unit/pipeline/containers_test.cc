// Archives and text of another encoding: what stands around the files that are read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/ingest.h"
#include "ingest/utf16.h"
#include "pipeline/pipeline.h"
#include "support/scratch.h"

namespace vigil::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Block(std::string_view content) {
  std::string block(content);
  block.resize((content.size() + 511) / 512 * 512, '\0');
  return block;
}

// A member as tar writes it.
std::string Member(const std::string& name, std::string_view content, char kind = '0') {
  std::string header = Block(name.substr(0, 100));
  header.resize(512, '\0');
  header.replace(124, 11, fmt::format("{:011o}", content.size()));
  header[156] = kind;
  header.replace(257, 5, "ustar");
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  return header + Block(content);
}

std::string LogOf(double start, int count = 50) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("step {} loss {:.4f}\n", i, start / (i + 1));
  return text;
}

std::string Utf16(std::string_view ascii, bool big = false) {
  std::string wide;
  for (const char c : ascii) wide += big ? std::string{'\0', c} : std::string{c, '\0'};
  return wide;
}

class Containers : public ScratchTest {
 protected:
  Imported Import(const std::string& name, std::string_view content) const {
    return ImportPaths({Write(name, content)});
  }
};

TEST_F(Containers, MembersOfAnArchiveAreReadAsFiles) {
  const std::string long_name = "runs/" + std::string(120, 'd') + "/train.log";
  const std::string archive =
      Member("runs/", "", '5') + Member("runs/a/train.log", LogOf(9)) + Member("runs/weights.safetensors", "xxxx") +
      Member("././@LongLink", long_name + '\0', 'L') + Member("runs/cut", LogOf(5)) + std::string(1024, '\0');
  const Imported imported = Import("runs.tar", archive);
  ASSERT_THAT(imported.runs, SizeIs(2));
  EXPECT_EQ(imported.runs[0].name, "a");
  EXPECT_EQ(imported.runs[0].Find("loss")->size(), 50U);
  EXPECT_THAT(imported.runs[0].sources[0].path, HasSubstr("runs.tar/runs/a/train.log"));
  EXPECT_THAT(imported.runs[1].sources[0].path, HasSubstr(long_name));
}

TEST_F(Containers, ACutArchiveIsReadUpToTheCut) {
  const std::string archive = Member("a/train.log", LogOf(9)) + Member("b/train.log", LogOf(5, 500));
  const Imported imported = Import("runs.tar", std::string_view(archive).substr(0, 512 * 6));
  ASSERT_THAT(imported.runs, SizeIs(2));
  EXPECT_EQ(imported.runs[1].sources[0].state, model::SourceState::kPartial);
}

TEST_F(Containers, AnArchiveThatIsNotReadSaysWhatToDo) {
  const Imported zip = Import("runs.zip", "PK\x03\x04 and so on, for a while");
  ASSERT_THAT(zip.unread, SizeIs(1));
  EXPECT_THAT(zip.unread[0].reason, HasSubstr("a zip archive: unpack it"));
  const Imported nothing = Import("notes.tar", Member("a/notes.txt", "nothing"));
  ASSERT_THAT(nothing.unread, SizeIs(1));
  EXPECT_THAT(nothing.unread[0].reason, HasSubstr("an archive with nothing in it that vigil reads"));
}

TEST_F(Containers, Utf16IsReadInEveryFormat) {
  std::string table = "step,loss\n";
  std::string rows;
  for (int i = 0; i < 40; ++i) {
    table += fmt::format("{},{:.4f}\n", i, 5.0 / (i + 1));
    rows += fmt::format("{{\"step\": {}, \"loss\": {:.4f}}}\n", i, 5.0 / (i + 1));
  }
  const std::string mark = "\xFF\xFE";
  const std::vector<std::pair<std::string, std::string>> files = {
      {"a.csv", mark + Utf16(table)},        {"a.jsonl", mark + Utf16(rows)},
      {"a.log", mark + Utf16(LogOf(5, 40))}, {"b.log", Utf16(LogOf(5, 40))},
      {"c.log", Utf16(LogOf(5, 40), true)},  {"d.log", LogOf(5, 40).substr(0, 32) + Utf16(LogOf(5, 40).substr(32))}};
  for (const auto& [name, content] : files) {
    const Imported imported = Import(name, content);
    ASSERT_THAT(imported.runs, SizeIs(1)) << name;
    ASSERT_NE(imported.runs[0].Find("loss"), nullptr) << name;
    EXPECT_EQ(imported.runs[0].Find("loss")->size(), 40U) << name;
  }
}

TEST(Utf16, StretchesOfTwoBytesAmongOthersOfOneAreFound) {
  const std::string text = "one line\r\n" + Utf16("then another, wider\r\n") + "and back\n";
  auto stream = ingest::Utf16Stream::ForContent(text, false);
  ASSERT_TRUE(stream);
  std::string out;
  stream->Decode(text, true, out);
  EXPECT_EQ(out, "one line\r\nthen another, wider\r\nand back\n");
  EXPECT_FALSE(ingest::Utf16Stream::ForContent("plain text\n", false));
  EXPECT_FALSE(ingest::Utf16Stream::ForContent(std::string(4096, '\0'), false));
  EXPECT_FALSE(ingest::Utf16Stream::ForContent(Utf16("no mark, none wanted"), true));
}

}  // namespace
}  // namespace vigil::pipeline
