// Archives and text of another encoding: what stands around the files that are read.
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "ingest/bytes/archive.h"
#include "ingest/bytes/utf16.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
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

TEST_F(Containers, ACutArchiveIsReadUpToTheCutAndSaidToBeDamaged) {
  const std::string archive = Member("a/train.log", LogOf(9)) + Member("b/train.log", LogOf(5, 500));
  const Imported imported = Import("runs.tar", std::string_view(archive).substr(0, 512 * 6));
  ASSERT_THAT(imported.runs, SizeIs(2));
  EXPECT_EQ(imported.runs[1].sources[0].state, model::SourceState::kPartial);
  ASSERT_THAT(imported.unread, SizeIs(1));
  EXPECT_THAT(imported.unread[0].reason, HasSubstr("Truncated"));
}

TEST_F(Containers, AnArchiveThatHoldsNothingOrIsDamagedSaysSo) {
  const Imported zip = Import("runs.zip", "PK\x03\x04 and so on, for a while");
  ASSERT_THAT(zip.unread, SizeIs(1));
  EXPECT_THAT(zip.unread[0].reason, HasSubstr("Truncated ZIP"));
  const Imported nothing = Import("notes.tar", Member("a/notes.txt", "nothing"));
  ASSERT_THAT(nothing.unread, SizeIs(1));
  EXPECT_THAT(nothing.unread[0].reason, HasSubstr("an archive with nothing in it that vigil reads"));
}

// What an archive of one kind holds, as `bsdtar` packs it: run1/metrics.jsonl.gz, run2/train.log and weights.
std::string Packed(int (*set_format)(struct archive*), int (*add_filter)(struct archive*),
                   const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out(std::size_t{1} << 20U, '\0');
  std::size_t used = 0;
  struct archive* const writer = archive_write_new();
  EXPECT_EQ(set_format(writer), ARCHIVE_OK);
  EXPECT_EQ(add_filter(writer), ARCHIVE_OK);
  EXPECT_EQ(archive_write_open_memory(writer, out.data(), out.size(), &used), ARCHIVE_OK);
  for (const auto& [name, content] : members) {
    struct archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    EXPECT_EQ(archive_write_header(writer, entry), ARCHIVE_OK);
    EXPECT_EQ(archive_write_data(writer, content.data(), content.size()), static_cast<la_ssize_t>(content.size()));
    archive_entry_free(entry);
  }
  EXPECT_EQ(archive_write_close(writer), ARCHIVE_OK);
  archive_write_free(writer);
  out.resize(used);
  return out;
}

std::string Rows(int count) {
  std::string rows;
  for (int i = 0; i < count; ++i) rows += fmt::format("{{\"step\": {}, \"loss\": {:.4f}}}\n", i, 5.0 / (i + 1));
  return rows;
}

std::string Compressed(int (*add_filter)(struct archive*), const std::string& content) {
  return Packed(archive_write_set_format_raw, add_filter, {{"data", content}});
}

std::vector<std::pair<std::string, std::string>> TwoRuns() {
  return {{"./run1/metrics.jsonl.gz", Compressed(archive_write_add_filter_gzip, Rows(60))},
          {"run1/weights.safetensors", std::string(5000, 'w')},
          {"run2/train.log", LogOf(9)}};
}

TEST_F(Containers, EveryKindOfArchiveIsReadAndCompressedFilesInsideIt) {
  struct Kind {
    const char* name;
    int (*format)(struct archive*);
    int (*filter)(struct archive*);
  };
  const std::vector<Kind> kinds = {{"runs.tar", archive_write_set_format_pax, archive_write_add_filter_none},
                                   {"runs.tar.gz", archive_write_set_format_pax, archive_write_add_filter_gzip},
                                   {"runs.tar.xz", archive_write_set_format_pax, archive_write_add_filter_xz},
                                   {"runs.tar.bz2", archive_write_set_format_pax, archive_write_add_filter_bzip2},
                                   {"runs.tar.zst", archive_write_set_format_pax, archive_write_add_filter_zstd},
                                   {"runs.zip", archive_write_set_format_zip, archive_write_add_filter_none},
                                   {"runs.7z", archive_write_set_format_7zip, archive_write_add_filter_none}};
  for (const Kind& kind : kinds) {
    const Imported imported = Import(kind.name, Packed(kind.format, kind.filter, TwoRuns()));
    ASSERT_THAT(imported.runs, SizeIs(2)) << kind.name;
    EXPECT_THAT(imported.unread, SizeIs(0)) << kind.name;
    EXPECT_EQ(imported.runs[0].Find("loss")->size(), 60U) << kind.name;
    EXPECT_EQ(imported.runs[0].sources[0].path, (Folder() + "/" + kind.name) + "/run1/metrics.jsonl.gz");
    EXPECT_EQ(imported.runs[1].sources[0].path, (Folder() + "/" + kind.name) + "/run2/train.log");
  }
}

