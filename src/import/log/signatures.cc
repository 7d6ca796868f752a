#include "import/log/signatures.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>

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
    } else if (text[i] == '[' && i != open && opening == '(') {
      i += GroupLength(text, i) - 1;  // a bracket in a class closes no group
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

SignatureMatch SignatureMatcher::Match(std::string_view text, const std::vector<PatternId>& candidates) const {
  const re2::StringPiece whole(text.data(), text.size());
  for (const PatternId candidate : candidates) {
    const re2::RE2& expression = Expression(candidate);
    re2::StringPiece place;
    if (!expression.ok() || !expression.Match(whole, 0, whole.size(), re2::RE2::UNANCHORED, &place, 1)) continue;
    const auto begin = static_cast<std::size_t>(place.data() - text.data());
    return {patterns_[candidate].row, begin, begin + place.size()};
  }
  return {};
}

SignatureMatch SignatureMatcher::Match(std::string_view text) const {
  std::vector<PatternId> candidates;
  const std::string lower = ToLower(text);
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (lower.find(patterns_[i].literal) != std::string::npos) candidates.push_back(static_cast<PatternId>(i));
  }
  return Match(text, candidates);
}

// The literals of all patterns, each once, with the patterns that have it.
struct SignatureSearch::Engine {
  std::vector<std::string_view> texts;
  std::vector<std::vector<SignatureMatcher::PatternId>> patterns;
  std::unique_ptr<LiteralSet> set;

  Engine() {
    const SignatureMatcher& matcher = SignatureMatcher::Shared();
    std::map<std::string_view, std::vector<SignatureMatcher::PatternId>> by_text;
    for (std::size_t i = 0; i < matcher.pattern_count(); ++i) {
      const auto pattern = static_cast<SignatureMatcher::PatternId>(i);
      by_text[matcher.LiteralOf(pattern)].push_back(pattern);
    }
    for (auto& [text, ids] : by_text) {
      texts.push_back(text);
      patterns.push_back(std::move(ids));
    }
    set = std::make_unique<LiteralSet>(texts, LiteralSet::Report::kOncePerText);
  }
};

const SignatureSearch::Engine& SignatureSearch::SharedEngine() {
  static const Engine engine;
  return engine;
}

SignatureSearch::SignatureSearch() : scanner_(*SharedEngine().set) {}

SignatureMatch SignatureSearch::Find(std::string_view text) {
  const SignatureMatcher& matcher = SignatureMatcher::Shared();
  if (!scanner_.works()) return matcher.Match(text);
  scanner_.Scan(text, found_);
  if (found_.empty()) return {};
  candidates_.clear();
  for (const Hint& hint : found_) {
    const auto& patterns = SharedEngine().patterns[hint.literal];
    candidates_.insert(candidates_.end(), patterns.begin(), patterns.end());
  }
  std::sort(candidates_.begin(), candidates_.end());
  return matcher.Match(text, candidates_);
}

}  // namespace vigil::import::log
