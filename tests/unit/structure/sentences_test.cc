// Only report makes sentences: modules below it give data (model::Statement), whose words are in the rows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "tree.h"

namespace vigil::structure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Modules that hold no sentence at all.
constexpr std::array<std::string_view, 7> kWithoutSentences = {"assemble", "detect",    "diagnose", "identify",
                                                               "model",    "preflight", "stats"};
// The other modules below report. They hold texts that are searched for in logs, and messages of errors; what they note
// about a file, and what an event says, is a statement.
constexpr std::array<std::string_view, 15> kWithErrorsOnly = {
    "base",    "platform", "catalogue", "codec",    "journal", "ingest", "configfile", "hyperparams",
    "tabular", "textlog",  "formats",   "pipeline", "record",  "guard",  "fix"};
// These record into a file from inside the training process, which has no templates to render: readers quote them.
constexpr std::array<std::string_view, 3> kRecorded = {"src/guard/guard.cc", "src/journal/mover.cc",
                                                       "src/journal/inspect.cc"};

// Texts that training programs print, and that are searched for in what was quoted of their logs.
constexpr std::array<std::string_view, 2> kTextsOfLogs = {"Tried to allocate", "total capacity of"};

// Three words or more; signs alone are none.
bool IsSentence(std::string_view text) {
  int words = 0;
  bool in_word = false;
  for (const char c : text) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    words += is_letter && !in_word ? 1 : 0;
    in_word = c != ' ' && (in_word || is_letter);
  }
  const bool of_logs = std::find(kTextsOfLogs.begin(), kTextsOfLogs.end(), text) != kTextsOfLogs.end();
  return words >= 3 && !of_logs;
}

std::vector<std::string> SentencesIn(const std::string& file, std::string_view source) {
  std::vector<std::string> offences;
  for (const Include& include : IncludesOf(source)) {
    if (include.path.starts_with("fmt/"))
      offences.push_back(fmt::format("{}:{}: text is formatted in report only", file, include.line));
  }
  for (const Literal& literal : LiteralsOf(source)) {
    if (IsSentence(literal.text))
      offences.push_back(fmt::format("{}:{}: a sentence belongs in a row: \"{}\"", file, literal.line, literal.text));
  }
  return offences;
}

TEST(Sentences, AreMadeInReportOnly) {
  for (const std::string_view module : kWithoutSentences) {
    const auto files = FilesBelow("src/" + std::string(module), {".cc", ".h"});
    EXPECT_FALSE(files.empty()) << module;
    for (const auto& file : files) EXPECT_THAT(SentencesIn(file, ReadText(InTree(file))), IsEmpty());
  }
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The message of an Error, or of the exception that stands for a mistake in our own code.
bool IsOfError(std::string_view before) {
  constexpr std::array<std::string_view, 9> kErrors = {"Fail(",     "Error", "ReadFailure", "Break(",        "Refuse(",
                                                       "OnDamage(", "throw", "problem",     "static_assert("};
  return std::any_of(kErrors.begin(), kErrors.end(), [&](std::string_view sign) { return Contains(before, sign); });
}

// A sentence that is formatted, or put into an event or a note.
std::vector<std::string> SentencesMadeIn(const std::string& file, std::string_view source) {
  constexpr std::array<std::string_view, 5> kMaking = {"fmt::", ".text =", ".note", "Note(", "Damage("};
  std::vector<std::string> offences;
  for (const Literal& literal : LiteralsOf(source)) {
    const auto is_before = [&](std::string_view sign) { return Contains(literal.before, sign); };
    if (IsSentence(literal.text) && std::any_of(kMaking.begin(), kMaking.end(), is_before) &&
        !IsOfError(literal.before) && !literal.text.starts_with("SELECT "))
      offences.push_back(fmt::format("{}:{}: a sentence belongs in a row: \"{}\"", file, literal.line, literal.text));
  }
  return offences;
}

TEST(Sentences, BelowReportAreMessagesOfErrorsOnly) {
  for (const std::string_view module : kWithErrorsOnly) {
    const auto files = FilesBelow("src/" + std::string(module), {".cc", ".h"});
    EXPECT_FALSE(files.empty()) << module;
    for (const auto& file : files) {
      if (std::find(kRecorded.begin(), kRecorded.end(), file) != kRecorded.end()) continue;
      EXPECT_THAT(SentencesMadeIn(file, ReadText(InTree(file))), IsEmpty());
    }
  }
}

// A new module below report is in one of the lists.
TEST(Sentences, EveryModuleBelowReportIsChecked) {
  for (const Module& module : ReadLayers().modules) {
    if (module.name == "report") return;
    const bool is_listed = std::count(kWithoutSentences.begin(), kWithoutSentences.end(), module.name) +
                               std::count(kWithErrorsOnly.begin(), kWithErrorsOnly.end(), module.name) >
                           0;
    EXPECT_TRUE(is_listed) << module.name;
  }
  ADD_FAILURE() << "there is no module called report";
}

TEST(SentencesCheck, SeesASentenceThatIsFormattedOrPutIntoAnEvent) {
  EXPECT_THAT(
      SentencesMadeIn("src/formats/a.cc",
                      "builder.AddNote(fmt::format(\"{} rows left out\", 3)); event.text = \"the run ended\";\n"),
      testing::SizeIs(2));
}

TEST(SentencesCheck, LeavesMessagesOfErrorsAndTextsThatAreSearchedFor) {
  EXPECT_THAT(SentencesMadeIn("src/formats/a.cc",
                              "return Fail(ErrorCode::kIo, fmt::format(\"cannot be read: {}\", why)); "
                              "if (Contains(line, \"the above exception\")) return;\n"),
              IsEmpty());
}

TEST(SentencesCheck, SeesALiteralOfThreeWordsAndAFormatter) {
  EXPECT_THAT(SentencesIn("src/detect/a.cc", "#include <fmt/format.h>\nconst char* a = \"loss went up\";\n"),
              ElementsAre(HasSubstr("a.cc:1: text is formatted"), HasSubstr("a.cc:2: a sentence belongs in a row")));
}

TEST(SentencesCheck, LeavesNamesCommentsAndTextsOfLogs) {
  EXPECT_THAT(SentencesIn("src/detect/a.cc",
                          "// \"loss went up\" is no literal\nauto a = Find(\"loss\"); auto b = '\"';\n"
                          "constexpr int kMany = 1'000'000;\nauto c = text.find(\"Tried to allocate\");\n"),
              IsEmpty());
}

}  // namespace
}  // namespace vigil::structure