TEST_F(Containers, AnArchiveInADirectoryIsReadLikeTheFilesBesideIt) {
  Write("all/runs.tar.xz", Packed(archive_write_set_format_pax, archive_write_add_filter_xz, TwoRuns()));
  Write("all/images.tar", Member("a.png", "xx"));
  Write("all/run3/train.log", LogOf(3));
  const Imported imported = ImportPaths({(Folder() + "/" + "all")});
  EXPECT_THAT(imported.runs, SizeIs(3));
  EXPECT_THAT(imported.unread, SizeIs(0)) << "an archive without metrics is of no use, and no failure";
}

TEST_F(Containers, ArchivesWithinArchivesAreReadToADepth) {
  std::string archive = Packed(archive_write_set_format_pax, archive_write_add_filter_gzip, TwoRuns());
  archive = Member("inner.tar.gz", archive);
  EXPECT_THAT(Import("two.tar", archive).runs, SizeIs(2));
  archive = Member("a.tar", Member("b.tar", archive));
  const Imported deep = Import("deep.tar", archive);
  EXPECT_THAT(deep.runs, SizeIs(0));
  ASSERT_THAT(deep.unread, testing::Not(SizeIs(0)));
  EXPECT_THAT(deep.unread[0].reason, HasSubstr("within 3 others"));
}

TEST_F(Containers, CompressedLogsOfOtherKindsAreExpanded) {
  const std::vector<std::pair<std::string, int (*)(struct archive*)>> kinds = {
      {"a.jsonl.xz", archive_write_add_filter_xz}, {"a.jsonl.bz2", archive_write_add_filter_bzip2}};
  for (const auto& [name, filter] : kinds) {
    const std::string packed = Compressed(filter, Rows(5000));
    const Imported whole = Import(name, packed);
    ASSERT_THAT(whole.runs, SizeIs(1)) << name;
    EXPECT_EQ(whole.runs[0].Find("loss")->size(), 5000U) << name;
    const Imported cut = Import("cut-" + name, packed.substr(0, packed.size() * 3 / 4));
    const bool said =
        cut.runs.empty() ? !cut.unread.empty() : cut.runs[0].sources[0].state == model::SourceState::kPartial;
    EXPECT_TRUE(said) << name;
  }
}

TEST_F(Containers, BombsInArchivesAreLeftWhereTheyShowThemselves) {
  const std::string blanks = Rows(10) + std::string(std::size_t{100} << 20U, ' ');
  const Imported zip =
      Import("bomb.zip", Packed(archive_write_set_format_zip, archive_write_add_filter_none, {{"a.jsonl", blanks}}));
  ASSERT_THAT(zip.runs, SizeIs(1));
  EXPECT_THAT(report::NoteText(zip.runs[0].sources[0]), HasSubstr("times its size"));
  const Imported xz = Import("bomb.jsonl.xz", Compressed(archive_write_add_filter_xz, blanks));
  ASSERT_THAT(xz.runs, SizeIs(1));
  EXPECT_THAT(report::NoteText(xz.runs[0].sources[0]), HasSubstr("times its size"));
}

TEST_F(Containers, ACompressedFileThatIsCutGivesWhatStandsBeforeTheCut) {
  const std::vector<std::pair<std::string, int (*)(struct archive*)>> kinds = {
      {"a.jsonl.xz", archive_write_add_filter_xz}, {"a.jsonl.gz", archive_write_add_filter_gzip}};
  for (const auto& [name, filter] : kinds) {
    const std::string packed = Compressed(filter, Rows(5000));
    const Imported cut = Import("cut-" + name, packed.substr(0, packed.size() * 3 / 4));
    ASSERT_THAT(cut.runs, SizeIs(1)) << name;
    EXPECT_GT(cut.runs[0].Find("loss")->size(), 2500U) << name;
    EXPECT_EQ(cut.runs[0].sources[0].state, model::SourceState::kPartial) << name;
    EXPECT_THAT(report::NoteText(cut.runs[0].sources[0]), HasSubstr("the compressed data end early")) << name;
    std::string damaged = packed;
    damaged.replace(packed.size() * 3 / 4, 16, 16, '\xEE');
    const Imported broken = Import("damaged-" + name, damaged);
    ASSERT_THAT(broken.runs, SizeIs(1)) << name;
    EXPECT_GT(broken.runs[0].Find("loss")->size(), 2500U) << name;
    EXPECT_EQ(broken.runs[0].sources[0].state, model::SourceState::kPartial) << name;
  }
}

