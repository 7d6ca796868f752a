// The scanner against RapidJSON, on random documents: the same tokens, whole and in pieces.
#include <gtest/gtest.h>

// RapidJSON 1.1 adds to a null pointer before its stack is first grown: the sanitizer is right, and it is not our code.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <cmath>
#include <random>

#include "base/base.h"
#include "codec/codec.h"

namespace vigil::codec {
namespace {

constexpr char kEnd = '\x1e';  // of a token; none holds it

// Writes down what RapidJSON sees.
struct Recorder : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Recorder> {
  std::string seen;
  bool Add(const std::string& token) {
    seen += token + kEnd;
    return true;
  }
  bool Null() { return Add("null"); }
  bool Bool(bool value) { return Add(value ? "true" : "false"); }
  bool Int(int value) { return Double(value); }
  bool Uint(unsigned value) { return Double(value); }
  bool Int64(std::int64_t value) { return Double(static_cast<double>(value)); }
  bool Uint64(std::uint64_t value) { return Double(static_cast<double>(value)); }
  bool Double(double value) { return Add(FormatExact(value == 0 ? 0.0 : value)); }
  bool String(const char* text, rapidjson::SizeType size, bool) { return Add('"' + std::string(text, size) + '"'); }
  bool Key(const char* text, rapidjson::SizeType size, bool) { return Add(std::string(text, size) + ':'); }
  bool StartObject() { return Add("{"); }
  bool EndObject(rapidjson::SizeType) { return Add("}"); }
  bool StartArray() { return Add("["); }
  bool EndArray(rapidjson::SizeType) { return Add("]"); }
};

std::string ByRapidJson(const std::string& text) {
  constexpr unsigned kFlags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag |
                              rapidjson::kParseFullPrecisionFlag | rapidjson::kParseStopWhenDoneFlag;
  Recorder recorder;
  rapidjson::Reader reader;
  rapidjson::StringStream stream(text.c_str());
  const auto result = reader.Parse<kFlags>(stream, recorder);
  return recorder.seen + (result.IsError() ? "broken" : "end");
}

std::string ByScanner(const std::string& text, std::size_t piece) {
  JsonScanner scanner;
  std::string seen;
  std::size_t begin = 0;
  std::size_t end = std::min(piece, text.size());
  scanner.Continue(std::string_view(text).substr(0, end), end == text.size());
  for (;;) {
    switch (scanner.Next()) {
      case JsonToken::kObjectBegin:
        seen += std::string("{") + kEnd;
        break;
      case JsonToken::kObjectEnd:
        seen += std::string("}") + kEnd;
        break;
      case JsonToken::kArrayBegin:
        seen += std::string("[") + kEnd;
        break;
      case JsonToken::kArrayEnd:
        seen += std::string("]") + kEnd;
        break;
      case JsonToken::kKey:
        seen += UnescapeJson(scanner.text()) + ':' + kEnd;
        break;
      case JsonToken::kString:
        seen += '"' + UnescapeJson(scanner.text()) + '"' + kEnd;
        break;
      case JsonToken::kNumber:
        seen += FormatExact(scanner.number() == 0 ? 0.0 : scanner.number()) + kEnd;
        break;
      case JsonToken::kTrue:
        seen += std::string("true") + kEnd;
        break;
      case JsonToken::kFalse:
        seen += std::string("false") + kEnd;
        break;
      case JsonToken::kNull:
        seen += std::string("null") + kEnd;
        break;
      case JsonToken::kNeedMore:
        begin += scanner.consumed();
        end = std::min(text.size(), end + piece);
        scanner.Continue(std::string_view(text).substr(begin, end - begin), end == text.size());
        break;
      case JsonToken::kEnd:
        return seen + "end";
      case JsonToken::kBroken:
        return seen + "broken";
    }
  }
}

class RandomJson {
 public:
  explicit RandomJson(std::uint32_t seed) : random_(seed) {}

  std::string Document() {
    text_.clear();
    Value(0);
    return text_;
  }
  std::uint32_t Below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

