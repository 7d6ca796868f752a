#include "diagnose/config_checks.h"

#include <algorithm>
#include <array>

#include "base/base.h"

namespace vigil::diagnose {
namespace {

std::string_view RoleOf(const RunView& run, const model::Fact& fact) {
  return fact.place.source < run->sources.size() ? std::string_view(run->sources[fact.place.source].format)
                                                 : std::string_view();
}

bool IsBeside(std::string_view role) {
  return role == kDeepspeedRole || role == kAccelerateRole || role == kModelRole || role == kTokenizerRole ||
         role == kRanRole;
}

bool IsEmptyValue(std::string_view value) {
  constexpr std::array<std::string_view, 6> kNothing = {"", "null", "none", "false", "{}", "[]"};
  return std::find(kNothing.begin(), kNothing.end(), ToLower(Trim(value))) != kNothing.end();
}

}  // namespace

std::vector<Breach> NamedCheck::Run(const RunView& run) const {
  if (all != nullptr) return all(run);
  std::vector<Breach> breaches;
  if (auto breach = one(run)) breaches.push_back(std::move(*breach));
  return breaches;
}

const model::Fact* Stated(const RunView& run, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const model::Fact& fact : run->facts) {
      if ((fact.key == name || fact.raw_key == name) && !IsBeside(RoleOf(run, fact))) return &fact;
    }
  }
  return nullptr;
}

std::optional<double> StatedNumber(const RunView& run, std::initializer_list<std::string_view> names) {
  const model::Fact* fact = Stated(run, names);
  return fact == nullptr ? std::nullopt : ParseNumber(fact->value);
}

std::optional<bool> SwitchOf(const model::Fact& fact) {
  const std::string word = ToLower(Trim(fact.value));
  if (word == "true" || word == "1" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "0" || word == "no" || word == "off" || word == "none" || word == "null") return false;
  return std::nullopt;
}

bool IsOn(const model::Fact* fact) { return fact != nullptr && SwitchOf(*fact).value_or(false); }

std::optional<bool> StatedSwitch(const RunView& run, std::initializer_list<std::string_view> names) {
  const model::Fact* fact = Stated(run, names);
  return fact == nullptr ? std::nullopt : SwitchOf(*fact);
}

std::string StatedWord(const RunView& run, std::initializer_list<std::string_view> names) {
  const model::Fact* fact = Stated(run, names);
  return fact == nullptr ? std::string() : ToLower(Trim(fact->value));
}

const model::Fact* SettingIn(const RunView& run, std::string_view role, std::string_view path) {
  const auto at = std::find_if(run->facts.begin(), run->facts.end(), [&](const model::Fact& fact) {
    return fact.raw_key == path && RoleOf(run, fact) == role;
  });
  return at == run->facts.end() ? nullptr : &*at;
}

const model::Fact* DeepspeedSetting(const RunView& run, std::string_view path) {
  if (const model::Fact* fact = SettingIn(run, kDeepspeedRole, path)) return fact;
  const std::string inline_path = "deepspeed." + std::string(path);
  if (const model::Fact* fact = Stated(run, {inline_path})) return fact;
  return SettingIn(run, kAccelerateRole, "deepspeed_config." + std::string(path));
}

const model::Fact* FsdpSetting(const RunView& run, std::string_view name) {
  const std::string with = "fsdp_config.fsdp_" + std::string(name);
  const std::string without = "fsdp_config." + std::string(name);
  const std::string bare = "fsdp_" + std::string(name);
  if (const model::Fact* fact = Stated(run, {with, without, bare})) return fact;
  return SettingIn(run, kAccelerateRole, with);
}

bool HasRole(const RunView& run, std::string_view role) {
  return std::any_of(run->sources.begin(), run->sources.end(),
                     [&](const model::Source& source) { return source.format == role; });
}

const model::Fact* DeepspeedFact(const RunView& run) {
  const model::Fact* fact = Stated(run, {"deepspeed"});
  if (fact != nullptr && !IsEmptyValue(fact->value)) return fact;
  for (const model::Fact& other : run->facts) {
    const bool is_own = RoleOf(run, other) == kDeepspeedRole || other.raw_key.starts_with("deepspeed.");
    if (is_own) return &other;
  }
  const model::Fact* type = SettingIn(run, kAccelerateRole, "distributed_type");
  return type != nullptr && ToLower(type->value) == "deepspeed" ? type : nullptr;
}

const model::Fact* FsdpFact(const RunView& run) {
  for (const model::Fact& fact : run->facts) {
    const std::string_view role = RoleOf(run, fact);
    if (IsBeside(role) && role != kAccelerateRole) continue;
    const bool section = fact.raw_key.starts_with("fsdp_config.") || fact.raw_key == "fsdp";
    if (section && !IsEmptyValue(fact.value)) return &fact;
  }
  const model::Fact* type = SettingIn(run, kAccelerateRole, "distributed_type");
  return type != nullptr && ToLower(type->value) == "fsdp" ? type : nullptr;
}

const model::Fact* ZeroStageFact(const RunView& run) {
  if (const model::Fact* fact = DeepspeedSetting(run, "zero_optimization.stage")) return fact;
  return SettingIn(run, kAccelerateRole, "deepspeed_config.zero_stage");
}

bool UsesZero3(const RunView& run) {
  const model::Fact* stage = ZeroStageFact(run);
  return stage != nullptr && ParseNumber(stage->value).value_or(0) == 3;
}

bool UsesAdapter(const RunView& run) {
  if (run.HasMethod("lora")) return true;
  const model::Fact* fact = Stated(run, {"adapter"});
  if (fact == nullptr) return false;
  const std::string word = ToLower(Trim(fact->value));
  return !IsEmptyValue(word) && word != "full" && word != "freeze" && word != "0";
}

std::string_view NameOf(const model::Fact& fact) { return fact.raw_key.empty() ? fact.key : fact.raw_key; }

model::Quote QuoteOf(const RunView& run, const model::Fact& fact) {
  const bool has_source = fact.place.source < run->sources.size();
  return {fact.value, has_source ? run->sources[fact.place.source].path : std::string(), fact.place.line};
}

}  // namespace vigil::diagnose
