#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catalogue/says.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "report/report.h"
#include "support/why.h"

namespace vigil::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A made-up format of whole lines, each one number, to see what the driver hands over.
class LineReader : public Reader {
 public:
  explicit LineReader(PartBuilder& builder) : builder_(builder) {}

  std::size_t Consume(std::string_view bytes, bool last) override {
    std::size_t done = 0;
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', done)) {
      Take(bytes.substr(done, end - done));
      done = end + 1;
    }
    if (last && done < bytes.size()) builder_.ReportDamage(says::DamageCutRow{.line = 4});
    return done;
  }

 private:
  void Take(std::string_view line) {
    if (const auto value = ParseNumber(line)) builder_.Add(builder_.OpenSeries("loss"), ++row_, *value);
  }

  PartBuilder& builder_;
  std::int64_t row_ = 0;
};

const Format kLines = {
    "lines", "list of numbers", [](const Probe&) { return 0; },
    [](PartBuilder& builder) -> std::unique_ptr<Reader> { return std::make_unique<LineReader>(builder); }};

TEST(ReadBytes, GivesTheSamePartInPiecesOfAnySize) {
  for (const std::size_t piece : std::vector<std::size_t>{0, 1, 2, 3, 7, 100}) {
    const auto part = ReadBytes("a.txt", "1\n22\n333\n4", kLines, piece);
    ASSERT_TRUE(part) << part.error().Text();
    EXPECT_THAT(part->series.at(0).values, ElementsAre(1, 22, 333)) << piece;
    EXPECT_EQ(part->sources.at(0).state, model::SourceState::kPartial);
    EXPECT_EQ(report::NoteText(part->sources.at(0)), "line 4: the last row is cut");
  }
}

TEST(ReadBytes, FailsWithFileAndReasonWhenNothingCouldBeUsed) {
  const auto part = ReadBytes("some/a.txt", "words\nonly", kLines);
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error().Text(), HasSubstr("some/a.txt: list of numbers"));
  EXPECT_THAT(WhyNot(part.error()), HasSubstr("the last row is cut"));
  EXPECT_FALSE(ReadBytes("a.txt", "", kLines));
}

// A folder of its own for each test, removed afterwards.
class ReadFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "vigil_read_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  static std::string MessageFor(const std::string& path) {
    const auto part = formats::ReadFile(path);
    return part ? "was read" : part.error().Text();
  }

  std::filesystem::path folder_;
};

TEST_F(ReadFileTest, RefusesWhatIsNoFileOrEmptyWithItsNameAndTheReason) {
  EXPECT_THAT(MessageFor(folder_ / "absent"), HasSubstr("absent: cannot be opened: No such file"));
  EXPECT_THAT(MessageFor(folder_), HasSubstr("is a folder"));
  EXPECT_THAT(MessageFor(Write("empty.csv", "")), HasSubstr("empty.csv: empty file"));
  const std::string fifo = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(MessageFor(fifo), HasSubstr("is not a regular file"));
}

// Root may read everything: a child that is nobody may not.
TEST_F(ReadFileTest, RefusesAnUnreadableFile) {
  const std::string path = Write("secret.csv", "step,loss\n1,2\n");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  constexpr uid_t kNobody = 65534;
  const auto refuses = [&] {
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) std::_Exit(3);
    std::_Exit(MessageFor(path).find("Permission denied") != std::string::npos ? 0 : 4);
  };
  EXPECT_EXIT(refuses(), testing::ExitedWithCode(0), "");
}

TEST_F(ReadFileTest, RefusesAGigabyteOfZerosByItsBeginning) {
  const std::string path = Write("zeros", "");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 30U);
  EXPECT_THAT(MessageFor(path), HasSubstr("nothing but zero bytes"));
}

TEST_F(ReadFileTest, RefusesContentOfNoKnownKind) {
  EXPECT_THAT(MessageFor(Write("weights.bin", std::string("\x93NUMPY\x01\0\x03\x04", 10))), HasSubstr("of no kind"));
}

}  // namespace
}  // namespace vigil::ingest
