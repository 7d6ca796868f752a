#include "import/log/hints.h"

#include <hs/hs.h>

#include <algorithm>
#include <array>
#include <string>

#include "import/log/line.h"

namespace vigil::import::log {
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
    Word{"| rollout/", kHintTable},
    Word{"| time/", kHintTable},
    Word{"| grad_norm ", kHintTable},
    Word{"it/s", kHintBar},
    Word{"s/it", kHintBar},
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
    Word{"   \r", kHintCleared},
    Word{"root cause (first", kHintFailures},
    Word{"loss scale", kHintNotice},
    Word{"checkpoint", kHintNotice},
    Word{"resum", kHintNotice},
    Word{"continuing training", kHintNotice},
    Word{"nan_to_num", kHintNotice},
    Word{"nan_inf_filter", kHintNotice},
    Word{"exception ignored in", kHintNotice},
    Word{"training complete", kHintNotice},
    Word{"training finished", kHintNotice},
    Word{"finished training", kHintNotice},
    Word{"training done", kHintNotice},
};

// Words that many signatures share and healthy logs rarely hold. The engine is made quickly, and searches fastest, with
// less than a hundred literals.
constexpr std::array<std::string_view, 35> kSharedWords = {
    "error",     "failed",        "kill",       "out of ",      "timed out",   "timeout",       "unable to",
    "cannot",    "expected ",     "exits with", "signal",       "cancelled",   "mismatch",      "generation",
    "_status_",  "nvidia driver", "abort",      "terminat",     "connection ", "not installed", "exception",
    "interrupt", "nccl warn",     "nvlink",     "not found",    "couldn't",    "can't",         "invalid ",
    "does not",  "no such ",      "srun: ",     "memory limit", "exit",        "divisible",     "doesn't"};

constexpr std::size_t kShortestLiteral = 4;

struct Literal {
  std::string text;
  std::uint32_t bits = 0;
  std::vector<SignatureMatcher::PatternId> patterns;
};

// The words above and the literals of the signatures. A signature whose literal contains another's is found by that.
std::vector<Literal> CollectLiterals() {
  std::vector<Literal> literals;
  literals.reserve(std::size(kWords) + std::size(kSharedWords));
  for (const Word& word : kWords) literals.push_back({std::string(word.text), word.bits, {}});
  const std::size_t first_shared = literals.size();
  for (const std::string_view word : kSharedWords) literals.push_back({std::string(word), kHintSignature, {}});
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
    const auto inside = std::find_if(
        literals.begin() + static_cast<std::ptrdiff_t>(first_shared), literals.end(), [&](const Literal& literal) {
          return std::any_of(runs.begin(), runs.end(),
                             [&](const std::string& run) { return run.find(literal.text) != std::string::npos; });
        });
    Literal& literal = inside == literals.end() ? literals.emplace_back(Literal{std::string(text), 0, {}}) : *inside;
    literal.bits |= kHintSignature;
    literal.patterns.push_back(pattern);
  }
  return literals;
}

int Collect(unsigned id, unsigned long long /*from*/, unsigned long long to, unsigned /*flags*/, void* hints) {
  static_cast<std::vector<Hint>*>(hints)->push_back({static_cast<std::uint32_t>(to), id});
  return 0;
}

}  // namespace

struct HintScanner::Engine {
  std::vector<Literal> literals = CollectLiterals();
  hs_database_t* database = nullptr;

  Engine() {
    std::vector<const char*> texts;
    std::vector<std::size_t> lengths;
    std::vector<unsigned> flags(literals.size(), HS_FLAG_CASELESS);
    std::vector<unsigned> ids;
    for (const Literal& literal : literals) {
      ids.push_back(static_cast<unsigned>(ids.size()));
      texts.push_back(literal.text.data());
      lengths.push_back(literal.text.size());
    }
    hs_compile_error_t* problem = nullptr;
    hs_compile_lit_multi(texts.data(), flags.data(), ids.data(), lengths.data(), static_cast<unsigned>(ids.size()),
                         HS_MODE_BLOCK, nullptr, &database, &problem);
    if (problem != nullptr) hs_free_compile_error(problem);
  }
  ~Engine() { hs_free_database(database); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) = delete;
  Engine& operator=(Engine&&) = delete;
};

const HintScanner::Engine& HintScanner::SharedEngine() {
  static const Engine engine;
  return engine;
}

HintScanner::HintScanner() {
  const Engine& engine = SharedEngine();
  hs_scratch_t* scratch = nullptr;
  works_ = engine.database != nullptr && hs_alloc_scratch(engine.database, &scratch) == HS_SUCCESS;
  scratch_ = scratch;
}

HintScanner::~HintScanner() { hs_free_scratch(static_cast<hs_scratch_t*>(scratch_)); }

void HintScanner::Scan(std::string_view block, std::vector<Hint>& hints) {
  hints.clear();
  hs_scan(SharedEngine().database, block.data(), static_cast<unsigned>(block.size()), 0,
          static_cast<hs_scratch_t*>(scratch_), Collect, &hints);
}

std::uint32_t HintScanner::BitsOf(std::uint32_t literal) { return SharedEngine().literals[literal].bits; }

const std::vector<SignatureMatcher::PatternId>& HintScanner::PatternsOf(std::uint32_t literal) {
  return SharedEngine().literals[literal].patterns;
}

std::string_view HintScanner::TextOf(std::uint32_t literal) { return SharedEngine().literals[literal].text; }

bool HasWord(std::string_view text, std::uint32_t bit) {
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const Word& word) { return (word.bits & bit) != 0 && ContainsIgnoringCase(text, word.text); });
}

std::size_t HintScanner::literal_count() { return SharedEngine().literals.size(); }

}  // namespace vigil::import::log
