// `vigil journal`: whether a journal is sound, what is in it, and a sound one of what a damaged one still holds.
#include "report/journal.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "command.h"
#include "ingest/secrets.h"
#include "journal/inspect.h"
#include "platform/terminal.h"

namespace vigil::app {
namespace {

constexpr std::string_view kExamples = R"(
examples:
  vigil journal check out/my-run/rank-0.vigil            whether every block is whole, and what is in it
  vigil journal check out/my-run/*.vigil --json | jq .damages
  vigil journal dump out/my-run/rank-0.vigil | head      every record, a JSON object a line
  vigil journal repair rank-0.vigil --out fixed.vigil    what can be read of it as a new journal

The journal itself is never changed. Records that a killed process left in shared memory are not in it before
`vigil diagnose` has moved them there.

A journal that is cut off at its end is what a killed process leaves, and no damage: all before it is whole.

exit codes: 0 sound or cut off at its end, 1 damaged, 2 wrong usage or nothing could be read or written)";

struct JournalOptions {
  std::string action;
  std::vector<std::string> paths;
  std::string out;
  bool json = false;
};

std::string Shown(std::string_view key, std::string_view text) {
  return ingest::WithoutSecrets(key, std::string(text));
}

// Writes to standard output until that fails or nobody reads any more.
class Output {
 public:
  bool Write(std::string_view text) {
    constexpr int kStdout = 1;
    if (is_over()) return false;
    const Result<bool> written = platform::WriteText(kStdout, text);
    if (!written) problem_ = written.error();
    is_closed_ = written && !*written;
    return !is_over();
  }
  bool is_over() const { return is_closed_ || problem_; }
  // `code`, unless something could not be written.
  int End(int code) const { return problem_ ? Refuse(problem_->Text()) : code; }

 private:
  std::optional<Error> problem_;
  bool is_closed_ = false;
};

int Check(const JournalOptions& options) {
  int code = kFine;
  Output output;
  for (const std::string& path : options.paths) {
    const auto survey = journal::SurveyFile(path);
    if (!survey) {
      code = Refuse(survey.error().Text());
      continue;
    }
    if (survey->is_damaged() && code == kFine) code = kFound;
    const auto render = options.json ? report::RenderSurveyJson : report::RenderSurvey;
    if (!output.Write(render(path, *survey, Shown))) break;
  }
  return output.End(code);
}

int Dump(const JournalOptions& options) {
  int code = kFine;
  Output output;
  for (const std::string& path : options.paths) {
    report::JournalDump dump(Shown, [&](std::string_view text) { return output.Write(text); });
    const Status visited = journal::Visit(path, dump);
    if (!dump.Flush()) break;
    if (!visited) code = Refuse(visited.error().Text());
    if (dump.is_damaged() && code == kFine) code = kFound;
  }
  return output.End(code);
}

int Repair(const JournalOptions& options) {
  if (options.paths.size() != 1 || options.out.empty())
    return Refuse("journal repair: needs one journal and --out NEW, a file that does not exist yet");
  if (options.out == "-") return Refuse("journal repair: a journal is not written to standard output; name a file");
  const auto survey = journal::Repair(options.paths.front(), options.out);
  if (!survey) return Refuse(survey.error().Text());
  return Print(report::RenderSurvey(options.paths.front(), *survey, Shown) + fmt::format("wrote {}\n", options.out),
               survey->is_damaged() ? kFound : kFine);
}

int RunJournal(const JournalOptions& options) {
  if (options.action == "check") return Check(options);
  if (options.action == "dump") return Dump(options);
  if (options.action == "repair") return Repair(options);
  return Refuse(fmt::format("journal: unknown action '{}'{} (check, dump, repair)", options.action,
                            Offer(options.action, {"check", "dump", "repair"})));
}

}  // namespace

Command AddJournal(CLI::App& program) {
  CLI::App* command = program.add_subcommand("journal", "check, dump or repair vigil's own record of a run");
  auto options = std::make_shared<JournalOptions>();
  command->add_option("ACTION", options->action, "check, dump or repair")->required();
  command->add_option("FILE", options->paths, "journals, as rank-0.vigil in the folder of a run")->required();
  command->add_option("--out", options->out, "the new journal that repair writes")->type_name("NEW");
  command->add_flag("--json", options->json, "check: a JSON object a file (schema vigil.journal-check/1)");
  AddSecretsOption(*command);
  command->footer(std::string(kExamples));
  return {command, [options] { return RunJournal(*options); }};
}

}  // namespace vigil::app
