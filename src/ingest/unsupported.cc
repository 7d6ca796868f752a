#include "ingest/unsupported.h"

#include "base/base.h"
#include "ingest/paths.h"

namespace vigil::ingest {
namespace {

constexpr std::string_view kTrace = "a profiler trace: not supported yet";
constexpr std::string_view kDump = "a flight-recorder dump of collectives: not supported yet";
constexpr std::string_view kSnapshot = "a snapshot of the device's memory: not supported yet";

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Pickles begin with a version mark; the keys of a dictionary stand in them as plain text.
bool IsPickle(std::string_view head) { return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5; }

std::string_view ByContent(std::string_view head) {
  if (IsPickle(head)) {
    if (Contains(head, "pg_config") || Contains(head, "nccl_version")) return kDump;
    return Contains(head, "device_traces") ? kSnapshot : std::string_view();
  }
  if (!head.starts_with('{')) return {};
  if (Contains(head, "\"traceEvents\"")) return kTrace;
  return Contains(head, "\"pg_config\"") && Contains(head, "\"entries\"") ? kDump : std::string_view();
}

std::string_view ByName(std::string_view path) {
  const std::string file = ToLower(FileOf(path));
  const bool packed = file.ends_with(".gz") || file.ends_with(".xz") || file.ends_with(".zst");
  if (Contains(file, "trace") && (file.ends_with(".json.gz") || file.ends_with(".json.xz"))) return kTrace;
  const bool pickle = Contains(file, ".pickle") || Contains(file, ".pkl");
  if (Contains(file, "snapshot") && pickle && (packed || file.ends_with(".pickle") || file.ends_with(".pkl")))
    return kSnapshot;
  return {};
}

}  // namespace

std::string_view WhyUnsupported(std::string_view path, std::string_view head) {
  const std::string_view by_content = ByContent(head);
  return by_content.empty() ? ByName(path) : by_content;
}

}  // namespace vigil::ingest
