#include "platform/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "platform/calls.h"
#include "platform/files.h"

namespace vigil::platform {
namespace {

// A handler gets no arguments of ours: this is the one way to hand it the descriptor.
volatile std::sig_atomic_t g_terminal = -1;  // NOLINT(readability-identifier-naming)

// Only calls that are safe inside a handler.
extern "C" void ClearLineAndDie(int signal) {
  constexpr char kClearLine[] = "\r\x1b[K";
  const ssize_t ignored = ::write(g_terminal, kClearLine, sizeof kClearLine - 1);
  static_cast<void>(ignored);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

volatile std::sig_atomic_t g_interrupted = 0;  // NOLINT(readability-identifier-naming)

extern "C" void NoteInterrupt(int signal) {
  if (g_interrupted != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_interrupted = 1;
}

}  // namespace

bool IsTerminal(int descriptor) { return ::isatty(descriptor) == 1; }

int TerminalWidth(int descriptor, int otherwise) {
  struct winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (const char* columns = std::getenv("COLUMNS")) {
    const auto value = ParseInteger(columns);
    if (value && *value >= 20 && *value <= 1000) return static_cast<int>(*value);
  }
  return otherwise;
}

Result<bool> WriteText(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return false;
    } else if (!MayTryAgain(descriptor, errno)) {
      return Fail(CodeOf(errno), fmt::format("the output could not be written: {}", SystemReason(errno)));
    }
  }
  return true;
}

void IgnoreClosedPipes() { std::signal(SIGPIPE, SIG_IGN); }

void ClearLineOnInterrupt(int descriptor) {
  g_terminal = descriptor;
  std::signal(SIGINT, ClearLineAndDie);
  std::signal(SIGTERM, ClearLineAndDie);
}

void CatchInterrupts() {
  g_interrupted = 0;
  // Without SA_RESTART, so that a wait ends at once.
  struct sigaction action = {};
  action.sa_handler = NoteInterrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

bool WasInterrupted() { return g_interrupted != 0; }

void Pause(double seconds) {
  if (!(seconds > 0) || WasInterrupted()) return;
  const double whole = std::floor(seconds);
  const timespec time = {static_cast<std::time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
  ::nanosleep(&time, nullptr);
}

}  // namespace vigil::platform
