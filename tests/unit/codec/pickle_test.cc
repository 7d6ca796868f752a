// Pickles that make much of little: what is built is bounded, whatever is used again and again.
#include "codec/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vigil::codec::pickle {
namespace {

using ::testing::HasSubstr;

std::size_t TextBytesOf(const Document& document) {
  std::size_t bytes = 0;
  for (const Value& value : document.values) bytes += value.text.size();
  for (const std::string& name : document.names) bytes += name.size();
  return bytes;
}

std::string Text(std::size_t size) {
  std::string out = "X";
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>((size >> shift) & 0xFFU);
  return out + std::string(size, 'a');
}

// Each round imports a name that is the last one twice.
TEST(Pickle, ANameThatDoublesInEachRoundIsRefused) {
  std::string bytes = "\x80\x04" + Text(10) + "\x94";
  for (char round = 0; round < 31; ++round) bytes += {'h', round, 'h', round, '\x93', '\x94'};
  bytes += '.';
  const Document document = Parse(bytes);
  EXPECT_THAT(document.problem, HasSubstr("a name that is no name"));
  EXPECT_LT(TextBytesOf(document), 10'000U);
}

TEST(Pickle, ATextThatIsCalledIsNotCopied) {
  std::string bytes = "\x80\x04" + Text(1'000'000) + "\x94";
  for (int round = 0; round < 20'000; ++round) bytes += std::string("h\0)R", 4);
  bytes += '.';
  const Document document = Parse(bytes);
  EXPECT_LT(TextBytesOf(document), 1'100'000U);
}

TEST(Pickle, NamesThatAreUsedAgainAreBoundedTogether) {
  std::string bytes = "\x80\x04" + Text(499) + "\x94" + Text(499) + "\x94" + std::string("h\0h\1\x93\x94", 6);
  for (int round = 0; round < 400'000; ++round) bytes += std::string("h\2)R0", 5);
  bytes += '.';
  const Document document = Parse(bytes);
  EXPECT_THAT(document.problem, HasSubstr("larger than settings can be"));
  EXPECT_LT(TextBytesOf(document), std::size_t{66} << 20U);
}

TEST(Pickle, NamesAreListedOnce) {
  const Document document = Parse(std::string("cos\nsystem\n0cos\nsystem\n0cjson\nloads\n.", 36));
  EXPECT_THAT(document.names, testing::ElementsAre("os.system", "json.loads"));
}

std::string LineText(const std::string& opcodes) {
  const Document document = Parse(opcodes + ".");
  EXPECT_EQ(document.problem, "");
  return document.root == kNone ? "nothing" : document.values[document.root].text;
}

TEST(Pickle, TextsOfProtocol0AreDecodedAsPythonDoes) {
  EXPECT_EQ(LineText("Vplain\n"), "plain");
  EXPECT_EQ(LineText("V\xe9 \\u20ac \\U0001d11e \\u005cn\n"), "\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e \\n");
  EXPECT_EQ(LineText("V\\\\u20ac \\x41 \\u20\n"), "\\\\u20ac \\x41 \\u20");
  EXPECT_EQ(LineText("V\\ud834\n"), "\xef\xbf\xbd");
}

TEST(Pickle, TextsOfPython2LoseTheirQuotesAndEscapes) {
  EXPECT_EQ(LineText("S'plain'\n"), "plain");
  EXPECT_EQ(LineText("S\"it's\"\n"), "it's");
  EXPECT_EQ(LineText("S'a\\n\\x41\\101\\\\\\'\\q'\n"), "a\nAA\\'\\q");
  EXPECT_EQ(LineText("Sbare'\n"), "bare'");
}

Value LineValue(const std::string& opcodes) {
  const Document document = Parse(opcodes + ".");
  EXPECT_EQ(document.problem, "");
  return document.root == kNone ? Value() : document.values[document.root];
}

TEST(Pickle, OnlyWholeNumbersOfProtocol0AreTruthValues) {
  EXPECT_EQ(LineValue("I01\n").kind, Kind::kTruth);
  EXPECT_TRUE(LineValue("I01\n").truth);
  EXPECT_FALSE(LineValue("I00\n").truth);
  EXPECT_EQ(LineValue("I1\n").whole, 1);
  EXPECT_EQ(LineValue("F00\n").kind, Kind::kNumber);
  EXPECT_EQ(LineValue("L12L\n").whole, 12);
}

}  // namespace
}  // namespace vigil::codec::pickle
