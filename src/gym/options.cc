#include "gym/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "guard/guard.h"
#include "gym/json.h"
#include "gym/kernels.h"
#include "gym/ranks.h"
#include "platform/process.h"

namespace vigil::gym {
namespace {

// The one list of names. `Visit` is called with a name and the member.
template <class SomeOptions, class Visit>
void ForEachOption(SomeOptions& options, const Visit& visit) {
  visit("layers", options.shape.layers);
  visit("width", options.shape.width);
  visit("heads", options.shape.heads);
  visit("context", options.shape.context);
  visit("post_norm", options.shape.post_norm);
  visit("steps", options.steps);
  visit("seed", options.seed);
  visit("batch", options.batch);
  visit("accumulate", options.accumulate);
  visit("lr", options.lr);
  visit("warmup", options.warmup);
  visit("clip", options.clip);
  visit("decay", options.decay);
  visit("ranks", options.ranks);
  visit("eval_every", options.eval_every);
  visit("save_every", options.save_every);
  visit("stats_every", options.stats_every);
  visit("timeout_s", options.timeout_s);
  visit("fault", options.fault);
  visit("onset", options.onset);
  visit("strength", options.strength);
  visit("data", options.data);
  visit("guard", options.guard);
}

struct Range {
  std::string_view name;
  double value;
  double least;
  double most;
};

Status CheckRanges(const Options& options) {
  const Range ranges[] = {
      {"--steps", static_cast<double>(options.steps), 1, 1e9},
      {"--batch", static_cast<double>(options.batch), 1, 4096},
      {"--accumulate", static_cast<double>(options.accumulate), 1, 1024},
      {"--layers", static_cast<double>(options.shape.layers), 1, 64},
      {"--width", static_cast<double>(options.shape.width), 16, 2048},
      {"--heads", static_cast<double>(options.shape.heads), 1, 128},
      {"--context", static_cast<double>(options.shape.context), 16, 2048},
      {"--lr", options.lr, 0, 1e6},
      {"--warmup", static_cast<double>(options.warmup), 0, 1e9},
      {"--clip", options.clip, 0, 1e9},
      {"--decay", options.decay, 0, 100},
      {"--ranks", static_cast<double>(options.ranks), 1, kMostRanks},
      {"--threads", static_cast<double>(options.threads), 1, 256},
      {"--onset", static_cast<double>(options.onset), 1, 1e9},
      {"--strength", options.strength, 0, 1e9},
      {"--timeout", options.timeout_s, 0.05, 86400},
  };
  for (const Range& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return Fail(ErrorCode::kInvalid, fmt::format("{} is {}, expected {} to {}", range.name, FormatNumber(range.value),
                                                 FormatNumber(range.least), FormatNumber(range.most)));
  }
  return {};
}

Status CheckShape(const ModelShape& shape) {
  constexpr int kUnit = static_cast<int>(kLane);
  if (shape.context % kUnit != 0)
    return Fail(ErrorCode::kInvalid, fmt::format("--context is {}, expected a multiple of {}", shape.context, kUnit));
  if (shape.heads > 0 && shape.width % (kUnit * shape.heads) == 0) return {};
  return Fail(ErrorCode::kInvalid, fmt::format("--width is {} with {} heads, expected a multiple of {} for each head",
                                               shape.width, shape.heads, kUnit));
}

}  // namespace

Result<Options> Resolve(Options options) {
  const Fault* const fault = FindFault(options.fault);
  if (!options.fault.empty() && fault == nullptr)
    return Fail(ErrorCode::kInvalid,
                fmt::format("there is no fault '{}'; `vigil gym --list` shows all", options.fault));
  if (options.warmup < 0) options.warmup = std::max<std::int64_t>(1, options.steps / 10);
  if (options.onset == 0) options.onset = std::max<std::int64_t>(1, options.steps / 2);
  if (options.strength == 0) options.strength = fault == nullptr ? 1 : fault->strength;
  if (!options.guard.empty() && !guard::ParsePolicy(options.guard))
    return Fail(ErrorCode::kInvalid, fmt::format("--guard is {}, expected observe, warn, skip, raise or rollback",
                                                 Printable(options.guard)));
  // A guard that is to return somewhere needs places to return to.
  if (options.guard == "rollback" && options.save_every == 0)
    options.save_every = std::max<std::int64_t>(1, options.steps / 10);
  const int needed = fault == nullptr ? 1 : fault->ranks;
  if (options.ranks == 0) options.ranks = needed;
  if (options.threads == 0) {
    const std::int64_t processors = platform::ProcessorCount();
    options.threads = std::clamp<std::int64_t>(processors / std::max<std::int64_t>(1, options.ranks), 1, 8);
  }
  if (const Status checked = CheckRanges(options); !checked) return Fail(checked.error());
  if (const Status checked = CheckShape(options.shape); !checked) return Fail(checked.error());
  if (options.ranks < needed)
    return Fail(ErrorCode::kInvalid,
                fmt::format("the fault '{}' needs --ranks {} or more, not {}", options.fault, needed, options.ranks));
  return options;
}

std::map<std::string, std::string> ToText(const Options& options) {
  std::map<std::string, std::string> text;
  ForEachOption(options, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      text[name] = value;
    } else {
      text[name] = FormatExact(static_cast<double>(value));
    }
  });
  return text;
}

Result<Options> FromText(const std::map<std::string, std::string>& text, const std::string& origin) {
  Options options;
  std::string missing;
  ForEachOption(options, [&](const char* name, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    const auto found = text.find(name);
    if constexpr (std::is_same_v<Value, std::string>) {
      if (found != text.end()) value = found->second;
    } else {
      const auto number = found == text.end() ? std::nullopt : ParseNumber(found->second);
      // Larger ones would not fit an integer; none of these options comes near.
      const bool fits = number && std::abs(*number) <= 1e9;
      if (fits) value = static_cast<Value>(*number);
      if (!fits) missing = name;
    }
  });
  if (!missing.empty()) return Fail(ErrorCode::kInvalid, origin, fmt::format("no usable value for '{}'", missing));
  return options;
}

std::vector<std::pair<std::string, std::string>> HyperparametersOf(const Options& options) {
  const auto whole = [](std::int64_t value) { return std::to_string(value); };
  std::vector<std::pair<std::string, std::string>> settings = {
      {"learning_rate", FormatExact(options.lr)},
      {"lr_scheduler_type", "cosine"},
      {"warmup_steps", whole(options.warmup)},
      {"max_grad_norm", FormatExact(options.clip)},
      {"weight_decay", FormatExact(options.decay)},
      {"max_steps", whole(options.steps)},
      {"batch_size", whole(options.batch)},
      {"gradient_accumulation_steps", whole(options.accumulate)},
      {"world_size", whole(options.ranks)},
      {"seed", whole(options.seed)},
      {"logging_steps", "1"},
      {"num_layers", whole(options.shape.layers)},
      {"hidden_size", whole(options.shape.width)},
      {"num_heads", whole(options.shape.heads)},
      {"seq_length", whole(options.shape.context)},
      {"vocab_size", whole(options.shape.vocabulary)},
      {"precision", "fp32"}};
  if (options.shape.post_norm) settings.emplace_back("norm_position", "post");
  return settings;
}

std::string ConfigJson(const Options& options) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : HyperparametersOf(options)) {
    lines.push_back(fmt::format("  {}: {}", QuoteJson(key), ParseNumber(value) ? value : QuoteJson(value)));
  }
  return "{\n" + Join(lines, ",\n") + "\n}\n";
}

}  // namespace vigil::gym
