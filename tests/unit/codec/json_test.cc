#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/base.h"
#include "codec/codec.h"

namespace vigil::codec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Describe(JsonToken token, const JsonScanner& scanner) {
  switch (token) {
    case JsonToken::kObjectBegin:
      return "{";
    case JsonToken::kObjectEnd:
      return "}";
    case JsonToken::kArrayBegin:
      return "[";
    case JsonToken::kArrayEnd:
      return "]";
    case JsonToken::kKey:
      return std::string(scanner.text()) + ":";
    case JsonToken::kString:
      return '"' + std::string(scanner.text()) + '"';
    case JsonToken::kNumber:
      return FormatExact(scanner.number());
    case JsonToken::kTrue:
      return "true";
    case JsonToken::kFalse:
      return "false";
    case JsonToken::kNull:
      return "null";
    case JsonToken::kNeedMore:
      return "more";
    case JsonToken::kEnd:
      return "end";
    case JsonToken::kBroken:
      return "broken: " + std::string(scanner.problem());
  }
  return "?";
}

// All tokens, handed over in pieces that grow by `piece` bytes.
std::vector<std::string> Tokens(std::string_view text, std::size_t piece = std::string_view::npos) {
  JsonScanner scanner;
  std::vector<std::string> tokens;
  std::size_t begin = 0;
  std::size_t end = std::min(piece, text.size());
  scanner.Continue(text.substr(0, end), end == text.size());
  for (;;) {
    const JsonToken token = scanner.Next();
    if (token == JsonToken::kNeedMore) {
      begin += scanner.consumed();
      end = std::min(text.size(), end + piece);
      scanner.Continue(text.substr(begin, end - begin), end == text.size());
      continue;
    }
    tokens.push_back(Describe(token, scanner));
    if (token >= JsonToken::kEnd) return tokens;
  }
}

std::string Problem(std::string_view text) { return Tokens(text).back(); }

TEST(JsonScanner, TakesADocumentApart) {
  EXPECT_THAT(Tokens(R"({"loss": 1.5, "done":true,"tags":["a",{}, []], "none":null, "off":false})"),
              ElementsAre("{", "loss:", "1.5", "done:", "true", "tags:", "[", "\"a\"", "{", "}", "[", "]", "]",
                          "none:", "null", "off:", "false", "}", "end"));
  EXPECT_THAT(Tokens(" 3 "), ElementsAre("3", "end"));
  EXPECT_THAT(Tokens("\"\""), ElementsAre("\"\"", "end"));
}

TEST(JsonScanner, ReadsWhatPythonWritesForNonFiniteNumbers) {
  EXPECT_THAT(Tokens("[NaN, Infinity, -Infinity, nan, inf, -inf]"),
              ElementsAre("[", "nan", "inf", "-inf", "nan", "inf", "-inf", "]", "end"));
}

TEST(JsonScanner, TakesNumbersThatOverflowAsInfinite) {
  EXPECT_THAT(Tokens("[1e999, -1e999, 1e-999, 123456789012345678901234567890]"),
              ElementsAre("[", "inf", "-inf", "0", "1.2345678901234568e+29", "]", "end"));
  EXPECT_THAT(Tokens('[' + std::string(5000, '9') + ']'), ElementsAre("[", "inf", "]", "end"));
}

TEST(JsonScanner, RefusesNumbersWithLeadingZerosAsOtherReadersDo) {
  for (const char* text : {"[01]", "[-01]", "[00]", "[0, 007.5]"})
    EXPECT_EQ(Problem(text), "broken: expected a number");
  EXPECT_THAT(Tokens("[0, -0, 0.5, -0.25, 0e1, 10]"),
              ElementsAre("[", "0", "-0", "0.5", "-0.25", "0", "10", "]", "end"));
}

TEST(JsonScanner, StopsAtTheEndOfTheDocumentWhateverFollows) {
  const std::string_view text = "{\"a\":1} trailing";
  JsonScanner scanner(text);
  while (scanner.Next() != JsonToken::kEnd) {
  }
  EXPECT_EQ(text.substr(scanner.consumed()), " trailing");
  EXPECT_EQ(scanner.Next(), JsonToken::kEnd);
}

