#include "pipeline/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "command.h"
#include "exports.h"
#include "platform/files.h"

namespace vigil::app {
namespace {

constexpr std::string_view kExamples = R"(
examples:
  vigil preflight axolotl.yaml                         the config of a training: what it amounts to, what is wrong
  vigil preflight train.yaml ds_zero3.json --ranks 8   files that are used together, on eight GPUs
  vigil preflight configs/                             every config of a folder
  vigil preflight launch.sh                            the options of a command in a script
  vigil preflight train.yaml --model llama/config.json --gpu-memory 80GB
  vigil preflight configs/ --json | jq '.runs[].findings[].id'
  vigil preflight configs/ --sarif preflight.sarif     for code scanning
  vigil explain config/lr-band                         what a rule means, and where it comes from

exit codes: 0 nothing at or above --fail-on, 1 something is, 2 wrong usage or nothing could be read)";

struct PreflightOptions {
  pipeline::PreflightRequest request;
  std::string memory;
  double ranks = 0;
  bool json = false;
  bool quiet = false;
  std::string sarif;
  Limits limits;
  Layout layout;
};

struct MemoryUnit {
  std::string_view name;
  double bytes;
};
constexpr MemoryUnit kMemoryUnits[] = {{"gib", 1024.0 * 1024 * 1024}, {"gb", 1e9}, {"g", 1e9},
                                       {"mib", 1024.0 * 1024},        {"mb", 1e6}, {"m", 1e6}};

// "80GB", "40 GiB", "24g".
Result<double> ParseMemory(const std::string& text) {
  std::size_t used = 0;
  const auto number = ParseNumberPrefix(text, used);
  const std::string unit = ToLower(Trim(std::string_view(text).substr(std::min(used, text.size()))));
  for (const MemoryUnit& each : kMemoryUnits) {
    if (number && *number > 0 && unit == each.name) return *number * each.bytes;
  }
  return Fail(ErrorCode::kInvalid, fmt::format("--gpu-memory: '{}' is no size of memory such as 80GB or 24GiB", text));
}

std::string WithoutRuns(const model::PreflightReport& report, const std::vector<std::string>& paths) {
  return fmt::format(
      "{}: no configuration of a training ({} other files looked at); axolotl, HF/TRL, LLaMA-Factory, "
      "DeepSpeed, torchtitan, KempnerForge, Lightning and accelerate files are",
      Join(paths, ", "), report.ignored);
}

// A file that was read is never overwritten.
Status WriteSarif(const PreflightOptions& options, const model::PreflightReport& report) {
  const auto target = platform::Stat(options.sarif);
  for (const model::PlannedRun& run : report.runs) {
    for (const model::PlannedFile& file : run.files) {
      const auto read = platform::Stat(file.path);
      if (target && read && target->identity == read->identity)
        return Fail(ErrorCode::kInvalid, options.sarif, "is one of the files that were read, and is left as it is");
    }
  }
  return platform::WriteFileAtomically(options.sarif, report::RenderPreflightSarif(report, VIGIL_VERSION));
}

int CodeOf(const model::PreflightReport& report, const Limits& limits) {
  const auto limit = model::ParseSeverity(limits.fail_on);
  const auto worst = model::WorstSeverity(report);
  return limit && worst && *worst >= *limit ? kFound : kFine;
}

int Finish(const PreflightOptions& options, const model::PreflightReport& report) {
  const bool on_stdout = options.sarif == "-";
  int code = report.runs.empty() ? kFailure : CodeOf(report, options.limits);
  if (!options.sarif.empty() && !on_stdout) {
    if (const Status written = WriteSarif(options, report); !written) {
      Complain(written.error().Text());
      code = kFailure;
    }
  }
  if (on_stdout) return Print(report::RenderPreflightSarif(report, VIGIL_VERSION), code);
  if (options.json) return Print(report::RenderPreflightJson(report, VIGIL_VERSION), code);
  report::TextOptions text = TextOptionsFor(options.layout);
  text.brief = options.quiet;
  return Print(report::RenderPreflight(report, text), code);
}

int RunPreflight(PreflightOptions options) {
  const auto& paths = options.request.paths;
  if (std::find(paths.begin(), paths.end(), "") != paths.end())
    return Refuse("preflight: an empty path was given (an unset variable?)");
  if (options.json && options.sarif == "-")
    return Refuse("--json and --sarif would both write to standard output; give --sarif a file");
  if (!options.memory.empty()) {
    const auto memory = ParseMemory(options.memory);
    if (!memory) return Refuse(memory.error().message);
    options.request.options.device_bytes = *memory;
  }
  if (options.ranks > 0) options.request.options.ranks = options.ranks;
  const auto thresholds = LoadThresholds(options.limits);
  if (!thresholds) return Refuse(thresholds.error().Text());
  const model::PreflightReport report = pipeline::PreflightPaths(options.request, *thresholds);
  for (const model::Unread& unread : report.unread)
    Complain(fmt::format("{}: {}", unread.path, report::WhyUnread(unread)));
  if (report.runs.empty() && report.unread.empty()) Complain(WithoutRuns(report, paths));
  return Finish(options, report);
}

}  // namespace

Command AddPreflight(CLI::App& program) {
  CLI::App* command = program.add_subcommand("preflight", "check the configuration of a run before it starts");
  auto options = std::make_shared<PreflightOptions>();
  command->add_option("CONFIG", options->request.paths, "config files and folders, in any mix")->required();
  command->add_option("--ranks", options->ranks, "processes that train together, in the place of what the files say")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--gpu-memory", options->memory, "memory of one device, to compare the logits with")
      ->type_name("SIZE");
  command->add_option("--model", options->request.model, "config.json of the model, or its folder")->type_name("PATH");
  command->add_flag("--json", options->json, "JSON, schema vigil.preflight/1");
  command->add_option("--sarif", options->sarif, "also write SARIF 2.1.0, for code scanning; - is standard output")
      ->type_name("FILE")
      ->check(WhyNoPath);
  command->add_flag("-q,--quiet", options->quiet, "findings only");
  AddLimitOptions(*command, options->limits);
  AddLayoutOptions(*command, options->layout);
  command->footer(std::string(kExamples));
  return {command, [options] { return RunPreflight(*options); }};
}

}  // namespace vigil::app
