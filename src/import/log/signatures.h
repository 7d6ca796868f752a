// Known error messages: which signature of the catalogue a line carries. A line is tried only against the patterns
// whose literal part was seen in it; expressions are compiled when first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"

namespace re2 {
class RE2;
}

namespace vigil::import::log {

class SignatureMatcher {
 public:
  using PatternId = std::uint16_t;

  // The matcher of the catalogue's rows, made once.
  static const SignatureMatcher& Shared();

  std::size_t pattern_count() const { return patterns_.size(); }
  // Lower-case text that every match of the pattern contains, whatever its case.
  std::string_view LiteralOf(PatternId pattern) const { return patterns_[pattern].literal; }
  std::string_view ExpressionOf(PatternId pattern) const { return patterns_[pattern].expression; }
  // The first row (in the order of the catalogue) of which one of the patterns matches, null when none does.
  const catalogue::SignatureRow* Match(std::string_view text, const std::vector<PatternId>& candidates) const;

  // The same for a text that nobody looked through for hints: slower, for single messages.
  const catalogue::SignatureRow* Match(std::string_view text) const;

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

// The runs of at least four plain characters that every match of the expression contains, in lower case.
std::vector<std::string> LiteralRuns(std::string_view expression);
// The longest run of plain characters that every match of the expression contains, in lower case. Empty when there is
// none: choices, classes and optional parts are no plain characters.
std::string LongestLiteral(std::string_view expression);

}  // namespace vigil::import::log
