#include "textlog/signatures.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "base/base.h"
#include "textlog/line.h"
#include "textlog/textlog.h"

namespace vigil::textlog {
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

// The plain parts of all patterns, each once. A pattern is tried where its longest part and all its others are.
struct SignatureSearch::Engine {
  struct Trigger {
    SignatureMatcher::PatternId pattern;
    std::vector<std::uint32_t> others;  // parts that a match holds too
  };
  std::map<std::string, std::uint32_t> parts;
  std::vector<std::vector<Trigger>> triggers;  // by part
  std::unique_ptr<LiteralSet> set;

  Engine() {
    const SignatureMatcher& matcher = SignatureMatcher::Shared();
    for (std::size_t i = 0; i < matcher.pattern_count(); ++i) Add(matcher, static_cast<SignatureMatcher::PatternId>(i));
    std::vector<std::string_view> texts(parts.size());
    for (const auto& [text, part] : parts) texts[part] = text;
    set = std::make_unique<LiteralSet>(texts, LiteralSet::Report::kOncePerText);
  }

 private:
  std::uint32_t PartOf(std::string text) {
    const auto [at, is_new] = parts.emplace(std::move(text), static_cast<std::uint32_t>(parts.size()));
    if (is_new) triggers.emplace_back();
    return at->second;
  }

  void Add(const SignatureMatcher& matcher, SignatureMatcher::PatternId pattern) {
    const std::uint32_t longest = PartOf(std::string(matcher.LiteralOf(pattern)));
    Trigger trigger{pattern, {}};
    for (std::string& run : LiteralRuns(matcher.ExpressionOf(pattern))) {
      const std::uint32_t part = PartOf(std::move(run));
      if (part != longest) trigger.others.push_back(part);
    }
    triggers[longest].push_back(std::move(trigger));
  }
};

const SignatureSearch::Engine& SignatureSearch::SharedEngine() {
  static const Engine engine;
  return engine;
}

SignatureSearch::SignatureSearch() : scanner_(*SharedEngine().set), is_found_(SharedEngine().parts.size()) {}

SignatureMatch SignatureSearch::Find(std::string_view text) {
  const SignatureMatcher& matcher = SignatureMatcher::Shared();
  if (!scanner_.works()) return matcher.Match(text);
  scanner_.Scan(text, found_);
  if (found_.empty()) return {};
  for (const Hint& hint : found_) is_found_[hint.literal] = 1;
  candidates_.clear();
  for (const Hint& hint : found_) {
    for (const Engine::Trigger& trigger : SharedEngine().triggers[hint.literal]) {
      if (std::all_of(trigger.others.begin(), trigger.others.end(), [&](auto part) { return is_found_[part] != 0; }))
        candidates_.push_back(trigger.pattern);
    }
  }
  for (const Hint& hint : found_) is_found_[hint.literal] = 0;
  if (candidates_.empty()) return {};
  std::sort(candidates_.begin(), candidates_.end());
  return matcher.Match(text, candidates_);
}

const catalogue::SignatureRow* FindSignature(std::string_view text) {
  return SignatureMatcher::Shared().Match(text).row;
}

}  // namespace vigil::textlog
