#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "artifacts.h"
#include "command.h"
#include "exports.h"
#include "gate.h"
#include "ingest/ingest.h"
#include "model/report.h"
#include "pipeline/pipeline.h"
#include "platform/files.h"

namespace vigil::app {
namespace {

constexpr std::string_view kExamples = R"(
examples:
  vigil diagnose out/my-run                      a run directory: everything in it that can be read
  vigil diagnose train.log checkpoint-500        any mix of files and folders
  vigil diagnose runs/ --html report.html        many runs, and a page with plots
  vigil diagnose out/my-run --json | jq '.runs[0].diagnoses[0].cause'
  ssh box cat train.log | vigil diagnose -       standard input
  vigil diagnose out/ --what                     what was recognised, and which files were not and why
  vigil diagnose out/my-run --fail-on warning    stricter exit code, for scripts
  vigil diagnose out/my-run --price 2.10         what the lost GPU-hours cost
  vigil diagnose out/my-run --fix --dry-run      the config with the first remedy put in, as a diff
  vigil diagnose train.log --fix --config my.yml --fix-each     each remedy in a config of its own
  vigil diagnose out/my-run --baseline out/last-good --artifacts vigil-report     a gate for CI, and what it uploads
  vigil diagnose out/my-run --checklist          what was checked and what was not, with the reason

exit codes: 0 nothing at or above --fail-on, 1 something is, 2 wrong usage or nothing could be read)";

// What --fix and the options beside it say.
struct FixArguments {
  bool fix = false;
  bool all = false;
  bool each = false;
  bool dry = false;
  std::vector<std::string> configs;
};

struct DiagnoseOptions {
  std::vector<std::string> paths;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  Limits limits;
  bool what = false;
  bool no_drain = false;
  double price = model::kNoValue;
  FixArguments fix;
  Exports exports;
  std::string artifacts;  // folder of all reports; empty: none
  Gate gate;
  Layout layout;
};

// Every file that could not be read is named, also beside a verdict: it may be the one that mattered.
void ComplainOfUnread(const std::vector<model::Unread>& unread) {
  constexpr std::size_t kMostReasons = 10;
  for (std::size_t i = 0; i < unread.size() && i < kMostReasons; ++i)
    Complain(fmt::format("{}: {}", unread[i].path, report::WhyUnread(unread[i])));
  if (unread.size() > kMostReasons) Complain(fmt::format("and {} files more", unread.size() - kMostReasons));
}

// Nothing was read: every reason is named, or it is said that no file was recognised.
int ComplainOfNothing(const pipeline::Outcome& outcome, const DiagnoseOptions& options) {
  if (outcome.report.unread.empty())
    Complain(
        fmt::format("{}: nothing that vigil can read ({} files looked at); logs, trainer_state.json, event files, "
                    "JSON lines and CSV are",
                    Join(options.paths, ", "), outcome.ignored));
  return kFailure;
}

std::string Rendered(const DiagnoseOptions& options, const model::Report& report) {
  if (options.json) return report::RenderJson(report, VIGIL_VERSION);
  report::TextOptions text = TextOptionsFor(options.layout);
  text.verbose = options.verbose;
  text.brief = options.quiet;
  return report::RenderText(report, text);
}

// What would be diagnosed, without doing it.
int ShowWhat(const DiagnoseOptions& options) {
  pipeline::Imported imported;
  {
    ProgressBar bar(!options.quiet);
    imported = pipeline::ImportPaths(options.paths, [&](std::size_t done, std::size_t all) { bar.Show(done, all); });
  }
  const std::string text = options.json
                               ? report::RenderWhatJson(imported.runs, imported.unread, imported.ignored, VIGIL_VERSION)
                               : report::RenderWhat(imported.runs, imported.unread, imported.ignored);
  return Print(text, imported.runs.empty() ? kFailure : kFine);
}

// Why the options for fixing cannot be used together, empty when they can.
std::string WhyNoFix(const DiagnoseOptions& options) {
  const FixArguments& fix = options.fix;
  const bool any = fix.all || fix.each || fix.dry || !fix.configs.empty();
  if (any && !fix.fix) return "--dry-run, --fix-all, --fix-each and --config say how --fix works; add --fix";
  if (fix.fix && options.no_drain && !fix.dry)
    return "--fix writes a file beside the config, which --no-drain and --read-only forbid; add --dry-run";
  return {};
}

// Puts the remedies into the configs; whether all could be read and written.
bool FixConfigs(const DiagnoseOptions& options, model::Report& report) {
  if (!options.fix.fix) return true;
  pipeline::FixOptions fix;
  fix.which = options.fix.all    ? pipeline::FixWhich::kAll
              : options.fix.each ? pipeline::FixWhich::kEach
                                 : pipeline::FixWhich::kFirst;
  fix.dry = options.fix.dry;
  fix.configs = options.fix.configs;
  const std::vector<Error> problems = pipeline::FixConfigs(report, fix);
  for (const Error& problem : problems) Complain(problem.Text());
  return problems.empty();
}

// The file that two options name, or nothing.
std::string RepeatedFile(const DiagnoseOptions& options) {
  if (std::string path = RepeatedOutput(options.exports); !path.empty()) return path;
  const Exports& exports = options.exports;
  for (const std::string& path : ArtifactPaths(options.artifacts)) {
    for (const std::string* other : {&exports.html, &exports.junit, &exports.sarif, &exports.openmetrics}) {
      if (*other == path) return path;
    }
  }
  return {};
}

// What the report is made from, as the user named it.
std::vector<std::string> InputsOf(const DiagnoseOptions& options) {
  std::vector<std::string> inputs = options.paths;
  if (!options.gate.baseline.empty()) inputs.push_back(options.gate.baseline);
  return inputs;
}

// Why the options cannot be used together, empty when they can.
std::string WhyRefused(const DiagnoseOptions& options) {
  const std::vector<std::string> inputs = InputsOf(options);
  if (std::count(inputs.begin(), inputs.end(), ingest::kStandardInput) > 1)
    return "diagnose: standard input can be read only once: give a file for the run or for --baseline";
  if (options.no_drain && options.exports.tensorboard)
    return "diagnose: --tensorboard writes into the folder of each run, which --no-drain and --read-only forbid";
  if (std::string why = WhyNoFix(options); !why.empty()) return "diagnose: " + why;
  std::vector<std::string> on_stdout = OptionsOnStandardOutput(options.exports);
  if (options.json) on_stdout.emplace_back("--json");
  if (on_stdout.size() > 1)
    return fmt::format("{} would all write to standard output; give each but one a file", Join(on_stdout, ", "));
  if (const std::string path = RepeatedFile(options); !path.empty())
    return fmt::format("diagnose: '{}' is given for two outputs", path);
  const std::string why = options.artifacts.empty() ? std::string() : WhyNoArtifacts(options.artifacts, inputs);
  return why.empty() ? why : "diagnose: " + why;
}

pipeline::Outcome Diagnosed(const DiagnoseOptions& options, const catalogue::Thresholds& thresholds) {
  if (options.no_drain) {
    NameUndrained(options.paths);
  } else {
    DrainVisibly(options.paths, false);
  }
  ProgressBar bar(!options.quiet);
  return pipeline::DiagnosePaths(options.paths, thresholds,
                                 [&](std::size_t done, std::size_t all) { bar.Show(done, all); });
}

// Writes every file that was asked for; whether all could be.
bool WriteFiles(const DiagnoseOptions& options, const std::optional<model::RunReport>& reference,
                model::Report& report) {
  std::vector<std::string> inputs = InputsOf(options);
  if (reference) {
    for (const model::Source& source : reference->run.sources) inputs.push_back(source.path);
  }
  const auto say = [&](const std::string& path) {
    if (!options.quiet) Complain(fmt::format("wrote {}", path));
  };
  std::vector<Error> problems = WriteExports(options.exports, report, options.limits, inputs, say);
  if (!options.artifacts.empty()) {
    inputs.push_back(options.limits.thresholds);
    for (Error& problem : WriteArtifacts(options.artifacts, report, options.limits, inputs, say))
      problems.push_back(std::move(problem));
  }
  for (const Error& problem : problems) Complain(problem.Text());
  return problems.empty();
}

int RunDiagnose(const DiagnoseOptions& options) {
  if (std::find(options.paths.begin(), options.paths.end(), "") != options.paths.end())
    return Refuse("diagnose: an empty path was given (an unset variable?)");
  if (options.what) return ShowWhat(options);
  if (const std::string why = WhyRefused(options); !why.empty()) return Refuse(why);
  const auto thresholds = LoadThresholds(options.limits);
  if (!thresholds) return Refuse(thresholds.error().Text());
  const auto reference = LoadReference(options.gate, *thresholds);
  if (!reference) return Refuse("--baseline: " + reference.error().Text());
  pipeline::Outcome outcome = Diagnosed(options, *thresholds);
  if (!model::IsNoValue(options.price)) model::SetPrice(outcome.report, options.price);
  ComplainOfUnread(outcome.report.unread);
  const bool compared = PassGate(options.gate, *reference, *thresholds, outcome.report);
  const bool nothing = outcome.report.runs.empty();
  int code = nothing ? ComplainOfNothing(outcome, options) : ExitCode(outcome.report, options.limits);
  if (!compared && code == kFine) code = kFailure;  // a gate that compared nothing lets nothing pass
  const bool silent = nothing && !options.json;
  if (silent && options.artifacts.empty()) return code;
  const bool fixed = FixConfigs(options, outcome.report);
  const bool written = WriteFiles(options, *reference, outcome.report);
  const int end = written && fixed ? code : kFailure;
  if (silent || !OptionsOnStandardOutput(options.exports).empty()) return end;
  return Print(Rendered(options, outcome.report), end);
}

void AddFixOptions(CLI::App& command, FixArguments& fix) {
  command.add_flag("--fix", fix.fix,
                   "write the run's config with the first remedy put in beside it, never over it, and show the diff");
  command.add_flag("--dry-run", fix.dry, "with --fix: show the diff and write nothing");
  CLI::Option* all = command.add_flag("--fix-all", fix.all, "with --fix: all remedies that are settings, in one file");
  command.add_flag("--fix-each", fix.each, "with --fix: each of them in a file of its own")->excludes(all);
  command
      .add_option("--config", fix.configs, "with --fix: the config to change, where it is not among the run's files")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
}

}  // namespace

