#include <fmt/format.h>
#include <toml++/toml.h>

#include "guard/guard.h"

namespace vigil::guard {
namespace {

std::string Misfit(std::string_view origin, std::string_view key, const toml::node& node, std::string_view expected) {
  return fmt::format("{}:{}: {}: expected {}", origin, node.source().begin.line, key, expected);
}

Status SetPolicy(Policy& policy, std::string_view origin, std::string_view key, const toml::node& node) {
  const auto named = ParsePolicy(node.value_or(std::string_view()));
  if (!named) return Fail(ErrorCode::kInvalid, Misfit(origin, key, node, "observe, warn, skip, raise or rollback"));
  policy = *named;
  return {};
}

Status SetSwitch(bool& to, std::string_view origin, std::string_view key, const toml::node& node) {
  if (!node.is_boolean()) return Fail(ErrorCode::kInvalid, Misfit(origin, key, node, "true or false"));
  to = node.value_or(to);
  return {};
}

Status SetCount(std::int32_t& count, std::int32_t least, std::string_view origin, std::string_view key,
                const toml::node& node) {
  constexpr std::int64_t kMost = 1'000'000'000;
  const std::int64_t given = node.is_integer() ? node.value_or(std::int64_t{-1}) : -1;
  if (given < least || given > kMost)
    return Fail(ErrorCode::kInvalid, Misfit(origin, key, node, fmt::format("a whole number from {} on", least)));
  count = static_cast<std::int32_t>(given);
  return {};
}

Status SetRatio(double& ratio, std::string_view origin, std::string_view key, const toml::node& node) {
  const double given = node.is_number() ? node.value_or(-1.0) : -1.0;
  if (!(given >= 0)) return Fail(ErrorCode::kInvalid, Misfit(origin, key, node, "a number from 0 on"));
  ratio = given;
  return {};
}

Status Set(Options& options, std::string_view origin, std::string_view key, const toml::node& node) {
  if (key == "enabled") return SetSwitch(options.enabled, origin, key, node);
  if (key == "non_finite") return SetPolicy(options.non_finite, origin, key, node);
  if (key == "spike") return SetPolicy(options.spike, origin, key, node);
  if (key == "spike_ratio") return SetRatio(options.spike_ratio, origin, key, node);
  if (key == "max_consecutive") return SetCount(options.max_consecutive, 1, origin, key, node);
  if (key == "rollback_when_given_up") return SetSwitch(options.rollback_when_given_up, origin, key, node);
  if (key == "max_rollbacks") return SetCount(options.max_rollbacks, 0, origin, key, node);
  const std::vector<std::string> near = NearestNames(
      key,
      {"enabled", "non_finite", "spike", "spike_ratio", "max_consecutive", "rollback_when_given_up", "max_rollbacks"});
  return Fail(ErrorCode::kInvalid,
              fmt::format("{}:{}: the guard has no setting {}{}", origin, node.source().begin.line, Printable(key),
                          near.empty() ? "" : "; did you mean " + near.front() + "?"));
}

}  // namespace

Result<Options> ParseControl(std::string_view toml, std::string_view origin, const Options& base) {
  // It is read on a thread of the training, whose stack may be small. Numbers have a dot too.
  if (const auto fault = FaultOfToml(toml, {.most_key_parts = 2, .most_brackets = 1}))
    return Fail(ErrorCode::kInvalid, fmt::format("{}:{}: {}", origin, fault->line, fault->what));
  const toml::parse_result parsed = toml::parse(toml);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Fail(ErrorCode::kInvalid, fmt::format("{}:{}: {}", origin, error.source().begin.line, error.description()));
  }
  Options options = base;
  for (const auto& [key, node] : parsed.table()) {
    if (const Status set = Set(options, origin, key.str(), node); !set) return Fail(set.error());
  }
  return options;
}

}  // namespace vigil::guard
