#include "exports.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "report/report.h"

namespace vigil::app {
namespace {

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
    if (Status written = platform::WriteFileAtomically(path, report::RenderEvents(run, now)); !written) return written;
    say(path);
  }
  return {};
}

}  // namespace

void AddExportOptions(CLI::App& command, Exports& exports) {
  command.add_option("--junit", exports.junit, "also write JUnit XML; cases fail from --fail-on")->type_name("FILE");
  command.add_option("--sarif", exports.sarif, "also write SARIF 2.1.0, for code scanning")->type_name("FILE");
  command.add_option("--openmetrics", exports.openmetrics, "also write OpenMetrics gauges, for a collector")
      ->type_name("FILE");
  command.add_flag("--tensorboard", exports.tensorboard,
                   "also write verdict and findings as an event file into each run's folder");
}

Status WriteExports(const Exports& exports, const model::Report& report, const std::string& fail_on,
                    const std::function<void(const std::string& path)>& say) {
  const auto write = [&](const std::string& path, const auto& render) -> Status {
    if (path.empty()) return {};
    if (Status written = platform::WriteFileAtomically(path, render()); !written) return written;
    say(path);
    return {};
  };
  const auto junit = [&] { return report::RenderJunit(report, model::ParseSeverity(fail_on)); };
  if (Status done = write(exports.junit, junit); !done) return done;
  if (Status done = write(exports.sarif, [&] { return report::RenderSarif(report, VIGIL_VERSION); }); !done)
    return done;
  if (Status done = write(exports.openmetrics, [&] { return report::RenderOpenMetrics(report); }); !done) return done;
  return exports.tensorboard ? WriteEvents(report, say) : Status();
}

}  // namespace vigil::app
