// Digits become numbers in base only: readers that had ways of their own differed in what they took, and each was made
// fast, and right at the limits, again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tree.h"

namespace vigil::structure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

bool IsNameChar(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; }

// Calls of what reads numbers in the standard libraries; comments may name it.
std::vector<std::string> NumberReadersIn(const std::string& file, std::string_view source) {
  constexpr std::array<std::string_view, 17> kReaders = {
      "from_chars", "strtod", "strtof", "strtold", "strtol", "strtoll", "strtoul", "strtoull", "stod",
      "stof",       "stold",  "stoi",   "stol",    "stoll",  "stoull",  "atof",    "sscanf"};
  std::vector<std::string> offences;
  int line_number = 0;
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    std::string_view line = source.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    line = line.substr(0, line.find("//"));
    for (const std::string_view reader : kReaders) {
      const std::size_t at = line.find(std::string(reader) + "(");
      if (at == std::string_view::npos || (at > 0 && IsNameChar(line[at - 1]))) continue;
      offences.push_back(fmt::format("{}:{}: {} where base has ParseNumber, ParseInteger, ParseHex and TakeDecimal",
                                     file, line_number, reader));
    }
  }
  return offences;
}

TEST(Numbers, AreReadByBaseOnly) {
  for (const char* folder : {"src", "apps"}) {
    for (const auto& file : FilesBelow(folder, {".cc", ".h"})) {
      if (file.string().starts_with("src/base/")) continue;
      EXPECT_THAT(NumberReadersIn(file, ReadText(InTree(file))), IsEmpty());
    }
  }
}

TEST(NumbersCheck, SeesACallAndNotANameOrAComment) {
  EXPECT_THAT(NumberReadersIn("src/a.cc",
                              "// strtod(text)\nauto a = std::from_chars(b, e, v);\nauto s = my_stod(t);\n"
                              "double d = std::stod(text);  // stof(x)\n"),
              ElementsAre(HasSubstr("a.cc:2: from_chars"), HasSubstr("a.cc:4: stod")));
}

}  // namespace
}  // namespace vigil::structure
