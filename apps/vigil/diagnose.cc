#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "command.h"
#include "exports.h"
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

int RunDiagnose(const DiagnoseOptions& options) {
  if (std::find(options.paths.begin(), options.paths.end(), "") != options.paths.end())
    return Refuse("diagnose: an empty path was given (an unset variable?)");
  if (options.what) return ShowWhat(options);
  if (options.no_drain && options.exports.tensorboard)
    return Refuse(
        "diagnose: --tensorboard writes into the folder of each run, which --no-drain and --read-only forbid");
  if (const std::string why = WhyNoFix(options); !why.empty()) return Refuse("diagnose: " + why);
  std::vector<std::string> on_stdout = OptionsOnStandardOutput(options.exports);
  if (options.json) on_stdout.emplace_back("--json");
  if (on_stdout.size() > 1)
    return Refuse(
        fmt::format("{} would all write to standard output; give each but one a file", Join(on_stdout, ", ")));
  if (const std::string path = RepeatedOutput(options.exports); !path.empty())
    return Refuse(fmt::format("diagnose: '{}' is given for two outputs", path));
  const auto thresholds = LoadThresholds(options.limits);
  if (!thresholds) return Refuse(thresholds.error().Text());
  if (options.no_drain) {
    NameUndrained(options.paths);
  } else {
    DrainVisibly(options.paths, false);
  }
  pipeline::Outcome outcome;
  {
    ProgressBar bar(!options.quiet);
    outcome = pipeline::DiagnosePaths(options.paths, *thresholds,
                                      [&](std::size_t done, std::size_t all) { bar.Show(done, all); });
  }
  if (!model::IsNoValue(options.price)) model::SetPrice(outcome.report, options.price);
  ComplainOfUnread(outcome.report.unread);
  const bool nothing = outcome.report.runs.empty();
  const int code = nothing ? ComplainOfNothing(outcome, options) : ExitCode(outcome.report, options.limits);
  if (nothing && !options.json) return code;
  const bool fixed = FixConfigs(options, outcome.report);
  const std::vector<Error> not_written =
      WriteExports(options.exports, outcome.report, options.limits, options.paths, [&](const std::string& path) {
        if (!options.quiet) Complain(fmt::format("wrote {}", path));
      });
  for (const Error& problem : not_written) Complain(problem.Text());
  const int end = not_written.empty() && fixed ? code : kFailure;
  return OptionsOnStandardOutput(options.exports).empty() ? Print(Rendered(options, outcome.report), end) : end;
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
  AddLayoutOptions(*command, options->layout);
  command->footer(std::string(kExamples));
  return {command, [options] { return RunDiagnose(*options); }};
}

}  // namespace vigil::app
