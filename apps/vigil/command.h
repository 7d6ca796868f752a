// What every subcommand of the program shares: how it is added, how it talks to the terminal, how it ends.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "model/report.h"
#include "report/report.h"

namespace vigil::app {

// Exit codes, the same for every command.
inline constexpr int kFine = 0;     // nothing at or above --fail-on
inline constexpr int kFound = 1;    // something is
inline constexpr int kFailure = 2;  // wrong usage, or nothing could be read

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};
Command AddDiagnose(CLI::App& program);
Command AddExplain(CLI::App& program);
Command AddGym(CLI::App& program);
Command AddJournal(CLI::App& program);
Command AddPreflight(CLI::App& program);
Command AddWatch(CLI::App& program);

// By what findings are judged and when they make the program fail; the options --settings and --fail-on.
struct Limits {
  std::string thresholds;
  std::string fail_on = "error";
};
void AddLimitOptions(CLI::App& command, Limits& limits);
Result<catalogue::Thresholds> LoadThresholds(const Limits& limits);
int ExitCode(const model::Report& report, const Limits& limits);

// How text is laid out; the options --width, --color and --ascii.
struct Layout {
  int width = 0;  // 0: that of the terminal
  std::string colour = "auto";
  bool ascii = false;
};
void AddLayoutOptions(CLI::App& command, Layout& layout);
// What the terminal and the environment say, where the options leave it to them.
report::TextOptions TextOptionsFor(const Layout& layout);

// The option --keep-secrets: takes effect while the options are parsed.
void AddSecretsOption(CLI::App& command);

// The option --no-drain.
void AddDrainOption(CLI::App& command, bool& no_drain);
// Moves what killed processes left in shared memory into the journals at the paths, and says so on stderr in one line.
// `problems`: what has to stay there is named too.
void DrainVisibly(const std::vector<std::string>& paths, bool quiet, bool problems = true);
// What --no-drain leaves out of the verdict.
void NameUndrained(const std::vector<std::string>& paths);

// "vigil: message" on stderr.
void Complain(std::string_view message);
// Complains and hands back kFailure.
int Refuse(std::string_view message);
// Text to stdout; `code` when that worked or when nobody reads any more, kFailure otherwise.
int Print(std::string_view text, int code);
// "; did you mean a, b?", or nothing.
std::string Offer(std::string_view wanted, const std::vector<std::string>& known);

// A bar on stderr while files are read. Draws nothing unless stderr is a terminal, and leaves nothing behind.
class ProgressBar {
 public:
  explicit ProgressBar(bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ProgressBar(ProgressBar&&) = delete;
  ProgressBar& operator=(ProgressBar&&) = delete;
  // `total` 0: how many there are is still being found out, `done` so far.
  void Show(std::size_t done, std::size_t total);

 private:
  bool active_;
  bool drawn_ = false;
  static constexpr std::size_t kNoPercent = 101;  // none was drawn yet
  std::size_t percent_ = kNoPercent;
};

}  // namespace vigil::app
