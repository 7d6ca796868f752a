// A progress bar as tqdm draws it: "Epoch 1:  37%|###7  | 284/873 [25:49<45:20,  4.62s/it, loss=2.31]".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vigil::textlog {

struct ProgressBar {
  std::string_view description;  // "Epoch 1", empty when the bar has none
  std::int64_t count = 0;
  std::int64_t total = 0;
  std::string_view postfix;  // "loss=2.31", empty when there is none
  std::string_view rest;     // what is glued behind the closing bracket
};

// The last bar drawn in `segment`, nullopt when there is none. Only bars that count iterations (it/s, s/it) are told.
std::optional<ProgressBar> ParseProgressBar(std::string_view segment);

// A bar without description and postfix at the front of `text`, up to the end of its line or segment: the length, and
// its counts in `bar`. 0 for every other text.
std::size_t ReadPlainBar(std::string_view text, ProgressBar& bar);

enum class BarKind : std::uint8_t { kPlain, kTraining, kOther };
// What a bar counts, from its description: kPlain without one, kTraining for epochs and training, else kOther.
BarKind KindOf(const ProgressBar& bar);

}  // namespace vigil::textlog
