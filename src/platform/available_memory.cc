// How much memory is left to this process. A container's limit is not in /proc/meminfo, which is about the machine.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "platform/files.h"
#include "platform/process.h"

namespace vigil::platform {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 20U;

std::string TextOf(const std::string& path) { return ReadWholeFile(path, kMostFileBytes).value_or(std::string()); }

// The number behind a name at the beginning of a line ("MemAvailable:   123 kB"); nothing when there is none.
std::optional<std::uint64_t> NumberOf(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name)) continue;
    const std::size_t first = line.find_first_of("0123456789", name.size());
    if (first == std::string_view::npos) return std::nullopt;
    const std::size_t last = line.find_first_not_of("0123456789", first);
    const auto number = ParseInteger(line.substr(first, last - first));
    return number && *number >= 0 ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
  }
  return std::nullopt;
}

// The names of the files that one version of control groups has.
struct Version {
  std::string_view mount;
  std::string_view limit;
  std::string_view used;
  std::array<std::string_view, 2> cache;  // in memory.stat: is given back when it is needed
};
constexpr Version kFirst = {"/sys/fs/cgroup/memory",
                            "/memory.limit_in_bytes",
                            "/memory.usage_in_bytes",
                            {"total_inactive_file ", "total_active_file "}};
constexpr Version kSecond = {"/sys/fs/cgroup", "/memory.max", "/memory.current", {"inactive_file ", "active_file "}};

// What one group leaves.
std::uint64_t LeftIn(const std::string& folder, const Version& version) {
  const auto limit = NumberOf(TextOf(folder + std::string(version.limit)), "");
  if (!limit) return kUnlimited;  // "max", or no such group
  const std::string stat = TextOf(folder + "/memory.stat");
  std::uint64_t cache = 0;
  for (const std::string_view name : version.cache) cache += NumberOf(stat, name).value_or(0);
  const std::uint64_t used = NumberOf(TextOf(folder + std::string(version.used)), "").value_or(0);
  const std::uint64_t kept = used - std::min(used, cache);
  return *limit - std::min(*limit, kept);
}

// The group of this process and those above it. Inside a container its path may be that outside: then only the mount
// itself is there, which is looked at in any case.
std::uint64_t LeftInGroups(const std::string& root, std::string path, const Version& version) {
  std::uint64_t left = kUnlimited;
  const std::string mount = root + std::string(version.mount);
  for (;;) {
    left = std::min(left, LeftIn(mount + path, version));
    if (path.empty()) return left;
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
}

// The path behind "<number>:<controllers>:" in a line of /proc/self/cgroup.
std::uint64_t LeftInLine(const std::string& root, std::string_view line) {
  const std::size_t first = std::min(line.find(':'), line.size());
  const std::size_t second = line.find(':', first + 1);
  if (second == std::string_view::npos) return kUnlimited;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  std::string path(line.substr(second + 1));
  if (path == "/") path.clear();
  if (controllers.empty()) return LeftInGroups(root, std::move(path), kSecond);
  return controllers == "memory" ? LeftInGroups(root, std::move(path), kFirst) : kUnlimited;
}

}  // namespace

std::uint64_t AvailableBytes(const std::string& root) {
  constexpr std::uint64_t kKibibyte = 1024;
  const auto machine = NumberOf(TextOf(root + "/proc/meminfo"), "MemAvailable:");
  std::uint64_t left = machine ? *machine * kKibibyte : kUnlimited;
  const std::string groups = TextOf(root + "/proc/self/cgroup");
  for (std::size_t at = 0; at < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', at), groups.size());
    left = std::min(left, LeftInLine(root, std::string_view(groups).substr(at, end - at)));
    at = end + 1;
  }
  return left == kUnlimited ? 0 : left;
}

}  // namespace vigil::platform
