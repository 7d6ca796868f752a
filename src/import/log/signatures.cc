#include "import/log/signatures.h"

#include <re2/re2.h>

#include <numeric>

#include "base/base.h"
#include "import/log/line.h"

namespace vigil::import::log {
namespace {

constexpr std::string_view kSpecial = "\\^$.|?*+()[]{}";

// The length of the group or class that opens at text[open], with its brackets.
std::size_t GroupLength(std::string_view text, std::size_t open) {
  const char opening = text[open];
  const char closing = opening == '(' ? ')' : ']';
  std::size_t depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == opening && (opening == '(' || i == open)) {
      ++depth;
    } else if (text[i] == closing && --depth == 0) {
      return i + 1 - open;
    }
  }
  return text.size() - open;
}

bool IsOptional(char quantifier) { return quantifier == '?' || quantifier == '*' || quantifier == '{'; }

std::vector<std::string> AllRuns(std::string_view expression) {
  std::vector<std::string> runs;
  std::string run;
  const auto close_run = [&] {
    if (!run.empty()) runs.push_back(ToLower(run));
    run.clear();
  };
  if (expression.starts_with("(?i)")) expression.remove_prefix(4);
  for (std::size_t i = 0; i < expression.size();) {
    const char c = expression[i];
    std::size_t length = 1;
    bool plain = kSpecial.find(c) == std::string_view::npos;
    char character = c;
    if (c == '|') return {};
    if (c == '(' || c == '[') {
      length = GroupLength(expression, i);
    } else if (c == '\\' && i + 1 < expression.size()) {
      length = 2;
      character = expression[i + 1];
      plain = kSpecial.find(character) != std::string_view::npos;
    }
    i += length;
    const char next = i < expression.size() ? expression[i] : '\0';
    if (!plain || IsOptional(next)) {
      close_run();
    } else {
      run += character;
    }
    if (next == '{') {
      const std::size_t brace = expression.find('}', i);
      i = brace == std::string_view::npos ? expression.size() : brace;
    }
  }
  close_run();
  return runs;
}

}  // namespace

std::vector<std::string> LiteralRuns(std::string_view expression) {
  constexpr std::size_t kShortest = 4;
  std::vector<std::string> runs = AllRuns(expression);
  std::erase_if(runs, [](const std::string& run) { return run.size() < kShortest; });
  return runs;
}

std::string LongestLiteral(std::string_view expression) {
  std::string best;
  for (std::string& run : AllRuns(expression)) {
    if (run.size() > best.size()) best = std::move(run);
  }
  return best;
}

const SignatureMatcher& SignatureMatcher::Shared() {
  static const SignatureMatcher matcher;
  return matcher;
}

SignatureMatcher::SignatureMatcher() {
  for (const catalogue::SignatureRow& row : catalogue::Signatures()) {
    for (const std::string_view expression : row.patterns)
      patterns_.push_back({&row, expression, LongestLiteral(expression)});
  }
  expressions_.resize(patterns_.size());
  compiled_ = std::make_unique<std::once_flag[]>(patterns_.size());
}

SignatureMatcher::~SignatureMatcher() = default;

const re2::RE2& SignatureMatcher::Expression(PatternId pattern) const {
  std::call_once(compiled_[pattern], [&] {
    const std::string_view text = patterns_[pattern].expression;
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);  // logs hold broken UTF-8
    options.set_log_errors(false);
    expressions_[pattern] = std::make_unique<re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  });
  return *expressions_[pattern];
}

const catalogue::SignatureRow* SignatureMatcher::Match(std::string_view text,
                                                       const std::vector<PatternId>& candidates) const {
  const catalogue::SignatureRow* first = nullptr;
  const std::string lower = ToLower(text);
  for (const PatternId candidate : candidates) {
    const catalogue::SignatureRow* row = patterns_[candidate].row;
    if (first != nullptr && row >= first) continue;
    // The hint may be only a part of the literal: a plain search spares most expressions.
    if (lower.find(patterns_[candidate].literal) == std::string::npos) continue;
    const re2::RE2& expression = Expression(candidate);
    if (expression.ok() && re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression)) first = row;
  }
  return first;
}

const catalogue::SignatureRow* SignatureMatcher::Match(std::string_view text) const {
  std::vector<PatternId> all(patterns_.size());
  std::iota(all.begin(), all.end(), PatternId{0});
  return Match(text, all);
}

}  // namespace vigil::import::log