 private:
  void Space() {
    constexpr std::string_view kSpaces = "    \n\r\t";
    for (std::uint32_t count = Below(4); count > 0; --count) text_ += kSpaces[Below(kSpaces.size())];
    if (Below(8) == 0) text_ += "\n                   ";
  }

  void String() {
    constexpr std::string_view kPieces[] = {"a",        "loss", "train/",  "\\\"",   "\\\\", "\\n",
                                            "\xC3\xA9", " ",    "\\u20ac", "{}[],:", "NaN",  "rewards/accuracy/mean"};
    text_ += '"';
    for (std::uint32_t count = Below(6); count > 0; --count) text_ += kPieces[Below(std::size(kPieces))];
    text_ += '"';
  }

  void Number() {
    constexpr std::string_view kSpecial[] = {"NaN", "Infinity", "-Infinity", "0", "-0", "1e22", "4.9e-324", "1.5e308"};
    if (Below(6) == 0) {
      text_ += kSpecial[Below(std::size(kSpecial))];
    } else if (Below(3) == 0) {
      text_ += std::to_string(static_cast<std::int32_t>(random_()));
    } else {
      std::uniform_real_distribution<double> exponent(-30, 30);
      text_ += FormatExact((Below(2) == 0 ? -1 : 1) * std::pow(10.0, exponent(random_)));
    }
  }

  void Value(int depth) {
    Space();
    switch (Below(depth < 6 ? 9 : 6)) {
      case 0:
        text_ += "null";
        break;
      case 1:
        text_ += Below(2) == 0 ? "true" : "false";
        break;
      case 2:
        String();
        break;
      case 6:
        List(depth);
        break;
      case 7:
      case 8:
        Object(depth);
        break;
      default:
        Number();
    }
    Space();
  }

  void List(int depth) {
    text_ += '[';
    const std::uint32_t count = Below(5);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i != 0) text_ += ',';
      Value(depth + 1);
    }
    if (count == 0) Space();
    text_ += ']';
  }

  void Object(int depth) {
    text_ += '{';
    const std::uint32_t count = Below(6);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i != 0) text_ += ',';
      Space();
      String();
      Space();
      text_ += ':';
      Value(depth + 1);
    }
    if (count == 0) Space();
    text_ += '}';
  }

  std::mt19937 random_;
  std::string text_;
};

TEST(JsonTwins, AgreeOnRandomDocuments) {
  RandomJson random(20240607);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random.Document();
    const std::string expected = ByRapidJson(text);
    ASSERT_EQ(ByScanner(text, text.size() + 1), expected) << text;
    ASSERT_EQ(ByScanner(text, 1 + random.Below(40)), expected) << text;
  }
}

// The tokens but the last two: the verdict, and a number or word at the cut, which may be half of a longer one.
std::vector<std::string_view> SureTokens(std::string_view seen) {
  auto tokens = Split(seen, kEnd);
  tokens.resize(tokens.size() > 2 ? tokens.size() - 2 : 0);
  return tokens;
}

TEST(JsonTwins, AgreeOnDocumentsThatAreCut) {
  RandomJson random(7);
  int cut = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string text = random.Document();
    // Half a number is a number, by itself.
    if (!Trim(text).starts_with('{') && !Trim(text).starts_with('[')) continue;
    text.resize(random.Below(static_cast<std::uint32_t>(text.size()) + 1));
    const std::string mine = ByScanner(text, text.size() + 1);
    const std::string theirs = ByRapidJson(text);
    ASSERT_EQ(mine.ends_with("broken"), theirs.ends_with("broken")) << text;
    if (!mine.ends_with("broken")) continue;
    ++cut;
    auto my_tokens = SureTokens(mine);
    auto their_tokens = SureTokens(theirs);
    const std::size_t both = std::min(my_tokens.size(), their_tokens.size());
    ASSERT_LE(std::max(my_tokens.size(), their_tokens.size()) - both, 1U) << text;
    my_tokens.resize(both);
    their_tokens.resize(both);
    ASSERT_EQ(my_tokens, their_tokens) << text;
  }
  EXPECT_GT(cut, 1000);
}

}  // namespace
}  // namespace vigil::codec
