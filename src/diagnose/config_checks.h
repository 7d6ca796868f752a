// What the files of config rules share: what a broken rule has to say, and how settings are asked for.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/config.h"
#include "diagnose/facts.h"
#include "diagnose/view.h"

namespace vigil::diagnose {

// What a check has to say when its rule is broken: the statement, and the settings it stands on.
struct Breach {
  model::Statement says;
  const model::Fact* fact = nullptr;
  bool grave = false;  // a warning at least, whatever the row says
  const model::Fact* other = nullptr;
  std::string proposed = {};  // value of `setting`; where none can be computed the row has it in words
  std::string setting = {};   // where it is another one than `fact`
  std::optional<model::Severity> severity = {};  // in the place of the row's, where this case is better or worse
};

using Check = std::optional<Breach> (*)(const RunView& run);

using CheckAll = std::vector<Breach> (*)(const RunView& run);

// One of the two: a rule that is broken or not, or one that several settings can break.
struct NamedCheck {
  constexpr NamedCheck(std::string_view rule, Check judge) : name(rule), one(judge) {}
  constexpr NamedCheck(std::string_view rule, CheckAll judge) : name(rule), all(judge) {}
  std::vector<Breach> Run(const RunView& run) const;

  std::string_view name;
  Check one = nullptr;
  CheckAll all = nullptr;
};

std::span<const NamedCheck> RunChecks();
std::span<const NamedCheck> StrategyChecks();
std::span<const NamedCheck> PrecisionChecks();
std::span<const NamedCheck> DistributedChecks();
std::span<const NamedCheck> ScheduleChecks();
std::span<const NamedCheck> AdapterChecks();
std::span<const NamedCheck> MemoryChecks();
std::span<const NamedCheck> ValueChecks();

// ---- settings of the training itself, not of a file beside it (DeepSpeed, accelerate, the model's own)

// The first of the names that is stated, by canonical key or by its name in the file; null when none is.
const model::Fact* Stated(const RunView& run, std::initializer_list<std::string_view> names);
std::optional<double> StatedNumber(const RunView& run, std::initializer_list<std::string_view> names);
std::optional<bool> StatedSwitch(const RunView& run, std::initializer_list<std::string_view> names);
// In lower case; empty when none is stated.
std::string StatedWord(const RunView& run, std::initializer_list<std::string_view> names);
std::optional<bool> SwitchOf(const model::Fact& fact);
bool IsOn(const model::Fact* fact);

// A setting of a file with that role, by its path there.
const model::Fact* SettingIn(const RunView& run, std::string_view role, std::string_view path);
// A DeepSpeed setting, in its own file or in the section of another.
const model::Fact* DeepspeedSetting(const RunView& run, std::string_view path);
const model::Fact* FsdpSetting(const RunView& run, std::string_view name);  // without "fsdp_"

// ---- what they amount to

const model::Fact* DeepspeedFact(const RunView& run);  // that shows that DeepSpeed is used, or null
const model::Fact* FsdpFact(const RunView& run);
const model::Fact* ZeroStageFact(const RunView& run);
bool UsesZero3(const RunView& run);
bool UsesAdapter(const RunView& run);
bool HasRole(const RunView& run, std::string_view role);

// The usual rates of the method, for the optimizer that is stated; unknown for one whose rates are not known.
LrBand BandForOptimizer(const RunView& run);

std::string_view NameOf(const model::Fact& fact);
model::Quote QuoteOf(const RunView& run, const model::Fact& fact);

}  // namespace vigil::diagnose
