// Files that claim to be journals and are not, or not quite: each is reported with name and place, and costs next to
// nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "journal/journal.h"
#include "pipeline/pipeline.h"
#include "platform/process.h"
#include "report/report.h"

namespace vigil::formats {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CraftedJournal : public testing::Test {
 protected:
  CraftedJournal() : folder_(fs::temp_directory_path() / fmt::format("vigil_crafted_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~CraftedJournal() override { fs::remove_all(folder_); }

  std::string Path() const { return (folder_ / "rank-0.vigil").string(); }
  void Write(std::string_view bytes) const { std::ofstream(Path(), std::ios::binary) << bytes; }
  // A block of ten samples of the series "loss", with that number.
  static std::string Block(std::uint32_t number) {
    journal::BlockBuilder builder;
    journal::Definition definition;
    definition.name = "loss";
    builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(definition));
    for (std::int64_t step = 0; step < 10; ++step) builder.Add(0, 10 * number + step, 2.0, 5);
    std::string bytes;
    builder.Finish(number, bytes);
    return bytes;
  }

  fs::path folder_;
};

TEST_F(CraftedJournal, AGigabyteOfZerosIsNoJournal) {
  Write("");
  fs::resize_file(Path(), std::uintmax_t{1} << 30U);
  const std::uint64_t before = platform::ResidentBytes();
  const pipeline::Imported imported = pipeline::ImportPaths({Path()});
  EXPECT_THAT(imported.runs, IsEmpty());
  ASSERT_THAT(imported.unread, SizeIs(1));
  EXPECT_EQ(imported.unread[0].path, Path());
  EXPECT_THAT(imported.unread[0].reason, HasSubstr("nothing but zero bytes"));
  EXPECT_LT(platform::ResidentBytes(), before + (std::uint64_t{256} << 20U));
}

// Damage of any size is passed in bounded memory, and what stands behind it is read.
TEST_F(CraftedJournal, ZerosBetweenTwoBlocksArePassedOver) {
  constexpr std::uintmax_t kHole = std::uintmax_t{256} << 20U;
  const std::string head = journal::FileHeader() + Block(0);
  Write(head);
  fs::resize_file(Path(), head.size() + kHole);
  std::ofstream(Path(), std::ios::binary | std::ios::app) << Block(2);
  const std::uint64_t before = platform::ResidentBytes();
  const pipeline::Imported imported = pipeline::ImportPaths({Path()});
  EXPECT_LT(platform::ResidentBytes(), before + (std::uint64_t{128} << 20U));
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].Find("loss")->size(), 20U);
  EXPECT_THAT(report::NoteText(imported.runs[0].sources[0]), HasSubstr(fmt::format("byte {}", head.size())));
  EXPECT_THAT(report::NoteText(imported.runs[0].sources[0]), HasSubstr("1 blocks missing"));
}

TEST_F(CraftedJournal, TheSameBlockTwiceIsNotReadAsNews) {
  Write(journal::FileHeader() + Block(0) + Block(0) + Block(1));
  const pipeline::Imported imported = pipeline::ImportPaths({Path()});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].Find("loss")->size(), 20U);
  EXPECT_THAT(report::NoteText(imported.runs[0].sources[0]), HasSubstr("was there before"));
  EXPECT_EQ(imported.runs[0].Find("loss")->steps.back(), 19);
}

TEST_F(CraftedJournal, AHeaderAloneOrAnEmptyFileGivesNoSeries) {
  for (const std::string& bytes : {std::string(), journal::FileHeader(), journal::FileHeader().substr(0, 9)}) {
    Write(bytes);
    for (const model::Run& run : pipeline::ImportPaths({Path()}).runs)
      EXPECT_THAT(run.series, IsEmpty()) << bytes.size();
  }
}

TEST_F(CraftedJournal, AFolderOfThatNameIsLookedInto) {
  fs::create_directories(Path());
  EXPECT_THAT(pipeline::ImportPaths({folder_.string()}).runs, IsEmpty());
}

TEST_F(CraftedJournal, ADamagedBeginningIsReportedAndTheBlocksAreRead) {
  for (const std::size_t at : {0U, 5U, 8U, 13U}) {
    std::string bytes = journal::FileHeader() + Block(0) + Block(1);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x81);
    Write(bytes);
    const pipeline::Imported imported = pipeline::ImportPaths({Path()});
    ASSERT_THAT(imported.runs, SizeIs(1)) << at;
    EXPECT_EQ(imported.runs[0].Find("loss")->size(), 20U);
    EXPECT_THAT(report::NoteText(imported.runs[0].sources[0]), HasSubstr("byte 0: a damaged beginning"));
  }
}

// Root may read everything: a child that is nobody may not.
TEST_F(CraftedJournal, OneThatMayNotBeReadIsNamed) {
  Write(journal::FileHeader() + Block(0));
  ::chmod(Path().c_str(), 0);
  constexpr uid_t kNobody = 65534;
  const auto refuses = [&] {
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) std::_Exit(3);
    const pipeline::Imported imported = pipeline::ImportPaths({Path()});
    const bool named = imported.unread.size() == 1 && imported.unread[0].path == Path();
    std::_Exit(named && imported.unread[0].reason.find("Permission denied") != std::string::npos ? 0 : 4);
  };
  EXPECT_EXIT(refuses(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace vigil::formats
