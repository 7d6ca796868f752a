#include "diagnose/facts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/curve.h"

namespace vigil::diagnose {
namespace {

template <std::size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 4> kTrueWords = {"true", "1", "yes", "on"};
constexpr std::array<std::string_view, 6> kFalseWords = {"false", "0", "no", "off", "none", "null"};

bool HasWord(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// "bf16" and "float8" hold digits of other names: the more special ones are asked for first.
Precision ParsePrecision(std::string_view stated) {
  const std::string text = ToLower(stated);
  if (HasWord(text, "bf16") || HasWord(text, "bfloat16")) return Precision::kBf16;
  if (HasWord(text, "fp8") || HasWord(text, "float8")) return Precision::kFp8;
  if (HasWord(text, "16")) return Precision::kFp16;
  if (HasWord(text, "32") || text == "no" || text == "false") return Precision::kFp32;
  return Precision::kUnknown;
}

struct MethodBand {
  std::string_view method;
  double low;
  double high;
  std::string_view words;  // what a reader calls it
};

// Full fine-tuning and LoRA as guides to fine-tuning give them; pretraining as in the published runs of 0.1 to 100 B
// parameters; GRPO, PPO and DPO around the defaults of their trainers. An adapter takes about ten times more; where a
// run does not say whether it has one, both ranges are usual.
constexpr std::array kBands = {
    MethodBand{"pretrain", 1e-4, 1e-3, "pretraining"},
    MethodBand{"sft", 1e-5, 5e-5, "fine-tuning"},
    MethodBand{"lora", 1e-4, 3e-4, "LoRA"},
    MethodBand{"grpo", 1e-6, 1e-5, "GRPO"},
    MethodBand{"ppo", 1e-6, 1e-5, "PPO"},
    MethodBand{"dpo", 5e-7, 5e-6, "DPO"},
};
constexpr double kAdapterFactor = 10;

enum class Adapter : std::uint8_t { kUnknown, kNone, kSome };

// A stated adapter of "none" or "full" is a statement too; silence is not.
Adapter AdapterOf(const RunView& run) {
  if (run->method.name == "lora") return Adapter::kSome;
  const model::Fact* fact = run.FindFact("adapter");
  if (fact == nullptr) return Adapter::kUnknown;
  const std::string word = ToLower(Trim(fact->value));
  return IsOneOf(word, kFalseWords) || word == "full" ? Adapter::kNone : Adapter::kSome;
}

LrBand BandOfMethod(const RunView& run) {
  const Adapter adapter = AdapterOf(run);
  for (const MethodBand& band : kBands) {
    if (band.method != run->method.name) continue;
    const std::string words(band.words);
    LrBand usual{true, true, band.low, band.high, says::MethodPlain{.method = words}};
    // Pretraining has no adapter, and LoRA always has one.
    if (adapter == Adapter::kNone || band.method == "pretrain" || band.method == "lora") return usual;
    usual.high *= kAdapterFactor;
    usual.method = says::MethodEither{.method = words};
    if (adapter == Adapter::kUnknown) return usual;
    usual.low *= kAdapterFactor;
    usual.method = says::MethodWithAdapter{.method = words};
    return usual;
  }
  return {};
}

// Without a known method only what no method uses is out of range.
constexpr double kLowestAdam = 1e-5;
constexpr double kHighestAdam = 3e-3;
constexpr double kHighestAny = 0.5;

}  // namespace

std::optional<bool> FactSwitch(const RunView& run, std::string_view key) {
  const model::Fact* fact = FindSetting(run, key);
  if (fact == nullptr) return std::nullopt;
  const std::string word = ToLower(Trim(fact->value));
  if (IsOneOf(word, kTrueWords)) return true;
  if (IsOneOf(word, kFalseWords)) return false;
  return std::nullopt;
}

const model::Fact* FindSetting(const RunView& run, std::string_view key) {
  if (const model::Fact* fact = run.FindFact(key)) return fact;
  const auto at =
      std::find_if(run->facts.begin(), run->facts.end(), [&](const model::Fact& fact) { return fact.raw_key == key; });
  return at == run->facts.end() ? nullptr : &*at;
}

Precision PrecisionOf(const RunView& run) {
  const auto bf16 = FactSwitch(run, "bf16");
  const auto fp16 = FactSwitch(run, "fp16");
  if (bf16.value_or(false)) return Precision::kBf16;
  if (fp16.value_or(false)) return Precision::kFp16;
  if (const model::Fact* fact = run.FindFact("precision")) {
    if (const Precision stated = ParsePrecision(fact->value); stated != Precision::kUnknown) return stated;
  }
  return bf16 && fp16 ? Precision::kFp32 : Precision::kUnknown;
}

// A run that logs rewards is one whatever its method was taken for.
bool IsReinforcement(const RunView& run) {
  if (run.HasMethod("grpo") || run.HasMethod("ppo") || run.HasMethod("ebft")) return true;
  return Logged(run, "reward") || Logged(run, "reward_of");
}

// A stated optimizer decides; defaults and habits stand in only for silence.
bool UsesAdam(const RunView& run) {
  for (const std::string_view key : {"optim", "optimizer", "optimizer_type", "optimizer.name"}) {
    const model::Fact* fact = FindSetting(run, key);
    if (fact != nullptr) return HasWord(ToLower(fact->value), "adam");
  }
  return run->profile.defaults_to_adam || IsLanguageModel(run);
}

bool IsLanguageModel(const RunView& run) {
  if (run.FindFact("vocab_size") != nullptr || Logged(run, "tokens_per_s") || Logged(run, "num_tokens")) return true;
  return std::any_of(kBands.begin(), kBands.end(), [&](const MethodBand& band) { return run.HasMethod(band.method); });
}

namespace {

bool NamesAdversarial(std::string_view word) {
  constexpr std::array<std::string_view, 9> kNames = {"gan",       "dcgan",  "wgan",    "cyclegan",   "stylegan",
                                                      "stylegan2", "biggan", "pix2pix", "adversarial"};
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end();
}

// A model that is named after it.
bool SaysAdversarial(const model::Fact& fact) {
  if (fact.key != "architectures") return false;
  std::string text = ToLower(fact.value);
  for (char& c : text) c = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : ' ';
  const std::vector<std::string_view> words = Split(text, ' ');
  return std::any_of(words.begin(), words.end(), NamesAdversarial);
}

}  // namespace

bool IsAdversarial(const RunView& run) {
  if (Logged(run, "discriminator_loss") || Logged(run, "generator_loss")) return true;
  if (run.FindFact("discriminator_lr") != nullptr) return true;
  return std::any_of(run->facts.begin(), run->facts.end(), SaysAdversarial);
}

// What was logged counts before what was configured: a scheduler may never have reached the setting.
double PeakLr(const RunView& run) {
  double peak = model::kNoValue;
  if (const model::Series* series = run.Find("lr")) {
    for (const double value : series->values) {
      if (std::isfinite(value) && !(value <= peak)) peak = value;
    }
  }
  if (!std::isnan(peak)) return peak;
  return run.FactNumber("lr").value_or(model::kNoValue);
}

LrBand UsualLr(const RunView& run) {
  if (run->method.confidence >= model::kMethodKnown) {
    if (LrBand band = BandOfMethod(run); band.known) return band;
  }
  if (UsesAdam(run)) return {true, false, kLowestAdam, kHighestAdam, says::MethodPlain{.method = "Adam"}};
  return {true, false, kLowestAdam, kHighestAny, says::MethodAny{}};
}

model::Statement UsualRange(const LrBand& band) {
  return says::RateUsual{.low = band.low, .high = band.high, .method = band.method};
}

// A limit that is not a positive number turns clipping off in every trainer; silence means the default of the trainer.
Clipping ClippingOf(const RunView& run) {
  if (const model::Fact* fact = run.FindFact("max_grad_norm")) {
    const std::string word = ToLower(Trim(fact->value));
    const auto limit = ParseNumber(word);
    if (limit && std::isfinite(*limit) && *limit > 0) return {Clip::kOn, *limit, true};
    if (limit || IsOneOf(word, kFalseWords)) return {Clip::kOff, model::kNoValue, true};
  }
  if (run->profile.default_clip_norm > 0) return {Clip::kOn, run->profile.default_clip_norm, false};
  return {};
}

bool HasLogText(const RunView& run) {
  return std::any_of(run->sources.begin(), run->sources.end(),
                     [](const model::Source& source) { return source.has_messages; });
}

// Where the trainer filters by default a run may hide a NaN without any setting that says so.
bool MayHideNonFinite(const RunView& run) {
  const auto filter = FactSwitch(run, "nan_filter");
  if (filter) return *filter;
  const bool hider = std::any_of(run->events.begin(), run->events.end(),
                                 [](const model::Event& event) { return event.kind == model::EventKind::kNanHider; });
  return hider || run->profile.drops_non_finite;
}

}  // namespace vigil::diagnose
