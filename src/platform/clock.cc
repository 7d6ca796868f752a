#include "platform/clock.h"

#include <array>
#include <cmath>
#include <ctime>

namespace vigil::platform {

void SleepSeconds(double seconds) {
  if (!(seconds > 0)) return;
  timespec left = {};
  left.tv_sec = static_cast<time_t>(seconds);
  left.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  // An interrupt ends the sleep: whoever waits looks at its flag next.
  ::nanosleep(&left, nullptr);
}

std::string LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  std::array<char, 32> text = {};
  if (::localtime_r(&now, &parts) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts)};
}

}  // namespace vigil::platform
