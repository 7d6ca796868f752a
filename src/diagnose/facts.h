// What a run's settings say, read with care: trainers write the same thing in many ways.
#pragma once

#include <optional>
#include <string_view>

#include "diagnose/view.h"
#include "model/statement.h"

namespace vigil::diagnose {

// True/true/1/yes/on; false/0/no/off/none; nullopt for anything else or no such fact.
std::optional<bool> FactSwitch(const RunView& run, std::string_view key);

// A setting by its canonical key or, where the vocabulary has none, by the name in the source.
const model::Fact* FindSetting(const RunView& run, std::string_view key);

enum class Precision : std::uint8_t { kUnknown, kFp16, kBf16, kFp32, kFp8 };
Precision PrecisionOf(const RunView& run);

bool IsReinforcement(const RunView& run);
// The optimizer is of the Adam kind, by a stated setting, by the trainer's default, or because language models are
// trained that way.
bool UsesAdam(const RunView& run);
// Counts tokens, or does what only language models are trained by.
bool IsLanguageModel(const RunView& run);
// Two sides that play against each other: the loss of one of them was logged, or a setting says so.
bool IsAdversarial(const RunView& run);

// Highest learning rate of the run: what was logged, else what was configured; NaN when neither is known.
double PeakLr(const RunView& run);

// The learning rates that are usual for what the run does. Known only where the method is, or, with a wide range,
// where at least the optimizer is.
struct LrBand {
  bool known = false;
  bool exact = false;  // for the method at hand; otherwise only what no method uses is outside
  double low = 0;
  double high = 0;
  model::Statement method;  // "LoRA", "fine-tuning with an adapter", ... as a clause
};
LrBand UsualLr(const RunView& run);
// "1e-05 to 5e-05 is usual for fine-tuning", as a clause.
model::Statement UsualRange(const LrBand& band);

enum class Clip : std::uint8_t { kUnknown, kOff, kOn };
struct Clipping {
  Clip state = Clip::kUnknown;
  double limit = model::kNoValue;
  bool stated = false;  // by the run itself, not by a default
};
Clipping ClippingOf(const RunView& run);

// A log whose text was read: error messages and restarts in it would have been seen.
bool HasLogText(const RunView& run);

// Whether the logger may have put a finite number in the place of a non-finite loss.
bool MayHideNonFinite(const RunView& run);

}  // namespace vigil::diagnose
