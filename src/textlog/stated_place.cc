#include "textlog/stated_place.h"

#include <array>
#include <optional>
#include <string>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

struct Lead {
  std::string_view word;
  model::Axis axis;
};

// In the order in which they are believed: a step says more than the epoch beside it.
constexpr std::array kLeads = {
    Lead{"global_step", model::Axis::kStep}, Lead{"global step", model::Axis::kStep},
    Lead{"step", model::Axis::kStep},        Lead{"iteration", model::Axis::kStep},
    Lead{"iter", model::Axis::kStep},        Lead{"checkpoint-", model::Axis::kStep},
    Lead{"resumed at", model::Axis::kStep},  Lead{"resuming at", model::Axis::kStep},
    Lead{"epoch", model::Axis::kEpoch},
};

// The number behind a word and what may stand between: "step 1500", "step=1500", "step: 1500", "step_1500", "step #3".
std::optional<std::int64_t> NumberBehind(std::string_view text) {
  constexpr std::size_t kMostBetween = 3;
  const std::size_t digit = text.find_first_not_of(" =:#(_");
  if (digit > kMostBetween || !IsDigit(text[digit])) return std::nullopt;
  std::size_t used = 0;
  const std::int64_t number = ReadDigits(text.substr(digit), used);
  const std::string_view rest = text.substr(digit + used);
  // "0.95" and "1e5" are no counts.
  if (number < 0 || (rest.size() > 1 && rest[0] == '.' && IsDigit(rest[1]))) return std::nullopt;
  return number;
}

}  // namespace

model::Position StatedPlace(std::string_view text) {
  const std::string lower = ToLower(text);
  for (const Lead& lead : kLeads) {
    for (std::size_t at = lower.find(lead.word); at != std::string::npos; at = lower.find(lead.word, at + 1)) {
      if (at > 0 && IsLetter(lower[at - 1])) continue;
      const auto number = NumberBehind(std::string_view(lower).substr(at + lead.word.size()));
      if (number) return {lead.axis, *number};
    }
  }
  return {};
}

}  // namespace vigil::textlog
