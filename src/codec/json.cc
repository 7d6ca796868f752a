#include <bit>
#include <cstring>
#include <optional>

#include "base/base.h"
#include "base/decimal.h"
#include "codec/codec.h"
#include "codec/utf8.h"

namespace vigil::codec {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101U;
constexpr std::uint64_t kHighs = 0x8080808080808080U;
constexpr std::ptrdiff_t kWord = 8;

std::uint64_t LoadWord(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Bit 7 of the first byte that is zero (of those after it, perhaps of others too).
std::uint64_t MarkZero(std::uint64_t word) { return (word - kOnes) & ~word & kHighs; }
std::uint64_t MarkByte(std::uint64_t word, char byte) {
  return MarkZero(word ^ (kOnes * static_cast<unsigned char>(byte)));
}
std::uint64_t MarkControl(std::uint64_t word) { return (word - kOnes * 0x20U) & ~word & kHighs; }

// memcmp for texts of ten to thirty bytes, without the call.
bool SameBytes(const char* a, const char* b, std::size_t size) {
  if (size < sizeof(std::uint64_t)) return std::memcmp(a, b, size) == 0;
  const std::size_t last = size - sizeof(std::uint64_t);
  for (std::size_t at = 0; at < last; at += sizeof(std::uint64_t)) {
    if (LoadWord(a + at) != LoadWord(b + at)) return false;
  }
  return LoadWord(a + last) == LoadWord(b + last);
}

static_assert(std::endian::native == std::endian::little, "the first byte of a word is taken to be the lowest");

// The first byte from `at` that ends the plain part of a string: a quote, a backslash or a control character.
const char* EndOfPlain(const char* at, const char* end) {
  for (; end - at >= kWord; at += kWord) {
    const std::uint64_t word = LoadWord(at);
    const std::uint64_t marks = MarkByte(word, '"') | MarkByte(word, '\\') | MarkControl(word);
    if (marks != 0) return at + std::countr_zero(marks) / 8;
  }
  while (at != end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

// The closing quote of the string whose content begins at `at`; the control character that must not be there; or the
// end.
const char* EndOfString(const char* at, const char* end) {
  for (;;) {
    at = EndOfPlain(at, end);
    if (at == end || *at != '\\') return at;
    if (end - at < 2) return end;
    at += 2;
  }
}

// The four hexadecimal digits at `at`, or nothing.
std::optional<std::uint32_t> CodeUnit(std::string_view text, std::size_t at) {
  if (text.size() < at + 4) return std::nullopt;
  const auto unit = ParseHex(text.substr(at, 4));
  return unit ? std::optional(static_cast<std::uint32_t>(*unit)) : std::nullopt;
}

// Resolves \uXXXX at `at` (the backslash), a surrogate pair as one; returns the bytes it took, 0 when it is none.
std::size_t AppendCodePoint(std::string_view text, std::size_t at, std::string& out) {
  const auto unit = CodeUnit(text, at + 2);
  if (!unit) return 0;
  const bool leads = *unit >= 0xD800 && *unit < 0xDC00;
  if (leads && text.substr(at + 6, 2) == "\\u") {
    const auto trail = CodeUnit(text, at + 8);
    if (trail && *trail >= 0xDC00 && *trail < 0xE000) {
      AppendUtf8(0x10000 + ((*unit - 0xD800) << 10U) + (*trail - 0xDC00), out);
      return 12;
    }
  }
  const bool lone = *unit >= 0xD800 && *unit < 0xE000;
  AppendUtf8(lone ? 0xFFFD : *unit, out);
  return 6;
}

bool EndsScalar(char c) { return c == ',' || c == '}' || c == ']' || c == '\n' || c == ' ' || c == '\r' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// No reader of JSON takes "01"; the text is damaged, and what it would have been is not known.
bool HasLeadingZero(const char* at, const char* end) {
  if (*at == '-' && end - at > 1) ++at;
  return *at == '0' && end - at > 1 && IsDigit(at[1]);
}
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

void JsonScanner::Continue(std::string_view text, bool last) {
  begin_ = text.data();
  at_ = begin_;
  end_ = begin_ + text.size();
  last_ = last;
}

JsonToken JsonScanner::Next() {
  seen_line_ = line_;
  switch (expect_) {
    case Expect::kCommaOrClose:
      return AfterValue(SkipSpace(at_));
    case Expect::kFirstKey:
    case Expect::kKey:
      return Key(SkipSpace(at_));
    case Expect::kFirstElement:
    case Expect::kValue:
      return Value(SkipSpace(at_));
    case Expect::kNothing:
      break;
  }
  return problem_.empty() ? JsonToken::kEnd : JsonToken::kBroken;
}

bool JsonScanner::TakeKey(const JsonKeyText& known) {
  const bool fits = known.first ? expect_ == Expect::kFirstKey : expect_ == Expect::kCommaOrClose && InObject();
  const std::size_t size = known.text.size();
  if (!fits || static_cast<std::size_t>(end_ - at_) < size || !SameBytes(at_, known.text.data(), size)) return false;
  at_ += size;
  line_ += known.lines;
  expect_ = Expect::kValue;
  return true;
}

bool JsonScanner::TakeNumber() {
  if (expect_ != Expect::kValue) return false;
  const char* at = at_;
  if (at != end_ && *at == ' ') ++at;
  // Words for non-finite numbers are left to Next, and what is none in JSON (".5", "+1") to its judgement.
  if (at == end_ || (*at != '-' && !IsDigit(*at)) || HasLeadingZero(at, end_)) return false;
  const char* const number_end = TakeDecimal<TextEnd::kAnywhere>(at, end_, number_);
  // At the end of the text the number may go on.
  if (number_end == nullptr || number_end == end_ || !EndsScalar(*number_end)) return false;
  at_ = number_end;
  expect_ = depth_ == 0 ? Expect::kNothing : Expect::kCommaOrClose;
  return true;
}

void JsonScanner::CopyKeyText(JsonKeyText& into) const {
  into.text.assign(key_begin_, at_);
  into.lines = key_lines_;
  into.first = key_first_;
}

JsonToken JsonScanner::SkipTo(std::size_t depth) {
  for (;;) {
    const JsonToken token = Next();
    if (token >= JsonToken::kNeedMore || depth_ <= depth) return token;
  }
}

const char* JsonScanner::SkipSpace(const char* at) {
  for (; at != end_; ++at) {
    if (*at == '\n') {
      if (one_line_) return end_ = at;
      ++seen_line_;
      // Indentation follows: the spaces of a word at once.
      while (end_ - at > kWord) {
        const std::uint64_t others = LoadWord(at + 1) ^ (kOnes * ' ');
        if (others != 0) {
          at += std::countr_zero(others) / 8;
          break;
        }
        at += kWord;
      }
    } else if (*at != ' ' && *at != '\t' && *at != '\r') {
      break;
    }
  }
  return at;
}

JsonToken JsonScanner::Commit(const char* at, Expect next, JsonToken token) {
  at_ = at;
  line_ = seen_line_;
  expect_ = next;
  return token;
}

JsonToken JsonScanner::ValueDone(const char* at, JsonToken token) {
  return Commit(at, depth_ == 0 ? Expect::kNothing : Expect::kCommaOrClose, token);
}

JsonToken JsonScanner::More() {
  if (!last_) return JsonToken::kNeedMore;
  return Break(end_, depth_ == 0 ? "the text ends before the document does" : "the text ends inside the document");
}

JsonToken JsonScanner::Break(const char* at, std::string_view problem) {
  problem_ = problem;
  return Commit(at, Expect::kNothing, JsonToken::kBroken);
}

JsonToken JsonScanner::AfterValue(const char* at) {
  if (at == end_) return More();
  const bool object = InObject();
  if (*at == (object ? '}' : ']')) return Close(at, object);
  if (*at != ',') return Break(at, object ? "expected ',' or '}'" : "expected ',' or ']'");
  at = SkipSpace(at + 1);
  return object ? Key(at) : Value(at);
}

JsonToken JsonScanner::Key(const char* at) {
  if (at == end_) return More();
  if (*at == '}' && expect_ == Expect::kFirstKey) return Close(at, true);
  if (*at != '"') return Break(at, "expected a key in quotes");
  const char* const close = EndOfString(at + 1, end_);
  if (close == end_) return More();
  if (*close != '"') return Break(close, "control character inside a key: is its closing quote missing?");
  text_ = {at + 1, static_cast<std::size_t>(close - at - 1)};
  at = SkipSpace(close + 1);
  if (at == end_) return More();
  if (*at != ':') return Break(at, "expected ':' after a key");
  key_begin_ = at_;
  key_lines_ = seen_line_ - line_;
  key_first_ = expect_ == Expect::kFirstKey;
  return Commit(at + 1, Expect::kValue, JsonToken::kKey);
}

JsonToken JsonScanner::Value(const char* at) {
  if (at == end_) return More();
  switch (*at) {
    case '{':
      return Open(at, true);
    case '[':
      return Open(at, false);
    case ']':
      if (expect_ == Expect::kFirstElement) return Close(at, false);
      return Break(at, "expected a value");
    case '"': {
      const char* const close = EndOfString(at + 1, end_);
      if (close == end_) return More();
      if (*close != '"') return Break(close, "control character inside a string: is its closing quote missing?");
      text_ = {at + 1, static_cast<std::size_t>(close - at - 1)};
      return ValueDone(close + 1, JsonToken::kString);
    }
    case '-':
      return Number(at);
    default:
      return IsDigit(*at) ? Number(at) : Word(at);
  }
}

JsonToken JsonScanner::Number(const char* at) {
  if (HasLeadingZero(at, end_)) return Break(at, "expected a number");
  // The common case without detours.
  const char* number_end = TakeDecimal<TextEnd::kAnywhere>(at, end_, number_);
  if (number_end == nullptr) {
    std::size_t used = 0;
    number_ = ParseNumberPrefix({at, static_cast<std::size_t>(end_ - at)}, used).value_or(0);
    number_end = at + used;
  }
  const char* token_end = number_end;
  while (token_end != end_ && !EndsScalar(*token_end)) ++token_end;
  if (token_end == end_ && !last_) return More();
  if (number_end == at || token_end != number_end) return Break(at, "expected a number");
  return ValueDone(token_end, JsonToken::kNumber);
}

JsonToken JsonScanner::Word(const char* at) {
  struct Meaning {
    std::string_view word;
    JsonToken token;
  };
  static constexpr std::array<Meaning, 3> kWords = {
      {{"null", JsonToken::kNull}, {"true", JsonToken::kTrue}, {"false", JsonToken::kFalse}}};
  const char* word_end = at;
  while (word_end != end_ && IsLetter(*word_end)) ++word_end;
  if (word_end == end_ && !last_) return More();
  const std::string_view word(at, static_cast<std::size_t>(word_end - at));
  for (const Meaning& meaning : kWords) {
    if (word == meaning.word) return ValueDone(word_end, meaning.token);
  }
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(word, used);
  if (!value || used != word.size()) return Break(at, "expected a value");
  number_ = *value;
  return ValueDone(word_end, JsonToken::kNumber);
}

JsonToken JsonScanner::Open(const char* at, bool object) {
  if (depth_ == kMaxDepth) return Break(at, "nested deeper than 512 levels");
  const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
  std::uint64_t& kinds = kinds_[depth_ / 64];
  kinds = object ? kinds | bit : kinds & ~bit;
  ++depth_;
  return object ? Commit(at + 1, Expect::kFirstKey, JsonToken::kObjectBegin)
                : Commit(at + 1, Expect::kFirstElement, JsonToken::kArrayBegin);
}

JsonToken JsonScanner::Close(const char* at, bool object) {
  --depth_;
  return ValueDone(at + 1, object ? JsonToken::kObjectEnd : JsonToken::kArrayEnd);
}

std::string UnescapeJson(std::string_view text) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool escape = text[at] == '\\' && at + 1 < text.size();
    const std::size_t which = escape ? kEscapes.find(text[at + 1]) : std::string_view::npos;
    if (which != std::string_view::npos) {
      out += kMeanings[which];
      at += 2;
    } else if (const std::size_t used = escape && text[at + 1] == 'u' ? AppendCodePoint(text, at, out) : 0; used != 0) {
      at += used;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace vigil::codec
