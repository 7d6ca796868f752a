// `vigil journal` as it is called: its words, its JSON, its exit codes, and what it does when nobody takes its output.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "journal/journal.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "support/shell.h"

namespace vigil::journal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing_support::Outcome;
using testing_support::QuoteForShell;
using testing_support::RunShell;
using testing_support::RunVigil;

std::string Blocks(std::size_t count) {
  std::string bytes = FileHeader();
  BlockBuilder builder;
  for (std::uint32_t block = 0; block < count; ++block) {
    if (block == 0) {
      Begin begin;
      begin.run = "a-run";
      begin.host = "box";
      begin.writer = "test";
      builder.AddBegin(begin);
      Definition definition;
      definition.name = "loss";
      builder.AddEntry(Section::kDefinitions, EncodeEntry(definition));
    }
    for (int i = 0; i < 1000; ++i)
      builder.Add(0, static_cast<std::int64_t>(block) * 1000 + i, 1.0 / (1 + i), 1000U + static_cast<std::uint64_t>(i));
    builder.Finish(block, bytes);
  }
  return bytes;
}

class JournalProgram : public ScratchTest {
 protected:
  Outcome Run(const std::string& arguments) const { return RunVigil(testing_support::kProgram, arguments + " 2>&1"); }
  std::string Damaged() const {
    std::string bytes = Blocks(3);
    bytes.replace(bytes.size() / 2, 20, "not what was written");
    return Write("damaged.vigil", bytes);
  }
};

TEST_F(JournalProgram, ChecksASoundOne) {
  const Outcome text = Run("journal check " + Write("a.vigil", Blocks(3)));
  EXPECT_EQ(text.code, 0) << text.output;
  EXPECT_THAT(text.output, AllOf(HasSubstr("a.vigil: sound, "), HasSubstr("samples 3,000"), HasSubstr("run a-run")));
  const Outcome json = Run("journal check --json " + Write("a.vigil", Blocks(3)));
  EXPECT_THAT(json.output, AllOf(HasSubstr(R"("state":"sound")"), HasSubstr(R"("cut_at":null,"closed":false})")));
}

TEST_F(JournalProgram, ACutAtTheEndIsNoDamage) {
  const std::string whole = Blocks(3);
  const std::string path = Write("a.vigil", whole.substr(0, whole.size() - 10));
  const Outcome text = Run("journal check " + path);
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.output, AllOf(HasSubstr("a.vigil: cut off, "), HasSubstr("  cut off at byte "),
                                 HasSubstr("(the process was killed or is still writing)"), Not(HasSubstr("damaged"))));
  EXPECT_THAT(Run("journal check --json " + path).output, HasSubstr(R"("state":"cut off")"));
  EXPECT_EQ(Run("journal dump " + path + " >/dev/null").code, 0);
  const Outcome repaired = Run("journal repair " + path + " --out " + Folder() + "/b.vigil");
  EXPECT_EQ(repaired.code, 0) << repaired.output;
  EXPECT_THAT(Run("journal check " + Folder() + "/b.vigil").output, HasSubstr("b.vigil: sound"));
}

TEST_F(JournalProgram, DamageIsFound) {
  const std::string path = Damaged();
  const Outcome text = Run("journal check " + path);
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.output, AllOf(HasSubstr("damaged.vigil: damaged, "), HasSubstr("  bytes ")));
  EXPECT_THAT(Run("journal check --json " + path).output, HasSubstr(R"("state":"damaged")"));
  EXPECT_EQ(Run("journal dump " + path + " >/dev/null").code, 1);
  const Outcome repaired = Run("journal repair " + path + " --out " + Folder() + "/b.vigil");
  EXPECT_EQ(repaired.code, 1);
  EXPECT_THAT(repaired.output, HasSubstr("wrote "));
  EXPECT_EQ(Run("journal check " + Folder() + "/b.vigil").code, 0);
}

TEST_F(JournalProgram, RefusesWhatIsNoJournalOrNotThere) {
  const std::string log = Write("train.log", "step 1 loss 2\n");
  for (const std::string action : {"check", "check --json", "dump"}) {
    EXPECT_EQ(Run(fmt::format("journal {} {}", action, log)).code, 2) << action;
    const Outcome missing = Run(fmt::format("journal {} {}/none.vigil", action, Folder()));
    EXPECT_EQ(missing.code, 2) << action;
    EXPECT_THAT(missing.output, HasSubstr("none.vigil: ")) << action;
  }
  EXPECT_EQ(Run(fmt::format("journal repair {} --out {}/b", log, Folder())).code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b"));
  EXPECT_THAT(Run("journal chekc " + log).output, HasSubstr("did you mean check?"));
}

TEST_F(JournalProgram, RepairLeavesNothingOfAFailure) {
  const std::string path = Write("a.vigil", Blocks(3));
  const std::string taken = Write("taken.vigil", "mine");
  EXPECT_EQ(Run("journal repair " + path + " --out " + taken).code, 2);
  EXPECT_EQ(BytesOf(taken), "mine");
  // No room: the limit on the size of a file stands in for a full disk.
  const Outcome full =
      RunShell(fmt::format("trap '' XFSZ; ulimit -f 1; {} journal repair {} --out {}/b.vigil 2>&1",
                           QuoteForShell(testing_support::kProgram), Write("big.vigil", Blocks(40)), Folder()));
  EXPECT_EQ(full.code, 2) << full.output;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("a.vigil", "taken.vigil", "big.vigil"));
}

TEST_F(JournalProgram, DumpStopsAtTheFirstErrorOfItsOutput) {
  const std::string path = Write("a.vigil", Blocks(20));
  const Outcome full = RunShell(
      fmt::format("{} journal dump {} {} 2>&1 >/dev/full", QuoteForShell(testing_support::kProgram), path, path));
  EXPECT_EQ(full.code, 2);
  EXPECT_EQ(std::count(full.output.begin(), full.output.end(), '\n'), 1) << full.output;
  const Outcome head = RunShell(fmt::format("{{ {} journal dump {} {} 2>{}/err; echo $? >{}/code; }} | head -n 1",
                                            QuoteForShell(testing_support::kProgram), path, path, Folder(), Folder()));
  EXPECT_THAT(head.output, HasSubstr(R"("record":"begin")"));
  EXPECT_EQ(BytesOf(folder_ / "code"), "0\n");
  EXPECT_THAT(BytesOf(folder_ / "err"), IsEmpty());
}

}  // namespace
}  // namespace vigil::journal
