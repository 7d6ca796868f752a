// The program: subcommands are added here, everything else is theirs.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "command.h"
#include "platform/files.h"
#include "platform/terminal.h"

namespace vigil::app {
namespace {

constexpr std::string_view kExamples = R"(
examples:
  vigil diagnose out/my-run          what happened, the cause, the setting to change, where to restart
  vigil watch out/my-run             the same while it runs: values, spark lines, alarms
  vigil preflight train.yaml         check the configuration before the run starts
  vigil explain loss/spike           what a finding means
  vigil gym --fault lr-too-high      train a small model with that fault, to see vigil at work
  vigil diagnose --help              options and exit codes)";

// CLI11's layout without its notes on types and sets, which the descriptions say better.
class Help : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    if (option->get_type_size() == 0 || option->get_positional()) return {};
    return " " + type.substr(0, type.find(':'));
  }
};

std::vector<std::string> NamesOfOptions(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> NamesOfCommands(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.app->get_name());
  return names;
}

bool LooksLikeOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

int RefuseUnknownOption(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::string who = app.get_parent() == nullptr ? "vigil" : "vigil " + app.get_name();
  return Refuse(
      fmt::format("unknown option '{}'{} (`{} --help` lists all)", name, Offer(name, NamesOfOptions(app)), who));
}

int RefuseUnknownCommand(const std::vector<Command>& commands, const std::string& word) {
  if (platform::Stat(word)) return Refuse(fmt::format("'{0}' is no command; did you mean `vigil diagnose {0}`?", word));
  const std::vector<std::string> names = NamesOfCommands(commands);
  const std::string offer = Offer(word, names);
  return Refuse(fmt::format("unknown command '{}'{} (commands: {})", word, offer, Join(names, ", ")));
}

// The first word that no option and no positional took, or kFine when there is none.
int RefuseLeftovers(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return kFine;
  if (LooksLikeOption(left.front())) return RefuseUnknownOption(app, left.front());
  return Refuse(fmt::format("{}: '{}' is one argument too many", app.get_name(), left.front()));
}

// A word that nothing took explains more than what is missing because of it.
int RefuseUsage(const std::vector<Command>& commands, const CLI::ParseError& problem) {
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (const int refused = RefuseLeftovers(*command.app); refused != kFine) return refused;
    return Refuse(fmt::format("{0}: {1} (`vigil {0} --help` shows examples)", command.app->get_name(), problem.what()));
  }
  return Refuse(problem.what());
}

// `vigil help COMMAND` is `vigil COMMAND --help`, as many other programs have it. Last word first, as CLI11 wants it.
std::vector<std::string> Words(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());
  return words;
}

int Dispatch(CLI::App& program, const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (const int refused = RefuseLeftovers(*command.app); refused != kFine) return refused;
    return command.run();
  }
  const std::vector<std::string> left = program.remaining();
  if (left.empty()) {
    static_cast<void>(platform::WriteText(2, program.help()));
    return kFailure;
  }
  return LooksLikeOption(left.front()) ? RefuseUnknownOption(program, left.front())
                                       : RefuseUnknownCommand(commands, left.front());
}

int Main(int argc, char** argv) {
  platform::IgnoreClosedPipes();
  CLI::App program("vigil: finds out why a training run failed, from the files it left", "vigil");
  program.set_version_flag("--version", "vigil " VIGIL_VERSION, "the version");
  program.formatter(std::make_shared<Help>());
  program.get_formatter()->column_width(26);
  program.set_help_flag("-h,--help", "this text");
  program.footer(std::string(kExamples));
  const std::vector<Command> commands = {AddDiagnose(program), AddWatch(program), AddPreflight(program),
                                         AddExplain(program),  AddGym(program),   AddJournal(program)};
  // Leftover words are refused by us, with the nearest names.
  program.allow_extras();
  for (const Command& command : commands) command.app->allow_extras();
  try {
    program.parse(Words(argc, argv));
  } catch (const CLI::CallForHelp&) {
    return Print(program.help(), kFine);
  } catch (const CLI::CallForVersion& version) {
    return Print(std::string(version.what()) + "\n", kFine);
  } catch (const CLI::ParseError& problem) {
    return RefuseUsage(commands, problem);
  }
  return Dispatch(program, commands);
}

}  // namespace
}  // namespace vigil::app

int main(int argc, char** argv) {
  try {
    return vigil::app::Main(argc, argv);
  } catch (const std::exception& problem) {
    return vigil::app::Refuse(problem.what());
  }
}
