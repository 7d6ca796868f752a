#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "platform/platform.h"

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

}  // namespace

Result<bool> WriteText(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR) {
      return Fail(fmt::format("the output could not be written: {}", std::strerror(errno)));
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

}  // namespace vigil::platform