Command AddDiagnose(CLI::App& program) {
  CLI::App* command = program.add_subcommand("diagnose", "say what happened in a run, why, and what to do");
  auto options = std::make_shared<DiagnoseOptions>();
  command
      ->add_option("PATH", options->paths,
                   "run directories, logs, event files, trainer states, in any mix; - is standard input")
      ->required();
  command->add_flag("--json", options->json, "JSON (schema vigil.diagnosis/1) instead of text");
  command->add_option("--html", options->exports.html, "also write one self-contained page with plots")
      ->type_name("FILE")
      ->check(WhyNoPath);
  CLI::Option* verbose = command->add_flag("-v,--verbose", options->verbose, "every finding, all evidence, files read");
  command->add_flag("-q,--quiet", options->quiet, "only the verdict of each run")->excludes(verbose);
  command->add_option("--price", options->price, "what a GPU costs in an hour: what was lost is given in money too")
      ->type_name("PER_GPU_HOUR")
      ->check(CLI::NonNegativeNumber);
  AddFixOptions(*command, options->fix);
  AddLimitOptions(*command, options->limits);
  AddDrainOption(*command, options->no_drain);
  AddSecretsOption(*command);
  command->add_flag("--what", options->what,
                    "only list what was recognised, run by run, and which files were not and why; also with --json");
  AddExportOptions(*command, options->exports);
  command
      ->add_option("--artifacts", options->artifacts,
                   "also write report.html, report.json, report.txt, junit.xml, sarif.json and the diff of a fix there")
      ->type_name("DIR")
      ->check(WhyNoPath);
  AddGateOptions(*command, options->gate);
  AddLayoutOptions(*command, options->layout);
  command->footer(std::string(kExamples));
  return {command, [options] { return RunDiagnose(*options); }};
}

}  // namespace vigil::app
