#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/catalogue.h"

namespace vigil::report {

std::string OneLine(std::string_view text) {
  // Longer texts are dumps, and nobody reads them in a report; JSON has them whole.
  constexpr std::size_t kLongest = 2000;
  std::size_t end = std::min(text.size(), kLongest);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U && end > 0) --end;
  std::string flat(text.substr(0, end));
  if (end < text.size()) flat += "...";
  std::replace_if(flat.begin(), flat.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return std::string(Trim(Printable(flat)));
}

std::string CauseTitle(std::string_view cause) {
  if (cause == kUndecided) return "cause unknown";
  const catalogue::CauseRow* row = catalogue::FindCause(cause);
  return OneLine(row == nullptr ? cause : row->title);
}

std::string Percent(double share) {
  const double bounded = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  return fmt::format("{:.0f}%", bounded * 100);
}

std::string CountOf(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", FormatCount(count), noun, count == 1 ? "" : "s");
}

std::string LabelText(const model::Labels& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels) parts.push_back(fmt::format("{}={}", OneLine(key), OneLine(value)));
  return Join(parts, " ");
}

std::string_view Name(model::SourceState state) {
  constexpr std::array<std::string_view, 3> kNames = {"read", "partial", "duplicate"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view Name(model::CoverageState state) {
  constexpr std::array<std::string_view, 3> kNames = {"checked", "partly", "blind"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view Word(model::CoverageState state) {
  return state == model::CoverageState::kBlind ? "not checked" : Name(state);
}

}  // namespace vigil::report