TEST(JsonScanner, SaysWhatIsWrong) {
  EXPECT_EQ(Problem(""), "broken: the text ends before the document does");
  EXPECT_EQ(Problem("{\"a\": 1"), "broken: the text ends inside the document");
  EXPECT_EQ(Problem("{\"a\" 1}"), "broken: expected ':' after a key");
  EXPECT_EQ(Problem("{a: 1}"), "broken: expected a key in quotes");
  EXPECT_EQ(Problem("[1 2]"), "broken: expected ',' or ']'");
  EXPECT_EQ(Problem("{\"a\":1 \"b\":2}"), "broken: expected ',' or '}'");
  EXPECT_EQ(Problem("[1,]"), "broken: expected a value");
  EXPECT_EQ(Problem("{\"a\":1,}"), "broken: expected a key in quotes");
  EXPECT_EQ(Problem("[1.2.3]"), "broken: expected a number");
  EXPECT_EQ(Problem("[-]"), "broken: expected a number");
  EXPECT_EQ(Problem("[12abc]"), "broken: expected a number");
  EXPECT_EQ(Problem("[nope]"), "broken: expected a value");
  EXPECT_EQ(Problem("[nullx]"), "broken: expected a value");
  EXPECT_EQ(Problem("]"), "broken: expected a value");
  EXPECT_EQ(Problem("[}"), "broken: expected a value");
  EXPECT_THAT(Problem("[\"a\nb\"]"), StartsWith("broken: control character inside a string"));
  EXPECT_THAT(Problem("{\"a\nb\":1}"), StartsWith("broken: control character inside a key"));
  EXPECT_THAT(Problem(std::string_view("[\0]", 3)), StartsWith("broken: expected a value"));
}

TEST(JsonScanner, KeepsSayingSo) {
  JsonScanner scanner("[1 2]");
  while (scanner.Next() != JsonToken::kBroken) {
  }
  EXPECT_EQ(scanner.Next(), JsonToken::kBroken);
  EXPECT_EQ(scanner.consumed(), 3U);
}

