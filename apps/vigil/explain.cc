#include <fmt/format.h>

#include <memory>

#include "command.h"

namespace vigil::app {
namespace {

constexpr std::string_view kExamples = R"(
examples:
  vigil explain loss/spike             when it fires, why it matters, its thresholds and causes
  vigil explain lr-too-high            a cause: evidence for and against, remedies
  vigil explain train/grad_norm        a signal, by any name it is logged under
  vigil explain loss-fall              a measure: its levels, and the causes that each speaks for
  vigil explain --list                 every id with its title
  vigil explain --markdown findings    a reference page; also causes, evidence, remedies, config-rules,
                                       signatures, signals, measures)";

struct ExplainOptions {
  std::string id;
  bool list = false;
  bool json = false;
  std::string markdown;
  Layout layout;
};

int PrintResult(const Result<std::string>& text) {
  if (text) return Print(*text, kFine);
  return Refuse(fmt::format("explain: {} (`vigil explain --list` shows all)", text.error().Text()));
}

int RunExplain(const ExplainOptions& options) {
  if (!options.markdown.empty()) return PrintResult(report::ReferenceMarkdown(options.markdown));
  if (options.list && options.json) return Print(report::ListJson(), kFine);
  if (options.list) return Print(report::ListText(TextOptionsFor(options.layout)), kFine);
  if (options.id.empty()) return Refuse("explain: no ID given; `vigil explain --list` shows all");
  if (options.json) return PrintResult(report::ExplainJson(options.id));
  return PrintResult(report::ExplainText(options.id, TextOptionsFor(options.layout)));
}

}  // namespace

Command AddExplain(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("explain", "the page of a finding, cause, remedy, rule, signature, signal or measure");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("ID", options->id, "what to explain, as it stands in a report");
  command->add_flag("--list", options->list, "every id with its title");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->add_option("--markdown", options->markdown, "all pages of a kind, as Markdown")->type_name("KIND");
  AddLayoutOptions(*command, options->layout);
  command->footer(std::string(kExamples));
  return {command, [options] { return RunExplain(*options); }};
}

}  // namespace vigil::app
