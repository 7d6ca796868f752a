// How long before the loss is lost a warning was there.
#pragma once

#include <cstdint>
#include <optional>

#include "catalogue/catalogue.h"
#include "model/run.h"
#include "scale/record.h"

namespace vigil::scale {

// The step at which anybody sees it: the first loss that is not finite, or the first of those that stay clearly above
// the level of the start to the end of the run, where the loss had fallen. nullopt where neither happens.
std::optional<std::int64_t> HarmStep(const model::Run& run);

// The run as its files stood when `step` was logged. Messages are left out: only numbers warn ahead.
model::Run RunUpTo(const model::Run& run, std::int64_t step);

struct Lead {
  std::int64_t onset = 0;
  std::int64_t harm = 0;
  std::optional<std::int64_t> first_warning;  // the first of some 40 looks before `harm` with a finding from warning up

  std::int64_t steps() const { return first_warning ? harm - *first_warning : 0; }
};
// A fault is slow when it shows no earlier than so many steps after its onset.
inline constexpr std::int64_t kSlowSteps = 50;
// Of a fatal run with a slow fault; nullopt for others. Detectors are given what was logged up to each look and no
// more. What a config rule says before the first step is no warning here.
std::optional<Lead> LeadOf(const Record& record, const catalogue::Thresholds& thresholds);

// What any warning is worth: whether a healthy run has one at any of as many looks, over its whole length. nullopt for
// all but each tenth healthy run, which is enough for a share.
std::optional<bool> WarnsByChance(const Record& record, const catalogue::Thresholds& thresholds);

}  // namespace vigil::scale
