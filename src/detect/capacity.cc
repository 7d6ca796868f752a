#include "detect/capacity.h"

#include <array>
#include <string>
#include <string_view>

#include "base/base.h"

namespace vigil::detect {
namespace {

constexpr double kGibBytes = 1024.0 * 1024 * 1024;
constexpr double kGbBytes = 1e9;

// Trackers write bytes, MiB or GiB under the same name. No device has less than 1 GiB or more than some hundred.
double ToGib(double stated) {
  constexpr double kFewestBytes = 1e8;
  constexpr double kMostGib = 1024;
  if (stated >= kFewestBytes) return stated / kGibBytes;
  return stated > kMostGib ? stated / 1024 : stated;
}

struct Device {
  std::string_view name;
  double gigabytes;
};

// Devices that are sold in one size. Names are those that the driver gives.
constexpr std::array kDevices = {Device{"H200", 141},    Device{"B200", 180},    Device{"L40", 48},
                                 Device{"A10G", 24},     Device{"A40", 48},      Device{"A6000", 48},
                                 Device{"RTX 4090", 24}, Device{"RTX 3090", 24}, Device{"Tesla T4", 16},
                                 Device{"NVIDIA L4", 24}};

// "NVIDIA A100-SXM4-80GB": the number before GB.
double SizeInName(std::string_view name) {
  const std::size_t unit = name.find("GB");
  if (unit == std::string_view::npos) return 0;
  std::size_t begin = unit;
  while (begin > 0 && name[begin - 1] == ' ') --begin;
  const std::size_t end = begin;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  return ParseNumber(name.substr(begin, end - begin)).value_or(0);
}

double SizeOf(std::string_view name) {
  if (const double stated = SizeInName(name); stated > 0) return stated;
  for (const Device& device : kDevices) {
    if (name.find(device.name) != std::string_view::npos) return device.gigabytes;
  }
  return 0;
}

}  // namespace

double CapacityGib(const model::Run& run) {
  const auto stated = run.FactNumber("device_memory");
  if (stated && *stated >= 1) return ToGib(*stated);
  const model::Fact* name = run.FindFact("device_name");
  return name == nullptr ? 0 : SizeOf(name->value) * kGbBytes / kGibBytes;
}

}  // namespace vigil::detect
