#include "exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/terminal.h"
#include "report/report.h"

namespace vigil::app {
namespace {

constexpr int kStdout = 1;
constexpr const char* kStandardInputFile = "/proc/self/fd/0";

bool IsStandardOutput(const std::string& path) { return path == "-" || platform::DescriptorNamed(path) == kStdout; }

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

// Where TensorBoard looks for the run: beside its event files, or beside the first file there is.
std::string EventFolder(const model::Run& run) {
  for (const model::Source& source : run.sources) {
    if (ingest::TraitsOf(formats::Formats(), source.format).files == ingest::RunFiles::kOnePerStart)
      return FolderOf(source.path);
  }
  return run.sources.empty() ? std::string() : FolderOf(run.sources.front().path);
}

std::string PlainName(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const bool kept =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    plain += kept ? c : '_';
  }
  return plain.substr(0, 100);
}

// The file on disk that a path is, or is in: the archive of a member.
std::optional<platform::FileIdentity> FileBehind(std::string path) {
  for (;;) {
    if (const auto entry = platform::Stat(path); entry) {
      if (entry->kind != platform::EntryKind::kFile) return std::nullopt;
      return entry->identity;
    }
    std::string above = platform::FolderOf(path);
    if (above.size() >= path.size() || above == ".") return std::nullopt;
    path = std::move(above);
  }
}

// Whether the file at `path` is one that the report was made from.
bool WasRead(const std::string& path, const model::Report& report, const std::vector<std::string>& inputs) {
  const auto written = FileBehind(path);
  if (!written) return false;
  const auto is_it = [&](const auto& source) { return FileBehind(source.path) == written; };
  const auto is_input = [&](const std::string& input) {
    return FileBehind(input == ingest::kStandardInput ? kStandardInputFile : input) == written;
  };
  if (std::any_of(inputs.begin(), inputs.end(), is_input)) return true;
  return std::any_of(report.unread.begin(), report.unread.end(), is_it) ||
         std::any_of(report.runs.begin(), report.runs.end(), [&](const model::RunReport& run) {
           return std::any_of(run.run.sources.begin(), run.run.sources.end(), is_it);
         });
}

// The name is the same every time, so that a second diagnosis replaces the first; discovery knows the ending.
Status WriteEvents(const model::Report& report, const std::function<void(const std::string&)>& say) {
  std::set<std::string> taken;
  const double now = static_cast<double>(platform::UnixNs()) * 1e-9;
  for (const model::RunReport& run : report.runs) {
    if (!run.run.sources.empty() && run.run.sources.front().path == ingest::kStandardInput)
      return Fail(ErrorCode::kInvalid,
                  "--tensorboard: what was piped in has no folder to write into; name the file instead");
    const std::string begin = EventFolder(run.run) + "events.out.tfevents.0000000001.";
    std::string path = begin + PlainName(run.run.name) + ".vigil";
    for (int copy = 2; !taken.insert(path).second; ++copy)
      path = fmt::format("{}{}-{}.vigil", begin, PlainName(run.run.name), copy);
    // Whoever made the folder may have put a link of that name there.
    if (Status written =
            platform::WriteFileAtomically(path, report::RenderEvents(run, now), platform::PathFrom::kProgram);
        !written)
      return written;
    say(path);
  }
  return {};
}

}  // namespace

std::string WhyNoPath(const std::string& path) {
  return path.empty() ? "an empty path was given (an unset variable?)" : std::string();
}

void AddExportOptions(CLI::App& command, Exports& exports) {
  command.add_option("--junit", exports.junit, "also write JUnit XML; cases fail from --fail-on")
      ->type_name("FILE")
      ->check(WhyNoPath);
  command.add_option("--sarif", exports.sarif, "also write SARIF 2.1.0, for code scanning")
      ->type_name("FILE")
      ->check(WhyNoPath);
  command.add_option("--openmetrics", exports.openmetrics, "also write OpenMetrics gauges, for a collector")
      ->type_name("FILE")
      ->check(WhyNoPath);
  command.add_flag("--tensorboard", exports.tensorboard,
                   "also write verdict and findings as an event file into each run's folder");
}

std::string RepeatedOutput(const Exports& exports) {
  std::set<std::string> seen;
  for (const std::string& path : {exports.html, exports.junit, exports.sarif, exports.openmetrics}) {
    if (!path.empty() && !IsStandardOutput(path) && !seen.insert(path).second) return path;
  }
  return {};
}

std::vector<std::string> OptionsOnStandardOutput(const Exports& exports) {
  std::vector<std::string> options;
  if (IsStandardOutput(exports.html)) options.emplace_back("--html");
  if (IsStandardOutput(exports.junit)) options.emplace_back("--junit");
  if (IsStandardOutput(exports.sarif)) options.emplace_back("--sarif");
  if (IsStandardOutput(exports.openmetrics)) options.emplace_back("--openmetrics");
  return options;
}

Status WriteOutput(const std::string& path, const std::string& content, const model::Report& report,
                   const std::vector<std::string>& inputs) {
  if (IsStandardOutput(path)) {
    const auto written = platform::WriteText(kStdout, content);
    return written ? Status() : Status(Fail(written.error()));
  }
  if (WasRead(path, report, inputs))
    return Fail(ErrorCode::kInvalid, path, "is one of the files that were read, and is left as it is");
  return platform::WriteFileAtomically(path, content);
}

std::vector<Error> WriteExports(const Exports& exports, const model::Report& report, const Limits& limits,
                                const std::vector<std::string>& paths,
                                const std::function<void(const std::string& path)>& say) {
  std::vector<Error> problems;
  std::vector<std::string> inputs = paths;
  inputs.push_back(limits.thresholds);
  const auto write = [&](const std::string& path, const auto& render) {
    if (path.empty()) return;
    if (Status written = WriteOutput(path, render(), report, inputs); !written) {
      problems.push_back(written.error());
    } else if (!IsStandardOutput(path)) {
      say(path);
    }
  };
  write(exports.html, [&] { return report::RenderHtml(report, VIGIL_VERSION); });
  write(exports.junit, [&] { return report::RenderJunit(report, model::ParseSeverity(limits.fail_on)); });
  write(exports.sarif, [&] { return report::RenderSarif(report, VIGIL_VERSION); });
  write(exports.openmetrics, [&] { return report::RenderOpenMetrics(report); });
  if (!exports.tensorboard) return problems;
  if (const Status events = WriteEvents(report, say); !events) problems.push_back(events.error());
  return problems;
}

}  // namespace vigil::app
