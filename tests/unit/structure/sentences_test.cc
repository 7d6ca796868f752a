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

// Modules that hold no sentence. `guard` is none of them: its notes are recorded inside the training process, which has
// no templates to render, and its errors are about a file of the user.
constexpr std::array<std::string_view, 6> kWithoutSentences = {"assemble", "detect", "diagnose",
                                                               "identify", "model",  "stats"};

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
