// Documents stay correct: what they name exists, and what they show is what vigil prints.
#include "documents.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "catalogue/catalogue.h"
#include "support/paths.h"
#include "support/shell.h"
#include "tree.h"

namespace vigil::structure {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing_support::QuoteForShell;
using testing_support::RunShell;
using testing_support::RunVigil;

std::vector<fs::path> Documents() {
  std::vector<fs::path> documents = {"README.md",    "ARCHITECTURE.md", "CONTRIBUTING.md",
                                     "CHANGELOG.md", "SECURITY.md",     "doc/glossary.md"};
  for (const char* folder : {"doc/guide", "doc/decisions", "bench"}) {
    for (const fs::path& path : FilesBelow(folder, {".md"})) {
      // Pages made from the rows quote names of other people's metrics.
      if (path.string().find("/reference/") == std::string::npos) documents.push_back(path);
    }
  }
  return documents;
}

const Known& KnownThings() {
  static const Known known = [] {
    Known made;
    made.make_targets = MakeTargets(ReadText(InTree("Makefile")));
    made.presets = PresetNames(ReadText(InTree("CMakePresets.json")));
    for (const std::string& id : catalogue::AllIds()) made.ids.insert(id);
    made.exists = [](const std::string& path) { return fs::exists(InTree(path)); };
    const std::string help = RunVigil(testing_support::kProgram, "--help 2>&1").output;
    made.commands[""] = OptionsIn(help);
    for (const std::string& command : SubcommandsIn(help)) {
      made.commands[command] = OptionsIn(RunVigil(testing_support::kProgram, command + " --help 2>&1").output);
    }
    return made;
  }();
  return known;
}

TEST(Documents, AreThere) {
  for (const fs::path& path : Documents()) EXPECT_FALSE(ReadText(InTree(path)).empty()) << path;
}

TEST(Documents, NameOnlyWhatExists) {
  for (const fs::path& path : Documents()) {
    for (const Span& span : SpansOf(ReadText(InTree(path)))) {
      const auto problem = Judge(KnownThings(), span.text);
      EXPECT_FALSE(problem) << path.string() << ":" << span.line << ": `" << span.text << "`: " << *problem;
    }
  }
}

TEST(Documents, ShowInGeneratedExamplesWhatVigilPrints) {
  for (const fs::path& path : Documents()) {
    std::string document = ReadText(InTree(path));
    const std::vector<Example> examples = ExamplesOf(document);
    // From the last to the first, so that a rewritten example does not move those still to come.
    for (auto example = examples.rbegin(); example != examples.rend(); ++example) {
      const std::string program = fmt::format("cd {} && exec {}", QuoteForShell(testing_support::kSourceDir),
                                              QuoteForShell(testing_support::kProgram));
      const std::string output =
          RunShell(fmt::format("env -u COLUMNS LC_ALL=C.UTF-8 TERM=dumb sh -c {} 2>&1 </dev/null",
                               QuoteForShell(program + " " + example->arguments)))
              .output;
      const std::string expected = ShownPart(*example, output);
      if (Rewriting()) {
        document.replace(example->from, example->shown.size(), expected);
      } else {
        EXPECT_EQ(example->shown, expected)
            << path << ": vigil " << example->arguments << "\n`make golden` rewrites it";
      }
    }
    if (Rewriting()) std::ofstream(InTree(path), std::ios::binary) << document;
  }
}

Known Sample() {
  Known known;
  known.make_targets = {"test", "demo"};
  known.presets = {"dev"};
  known.ids = {"loss/spike", "lr-too-high"};
  known.commands = {{"", {"--help"}}, {"diagnose", {"--json"}}, {"explain", {}}};
  known.exists = [](const std::string& path) { return path == "src" || path == "src/base" || path == "README.md"; };
  return known;
}

TEST(DocumentsCheck, AcceptsWhatExists) {
  for (const char* span :
       {"make test", "make demo JOBS=1", "vigil", "vigil diagnose PATH --json", "vigil explain loss/spike", "src/base",
        "src/<module>/x.h", "loss/spike", "loss/*", "README.md", "trainer_state.json", "train/loss",
        "cmake --preset dev", "--json", "build/release/vigil diagnose --help", "Result<T>", "a / b"}) {
    EXPECT_EQ(Judge(Sample(), span), std::nullopt) << span;
  }
}

TEST(DocumentsCheck, SeesWhatDoesNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"make tea", "no target tea"},
      {"vigil brew", "no subcommand brew"},
      {"vigil diagnose --fast", "no option --fast"},
      {"vigil explain loss/spke", "no id loss/spke"},
      {"src/bse", "no src/bse in the tree"},
      {"src/bse/<file>", "no src/bse in the tree"},
      {"loss/spke", "no id loss/spke"},
      {"MISSING.md", "no MISSING.md"},
      {"cmake --preset devel", "no preset devel"},
      {"--fast", "no command of vigil has the option"},
      {"cat src/bse", "no src/bse in the tree"},
  };
  for (const auto& [span, complaint] : cases) {
    const auto problem = Judge(Sample(), span);
    EXPECT_TRUE(problem && problem->find(complaint) != std::string::npos)
        << span << ": " << problem.value_or("(accepted)");
  }
}

TEST(DocumentsCheck, LooksIntoBackticksAndShellBlocks) {
  const auto spans = SpansOf(
      "see `a` and `b c`\n```sh\nmake test   # all\n```\n```console\n$ vigil x\noutput `y`\n```\n```\n`z`\n```\n`d`\n");
  std::vector<std::string> texts;
  for (const Span& span : spans) texts.push_back(fmt::format("{}:{}", span.line, span.text));
  EXPECT_THAT(texts, ElementsAre("1:a", "1:b c", "3:make test", "6:vigil x", "12:d"));
}

TEST(DocumentsCheck, TakesTheShownPartOfAnExample) {
  const auto examples = ExamplesOf("```console\n$ vigil a b\none\ntwo\n...\n```\n```console\n$ vigil c\nall\n```\n");
  ASSERT_EQ(examples.size(), 2U);
  EXPECT_EQ(examples[0].arguments, "a b");
  EXPECT_EQ(ShownPart(examples[0], "1\n2\n3\n"), "1\n2\n...\n");
  EXPECT_EQ(ShownPart(examples[1], "1\n2\n3\n"), "1\n2\n3\n");
}

TEST(DocumentsCheck, ReadsTargetsPresetsAndHelp) {
  EXPECT_THAT(MakeTargets("all: x\n\techo a: b\ntest: ## run\n.PHONY: z\n"), ElementsAre("all", "test"));
  EXPECT_THAT(PresetNames(R"({"name": "dev", "x": {"name": "lint"}})"), ElementsAre("dev", "lint"));
  const char* help = "Usage\nOptions:\n  -h,--help  Print\n\nSubcommands:\n  diagnose   Say what\n  explain    Page\n";
  EXPECT_THAT(SubcommandsIn(help), ElementsAre("diagnose", "explain"));
  EXPECT_THAT(OptionsIn(help), ElementsAre("--help"));
}

}  // namespace
}  // namespace vigil::structure