TEST(JsonScanner, RefusesEndlessNestingWithoutAnyRecursion) {
  EXPECT_THAT(Problem(std::string(100'000, '[')), HasSubstr("nested deeper than 512 levels"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(Problem(objects), HasSubstr("nested deeper than 512 levels"));
  const std::string deep = std::string(JsonScanner::kMaxDepth, '[') + std::string(JsonScanner::kMaxDepth, ']');
  EXPECT_EQ(Problem(deep), "end");
}

TEST(JsonScanner, CountsLines) {
  JsonScanner scanner("{\n  \"a\": 1,\r\n\n  \"b\": [\n    2\n  ]\n}");
  std::vector<std::uint32_t> lines;
  for (JsonToken token = scanner.Next(); token < JsonToken::kNeedMore; token = scanner.Next())
    lines.push_back(scanner.line());
  EXPECT_THAT(lines, ElementsAre(1, 2, 2, 4, 4, 5, 6, 7));
}

TEST(JsonScanner, KeepsEscapesAsWrittenAndFindsTheEndOfTheString) {
  EXPECT_THAT(Tokens(R"(["a\"b\\", "\\"])"), ElementsAre("[", R"("a\"b\\")", R"("\\")", "]", "end"));
  EXPECT_EQ(Problem("[\"abc\\\"]"), "broken: the text ends inside the document");
}

TEST(JsonScanner, LetsBrokenUtf8InStringsPass) {
  EXPECT_THAT(Tokens("[\"\xff\xfe\x80\"]"), ElementsAre("[", "\"\xff\xfe\x80\"", "]", "end"));
}

constexpr std::string_view kSample =
    "{\n  \"log_history\": [\n    {\"loss\": -1.25e-05, \"grad_norm\": NaN, \"s\": \"a\\\"b, ]}\"},\n"
    "    {\"loss\": -Infinity, \"x\": [1, [2, {\"y\": null}], true], \"long key with spaces\": 1e+3}\n  ],\n"
    "  \"empty\": {}, \"list\": [], \"f\": false\n}\n";

TEST(JsonScanner, GivesTheSameTokensInPiecesOfAnySize) {
  const auto whole = Tokens(kSample);
  EXPECT_EQ(whole.back(), "end");
  for (std::size_t piece = 1; piece < kSample.size(); ++piece) EXPECT_EQ(Tokens(kSample, piece), whole) << piece;
}

// Nothing of a cut text is misread: all tokens but the last are those of the whole, and a number is never half a
// number.
TEST(JsonScanner, GivesTheTokensBeforeTheCutWhereverTheTextIsCut) {
  auto whole = Tokens(kSample);
  for (std::size_t cut = 0; cut < kSample.size() - 1; ++cut) {
    auto tokens = Tokens(kSample.substr(0, cut));
    ASSERT_THAT(tokens.back(), StartsWith("broken")) << cut;
    tokens.pop_back();
    ASSERT_LT(tokens.size(), whole.size());
    // What stands at the very end of a cut text can be the beginning of a longer number or word.
    if (!tokens.empty()) tokens.pop_back();
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole.begin())) << cut;
  }
}

TEST(JsonScanner, PassesOverWhatIsOpen) {
  JsonScanner scanner(R"({"skip": [1, {"a": [2]}, 3], "keep": 4})");
  while (scanner.Next() != JsonToken::kArrayBegin) {
  }
  EXPECT_EQ(scanner.SkipTo(1), JsonToken::kArrayEnd);
  EXPECT_EQ(scanner.Next(), JsonToken::kKey);
  EXPECT_EQ(scanner.text(), "keep");
}

TEST(JsonScanner, TakesAKeyThatStandsAsOneBefore) {
  JsonKeyText first;
  JsonKeyText second;
  JsonScanner learner("{\n \"a\": 1,\n \"b\" : 2}");
  learner.Next();
  learner.Next();
  learner.CopyKeyText(first);
  learner.Next();
  learner.Next();
  learner.CopyKeyText(second);
  EXPECT_EQ(second.text, ",\n \"b\" :");
  EXPECT_EQ(second.lines, 1U);

  JsonScanner scanner("{\n \"a\": 3,\n \"b\" : 4}");
  EXPECT_FALSE(scanner.TakeKey(first)) << "no object is open yet";
  scanner.Next();
  EXPECT_FALSE(scanner.TakeKey(second)) << "a comma cannot come first";
  EXPECT_TRUE(scanner.TakeKey(first));
  EXPECT_FALSE(scanner.TakeKey(second)) << "a value comes first";
  EXPECT_EQ(scanner.Next(), JsonToken::kNumber);
  EXPECT_TRUE(scanner.TakeKey(second));
  EXPECT_EQ(scanner.line(), 3U);
  EXPECT_EQ(scanner.Next(), JsonToken::kNumber);
  EXPECT_EQ(scanner.number(), 4);
  EXPECT_EQ(scanner.Next(), JsonToken::kObjectEnd);
}

TEST(JsonScanner, TakesAPlainNumberAndNothingElse) {
  const auto taken = [](std::string_view value) {
    const std::string text = "{\"a\":" + std::string(value) + "}";
    JsonScanner scanner(text);
    scanner.Next();
    EXPECT_FALSE(scanner.TakeNumber()) << "a key comes first";
    scanner.Next();
    return scanner.TakeNumber() ? FormatExact(scanner.number()) : "no";
  };
  EXPECT_EQ(taken("1.5"), "1.5");
  EXPECT_EQ(taken(" -2e-05"), "-2e-05");
  for (const char* value : {".5", "NaN", "inf", "1e999", "\"1\"", "null", "[1]", "1x", "\n1"})
    EXPECT_EQ(taken(value), "no");
  JsonScanner cut;
  cut.Continue("{\"a\":12", false);
  cut.Next();
  cut.Next();
  EXPECT_FALSE(cut.TakeNumber()) << "more digits may follow";
}

TEST(JsonScanner, TakesNoKeyInsideAList) {
  JsonKeyText key;
  JsonScanner learner("{\"a\":1,\"b\":2}");
  for (int i = 0; i < 4; ++i) learner.Next();
  learner.CopyKeyText(key);
  JsonScanner scanner("[1,\"b\":2]");
  scanner.Next();
  scanner.Next();
  EXPECT_FALSE(scanner.TakeKey(key));
}

TEST(UnescapeJson, ResolvesEscapes) {
  EXPECT_EQ(UnescapeJson(R"(a\"b\\c\/d\n\t\r\b\f)"), "a\"b\\c/d\n\t\r\b\f");
  EXPECT_EQ(UnescapeJson(R"(\u0041\u00e9\u20ac\ud83d\ude00)"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(UnescapeJson, LeavesWhatIsNoEscape) {
  EXPECT_EQ(UnescapeJson(R"(\q \u12 \u12g4)"), R"(\q \u12 \u12g4)");
  EXPECT_EQ(UnescapeJson("\\"), "\\");
  EXPECT_EQ(UnescapeJson(R"(\ud800x)"), "\xEF\xBF\xBDx") << "half a pair";
}

}  // namespace
}  // namespace vigil::codec
