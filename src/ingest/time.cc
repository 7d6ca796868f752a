#include "ingest/time.h"

#include <chrono>
#include <optional>

#include "base/base.h"
#include "model/run.h"

namespace vigil::ingest {
namespace {

// The number in the next `count` digits, taken from the front of `text`.
std::optional<int> TakeDigits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool Take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

double TakeFraction(std::string_view& text) {
  double fraction = 0;
  if (!Take(text, ".,")) return fraction;
  for (double place = 0.1; !text.empty() && text.front() >= '0' && text.front() <= '9'; place /= 10) {
    fraction += place * (text.front() - '0');
    text.remove_prefix(1);
  }
  return fraction;
}

// Seconds east of Greenwich; nullopt when what is left is no zone.
std::optional<int> TakeZone(std::string_view& text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const bool west = text.front() == '-';
  if (!Take(text, "+-")) return std::nullopt;
  const auto hours = TakeDigits(text, 2);
  Take(text, ":");
  const auto minutes = text.empty() ? std::optional(0) : TakeDigits(text, 2);
  if (!hours || !minutes || !text.empty()) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

double ParseUnixTime(std::string_view text) {
  text = Trim(text);
  const auto year = TakeDigits(text, 4);
  if (!year || !Take(text, "-")) return model::kNoValue;
  const auto month = TakeDigits(text, 2);
  if (!month || !Take(text, "-")) return model::kNoValue;
  const auto day = TakeDigits(text, 2);
  if (!day || !Take(text, "T ")) return model::kNoValue;
  const auto hour = TakeDigits(text, 2);
  if (!hour || !Take(text, ":")) return model::kNoValue;
  const auto minute = TakeDigits(text, 2);
  if (!minute || !Take(text, ":")) return model::kNoValue;
  const auto second = TakeDigits(text, 2);
  if (!second) return model::kNoValue;
  const double fraction = TakeFraction(text);
  const auto zone = TakeZone(text);
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!zone || !date.ok()) return model::kNoValue;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + *hour * 3600 + *minute * 60 + *second + fraction - *zone;
}

}  // namespace vigil::ingest
