#include "textlog/hints.h"

#include <algorithm>
#include <array>
#include <string>

#include "textlog/line.h"
#include "textlog/signatures.h"

namespace vigil::textlog {
namespace {

struct Word {
  std::string_view text;
  std::uint32_t bits;
};

// Lower case; found in any case. What a reader takes must hold one of its words: the tests read with and without them.
constexpr std::array kWords = {
    Word{"loss", kHintMetric},
    Word{"step", kHintMetric},
    Word{"iter", kHintMetric},
    Word{"epoch", kHintMetric},
    Word{"trl:", kHintMetric},
    Word{"tel:", kHintMetric},
    Word{"batch=", kHintMetric},
    Word{"num_updates", kHintMetric},
    Word{" updates", kHintMetric},
    Word{" up. ", kHintMetric},
    Word{"result for ", kHintMetric},
    Word{"valid", kHintMetric},
    Word{"accuracy", kHintMetric},
    Word{"eval begin", kHintMetric},
    Word{"evaluation begin", kHintMetric},
    Word{"learn: ", kHintMetric},
    Word{"acc@1", kHintMetric},
    Word{"reward", kHintMetric},
    Word{" net output #", kHintMetric},
    Word{"| rollout/", kHintTable},
    Word{"| time/", kHintTable},
    Word{"| grad_norm ", kHintTable},
    Word{"it/s", kHintBar},
    Word{"s/it", kHintBar},
    Word{"/s, eta: ", kHintBar},
    Word{"{'", kHintDict},
    Word{"{\"", kHintDict | kHintWrapped},
    Word{"traceback (most recent call", kHintTraceback},
    Word{"the above exception", kHintTraceback},
    Word{"arguments(", kHintArguments},
    Word{"config(", kHintArguments},
    Word{"args(", kHintArguments},
    Word{"namespace(", kHintArguments},
    Word{"config: ", kHintArguments},
    Word{"num examples", kHintArguments},
    Word{"batch size per device", kHintArguments},
    Word{"gradient accumulation steps", kHintArguments},
    Word{"num epochs", kHintArguments},
    Word{"total optimization steps", kHintArguments},
    Word{"total steps", kHintArguments},
    Word{"trainable parameters", kHintArguments},
    Word{" .....", kHintArguments},
    Word{":print] ", kHintArguments},
    Word{"json = {", kHintArguments},
    Word{"config:\n", kHintArguments},
    Word{"overriding", kHintArguments},
    Word{".py --", kHintArguments},
    Word{".py \\", kHintArguments},
    Word{"torchrun ", kHintArguments},
    Word{"accelerate launch ", kHintArguments},
    Word{"python -m ", kHintArguments},
    Word{"python3 -m ", kHintArguments},
    Word{"llamafactory-cli ", kHintArguments},
    Word{"axolotl train ", kHintArguments},
    Word{"   \r", kHintCleared},
    Word{"root cause (first", kHintFailures},
    Word{"srun: error: ", kHintFailures},
    Word{"loss scale", kHintNotice},
    Word{"checkpoint", kHintNotice},
    Word{"resum", kHintNotice},
    Word{"continuing training", kHintNotice},
    Word{"nan_to_num", kHintNotice},
    Word{"nan_inf_filter", kHintNotice},
    Word{"exception ignored in", kHintNotice},
    Word{kEndWords[0], kHintNotice},
    Word{kEndWords[1], kHintNotice},
    Word{kEndWords[2], kHintNotice},
    Word{kEndWords[3], kHintNotice},
};

// Words that many signatures share and lines of healthy loops rarely hold. They only say that a line is worth the
// second search; the engine is made quickly, and searches fastest, with few literals.
constexpr std::array<std::string_view, 46> kSharedWords = {
    "error",     "failed",        "kill",         "out of ",      "timed out",   "timeout",       "unable to",
    "cannot",    "expected ",     "exits with",   "signal",       "cancelled",   "mismatch",      "generation",
    "_status_",  "nvidia driver", "abort",        "terminat",     "connection ", "not installed", "exception",
    "interrupt", "nccl warn",     "nvlink",       "not found",    "couldn't",    "can't",         "invalid ",
    "does not",  "no such ",      "srun: ",       "memory limit", "exit",        "divisible",     "doesn't",
    "is not ",   "are not ",      "must ",        "already ",     "should ",     "fault",         "illegal",
    "denied",    "requires ",     "insufficient", "corrupt"};

constexpr std::size_t kShortestLiteral = 4;

struct Literal {
  std::string text;
  std::uint32_t bits = 0;
};

// The words above and what the signatures need beside them: a line that carries a signature holds one of these. Which
// signature it is, a second search in that line alone finds.
std::vector<Literal> CollectLiterals() {
  std::vector<Literal> literals;
  literals.reserve(std::size(kWords) + std::size(kSharedWords));
  for (const Word& word : kWords) literals.push_back({std::string(word.text), word.bits});
  const std::size_t first_shared = literals.size();
  for (const std::string_view word : kSharedWords) literals.push_back({std::string(word), kHintSignature});
  const SignatureMatcher& matcher = SignatureMatcher::Shared();
  std::vector<SignatureMatcher::PatternId> order(matcher.pattern_count());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<SignatureMatcher::PatternId>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return matcher.LiteralOf(a).size() < matcher.LiteralOf(b).size(); });
  for (const SignatureMatcher::PatternId pattern : order) {
    const std::string_view text = matcher.LiteralOf(pattern);
    if (text.size() < kShortestLiteral) continue;
    // Any text that every match holds will do, and one that others share is best.
    const std::vector<std::string> runs = LiteralRuns(matcher.ExpressionOf(pattern));
    const bool is_inside = std::any_of(
        literals.begin() + static_cast<std::ptrdiff_t>(first_shared), literals.end(), [&](const Literal& literal) {
          return std::any_of(runs.begin(), runs.end(),
                             [&](const std::string& run) { return run.find(literal.text) != std::string::npos; });
        });
    if (!is_inside) literals.push_back({std::string(text), kHintSignature});
  }
  return literals;
}

std::vector<std::string_view> TextsOf(const std::vector<Literal>& literals) {
  std::vector<std::string_view> texts;
  texts.reserve(literals.size());
  for (const Literal& literal : literals) texts.push_back(literal.text);
  return texts;
}

}  // namespace

struct HintScanner::Engine {
  std::vector<Literal> literals = CollectLiterals();
  LiteralSet set{TextsOf(literals), LiteralSet::Report::kEveryPlace};
};

const HintScanner::Engine& HintScanner::SharedEngine() {
  static const Engine engine;
  return engine;
}

HintScanner::HintScanner() : scanner_(SharedEngine().set) {}

std::uint32_t HintScanner::BitsOf(std::uint32_t literal) { return SharedEngine().literals[literal].bits; }

std::string_view HintScanner::TextOf(std::uint32_t literal) { return SharedEngine().literals[literal].text; }

bool HasWord(std::string_view text, std::uint32_t bit) {
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const Word& word) { return (word.bits & bit) != 0 && ContainsIgnoringCase(text, word.text); });
}

std::size_t HintScanner::literal_count() { return SharedEngine().literals.size(); }

}  // namespace vigil::textlog
