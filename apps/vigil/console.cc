#include <fmt/format.h>

#include <cstdlib>

#include "command.h"
#include "platform/terminal.h"

namespace vigil::app {
namespace {

constexpr int kStdout = 1;
constexpr int kStderr = 2;
constexpr int kPlainWidth = 80;       // where the output is no terminal
constexpr int kWidestByItself = 120;  // longer lines are hard to read

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool WantsColour(const std::string& choice) {
  if (choice != "auto") return choice == "always";
  return platform::IsTerminal(kStdout) && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
}

// The locale as programs read it: the first that is set decides.
std::string_view Locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!Environment(name).empty()) return Environment(name);
  }
  return {};
}

// Terminals speak UTF-8 today, also where a container sets no locale; a locale that names another encoding is believed,
// and the Linux console has no font for the plots.
bool SpeaksUnicode() {
  const std::string locale = ToLower(Locale());
  const bool other_encoding = locale.find('.') != std::string::npos && locale.find("utf") == std::string::npos;
  return !other_encoding && Environment("TERM") != "linux";
}

}  // namespace

void AddLayoutOptions(CLI::App& command, Layout& layout) {
  command.add_option("--width", layout.width, "columns of the text (default: those of the terminal)")
      ->type_name("N")
      ->check(CLI::Range(40, 400));
  command.add_option("--color,--colour", layout.colour, "auto, always or never; auto also obeys NO_COLOR")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command.add_flag("--ascii", layout.ascii, "plain ASCII, also in the plots");
}

report::TextOptions TextOptionsFor(const Layout& layout) {
  report::TextOptions options;
  const int own = std::min(platform::TerminalWidth(kStdout, kPlainWidth), kWidestByItself);
  options.width = layout.width == 0 ? own : layout.width;
  options.colour = WantsColour(layout.colour);
  options.unicode = !layout.ascii && SpeaksUnicode();
  return options;
}

void Complain(std::string_view message) {
  // Nobody is left to hear of a failure to complain.
  static_cast<void>(platform::WriteText(kStderr, fmt::format("vigil: {}\n", Printable(message))));
}

int Refuse(std::string_view message) {
  Complain(message);
  return kFailure;
}

int Print(std::string_view text, int code) {
  const Result<bool> written = platform::WriteText(kStdout, text);
  return written ? code : Refuse(written.error().Text());
}

std::string Offer(std::string_view wanted, const std::vector<std::string>& known) {
  const std::vector<std::string> nearest = NearestNames(wanted, known);
  return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", Join(nearest, ", "));
}

ProgressBar::ProgressBar(bool wanted) : active_(wanted && platform::IsTerminal(kStderr)) {
  if (active_) platform::ClearLineOnInterrupt(kStderr);
}

ProgressBar::~ProgressBar() {
  if (drawn_) static_cast<void>(platform::WriteText(kStderr, "\r\x1b[K"));
}

void ProgressBar::Show(std::size_t done, std::size_t total) {
  constexpr std::size_t kCells = 24;
  if (!active_) return;
  if (total == 0) {
    const std::string line = fmt::format("\r\x1b[Klooking through folders: {} files", FormatCount(done));
    drawn_ = platform::WriteText(kStderr, line).value_or(false) || drawn_;
    percent_ = kNoPercent;
    return;
  }
  const std::size_t percent = std::min<std::size_t>(done, total) * 100 / total;
  if (drawn_ && percent == percent_) return;
  percent_ = percent;
  const std::size_t filled = percent * kCells / 100;
  const std::string bar = std::string(filled, '=') + std::string(kCells - filled, ' ');
  const std::string line = fmt::format("\r\x1b[K[{}] {} of {} files", bar, FormatCount(done), FormatCount(total));
  drawn_ = platform::WriteText(kStderr, line).value_or(false) || drawn_;
}

}  // namespace vigil::app
