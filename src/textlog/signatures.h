// Known error messages: which signature of the catalogue a line carries. One search finds the literal parts of all
// patterns in a line; only the patterns whose part is there are tried. Expressions are compiled when first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "textlog/literals.h"

namespace re2 {
class RE2;
}

namespace vigil::textlog {

// Where in a text a signature was found; no row when none was.
struct SignatureMatch {
  const catalogue::SignatureRow* row = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
};

class SignatureMatcher {
 public:
  using PatternId = std::uint16_t;

  // The matcher of the catalogue's rows, made once.
  static const SignatureMatcher& Shared();

  std::size_t pattern_count() const { return patterns_.size(); }
  // Lower-case text that every match of the pattern contains, whatever its case.
  std::string_view LiteralOf(PatternId pattern) const { return patterns_[pattern].literal; }
  std::string_view ExpressionOf(PatternId pattern) const { return patterns_[pattern].expression; }
  // The match of the first pattern (in the order of the catalogue) among the candidates, which are in that order.
  SignatureMatch Match(std::string_view text, const std::vector<PatternId>& candidates) const;

  // The same for all patterns and a text that nobody searched: slower, for single messages.
  SignatureMatch Match(std::string_view text) const;

  SignatureMatcher();
  ~SignatureMatcher();
  SignatureMatcher(const SignatureMatcher&) = delete;
  SignatureMatcher& operator=(const SignatureMatcher&) = delete;
  SignatureMatcher(SignatureMatcher&&) = delete;
  SignatureMatcher& operator=(SignatureMatcher&&) = delete;

 private:
  struct Pattern {
    const catalogue::SignatureRow* row = nullptr;
    std::string_view expression;
    std::string literal;
  };
  const re2::RE2& Expression(PatternId pattern) const;

  std::vector<Pattern> patterns_;
  // Compiled on first use, each once, from whichever thread comes first.
  mutable std::vector<std::unique_ptr<re2::RE2>> expressions_;
  std::unique_ptr<std::once_flag[]> compiled_;
};

// Finds the signatures of many texts quickly. One per reader.
class SignatureSearch {
 public:
  SignatureSearch();

  SignatureMatch Find(std::string_view text);

 private:
  struct Engine;
  static const Engine& SharedEngine();

  LiteralScanner scanner_;
  std::vector<Hint> found_;
  std::vector<char> is_found_;  // by part, while a text is looked at
  std::vector<SignatureMatcher::PatternId> candidates_;
};

// The runs of at least four plain characters that every match of the expression contains, in lower case.
std::vector<std::string> LiteralRuns(std::string_view expression);
// The longest run of plain characters that every match of the expression contains, in lower case. Empty when there is
// none: choices, classes and optional parts are no plain characters.
std::string LongestLiteral(std::string_view expression);

}  // namespace vigil::textlog
