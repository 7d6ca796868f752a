#include "artifacts.h"

#include <fmt/format.h>

#include <array>

#include "exports.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "platform/files.h"
#include "report/report.h"

namespace vigil::app {
namespace {

constexpr std::string_view kDiff = "fix.diff";
constexpr int kTextWidth = 100;

struct Artifact {
  std::string_view name;
  std::string (*render)(const model::Report& report, const Limits& limits);
};
constexpr std::array<Artifact, 5> kArtifacts = {{
    {"report.html",
     [](const model::Report& report, const Limits&) { return report::RenderHtml(report, VIGIL_VERSION); }},
    {"report.json",
     [](const model::Report& report, const Limits&) { return report::RenderJson(report, VIGIL_VERSION); }},
    {"report.txt",
     [](const model::Report& report, const Limits&) {
       report::TextOptions options;
       options.width = kTextWidth;
       return report::RenderText(report, options);
     }},
    {"junit.xml",
     [](const model::Report& report, const Limits& limits) {
       return report::RenderJunit(report, model::ParseSeverity(limits.fail_on));
     }},
    {"sarif.json",
     [](const model::Report& report, const Limits&) { return report::RenderSarif(report, VIGIL_VERSION); }},
}};

std::string In(const std::string& folder, std::string_view name) {
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
}

bool IsWithin(const std::string& folder, const std::string& input) {
  const auto entry = platform::Stat(input);
  if (!entry || entry->kind == platform::EntryKind::kFile) return false;
  const std::string inner = platform::AbsolutePath(folder);
  const std::string outer = platform::AbsolutePath(input);
  return inner == outer || inner.starts_with(outer.ends_with('/') ? outer : outer + "/");
}

// The diff of each config that was changed, or that the first remedy would change. What the report says stays as it is:
// report.json is what --json prints.
std::string DiffOf(model::Report& report) {
  std::vector<model::Fix> fixes = report.fixes;
  if (fixes.empty()) {
    pipeline::FixOptions dry;
    dry.dry = true;
    // A config that cannot be read is no reason to fail where nobody asked to fix it.
    (void)pipeline::FixConfigs(report, dry);
    std::swap(fixes, report.fixes);
  }
  std::string diff;
  for (const model::Fix& fix : fixes) diff += fix.diff;
  return diff;
}

}  // namespace

std::vector<std::string> ArtifactPaths(const std::string& folder) {
  std::vector<std::string> paths;
  if (folder.empty()) return paths;
  for (const Artifact& artifact : kArtifacts) paths.push_back(In(folder, artifact.name));
  paths.push_back(In(folder, kDiff));
  return paths;
}

std::string WhyNoArtifacts(const std::string& folder, const std::vector<std::string>& inputs) {
  if (folder == "-") return "--artifacts takes a folder, not standard output";
  for (const std::string& input : inputs) {
    if (input != ingest::kStandardInput && IsWithin(folder, input))
      return fmt::format(
          "--artifacts: '{}' lies in '{}', which is read: the next diagnosis would take the reports for files of the "
          "run; name a folder beside it",
          folder, input);
  }
  return {};
}

std::vector<Error> WriteArtifacts(const std::string& folder, model::Report& report, const Limits& limits,
                                  const std::vector<std::string>& inputs,
                                  const std::function<void(const std::string& path)>& say) {
  if (const Status made = platform::MakeFolders(folder); !made) return {made.error()};
  std::vector<Error> problems;
  const auto write = [&](std::string_view name, const std::string& content) {
    const std::string path = In(folder, name);
    if (const Status written = WriteOutput(path, content, report, inputs); !written) {
      problems.push_back(written.error());
    } else {
      say(path);
    }
  };
  for (const Artifact& artifact : kArtifacts) write(artifact.name, artifact.render(report, limits));
  if (const std::string diff = DiffOf(report); !diff.empty()) {
    write(kDiff, diff);
  } else {
    platform::RemoveFile(In(folder, kDiff));
  }
  return problems;
}

}  // namespace vigil::app