TEST_F(Containers, ArchivesInAnArchiveShareOneBudgetOfBytes) {
  const auto zip = [](const std::vector<std::pair<std::string, std::string>>& members) {
    return Packed(archive_write_set_format_zip, archive_write_add_filter_none, members);
  };
  std::vector<std::pair<std::string, std::string>> inner;
  // Each of them is small enough to be let through alone.
  const std::string blanks(std::size_t{40} << 20U, '\n');
  for (int i = 0; i < 4; ++i)
    inner.emplace_back(fmt::format("{}.zip", i), zip({{fmt::format("run{}/a.jsonl", i), Rows(10 + i) + blanks}}));
  EXPECT_THAT(report::NoteText(Import("one.zip", zip({inner[0]})).runs.at(0).sources[0]), "");
  const Imported bomb = Import("bomb.zip", zip(inner));
  ASSERT_THAT(bomb.runs, SizeIs(2)) << "what is behind the end of the budget is not read";
  EXPECT_THAT(report::NoteText(bomb.runs[1].sources[0]), HasSubstr("times its size"));
}

TEST_F(Containers, MembersThatGiveNothingAreListedToALimitAndThenCounted) {
  std::string archive = Member("run/train.log", LogOf(9));
  for (int i = 0; i < 10'050; ++i) archive += Member(fmt::format("images/{}.png", i), "");
  const Imported imported = Import("many.tar", archive);
  EXPECT_THAT(imported.runs, SizeIs(1));
  ASSERT_THAT(imported.ignored, SizeIs(10'001));
  EXPECT_THAT(imported.ignored.back().reason, HasSubstr("50 more files in it gave nothing"));
  EXPECT_THAT(imported.unread, SizeIs(0));
}

TEST_F(Containers, OfAnEndlessNameOfAMemberTheEndIsKept) {
  std::string name;
  for (int i = 0; i < 5000; ++i) name += "deep/";
  const Imported imported = Import("names.tar", Packed(archive_write_set_format_pax, archive_write_add_filter_none,
                                                       {{name + "run/train.log", LogOf(9)}}));
  ASSERT_THAT(imported.runs, SizeIs(1));
  const std::string& path = imported.runs[0].sources[0].path;
  EXPECT_LE(path.size(), Folder().size() + std::string_view("/names.tar/").size() + 4096);
  EXPECT_THAT(path, testing::EndsWith("/deep/run/train.log"));
}

TEST_F(Containers, AnArchiveThatDidNotChangeIsNotReadAgain) {
  const std::string path = Write("runs.tar", Member("run/train.log", LogOf(9)));
  ingest::Follower follower({path}, formats::Formats());
  EXPECT_TRUE(follower.Poll());
  const std::uint64_t structure = follower.structure();
  EXPECT_FALSE(follower.Poll());
  EXPECT_EQ(follower.structure(), structure) << "opening it would have changed it";
  Write("runs.tar", Member("run/train.log", LogOf(9)) + Member("other/train.log", LogOf(5)));
  EXPECT_TRUE(follower.Poll());
  EXPECT_NE(follower.structure(), structure);
}

TEST(UnpackBudget, IsOneForAllArchives) {
  ingest::UnpackBudget budget(0);
  for (std::size_t i = 0; i + 1 < ingest::UnpackBudget::kMostMembers; ++i) ASSERT_TRUE(budget.TakeMember());
  const std::string archive = Member("a/train.log", LogOf(9)) + Member("b/train.log", LogOf(9));
  ingest::archive::Members members(std::make_unique<ingest::ResumedStream>(archive, nullptr), nullptr, "a.tar", budget);
  const auto first = members.Next();
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->name, "a/train.log");
  const auto second = members.Next();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kLimit);
}

TEST(UnpackBudget, GrowsWithTheSourceAndDoesNotOverflow) {
  ingest::UnpackBudget small(1);
  EXPECT_TRUE(small.TakeBytes(ingest::ExpansionLimit::kFreeBytes));
  EXPECT_FALSE(small.TakeBytes(1));
  ingest::UnpackBudget large(std::uint64_t{1} << 30U);
  EXPECT_TRUE(large.TakeBytes(ingest::ExpansionLimit::kMostGrowth << 30U));
  EXPECT_FALSE(large.TakeBytes(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_TRUE(large.is_out_of_bytes());
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
