#include "support/shell.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

namespace vigil::testing_support {

Outcome RunShell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {"cannot start a shell\n", 127};
  std::array<char, 4096> piece{};
  for (std::size_t count = 0; (count = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
    outcome.output.append(piece.data(), count);
  }
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Outcome RunVigil(const std::string& program, const std::string& arguments) {
  return RunShell(fmt::format("env -u COLUMNS -u NO_COLOR LC_ALL=C.UTF-8 TERM=dumb {} {} </dev/null",
                              QuoteForShell(program), arguments));
}

std::string QuoteForShell(const std::string& text) { return "'" + ReplaceAll(text, "'", "'\\''") + "'"; }

std::string ReplaceAll(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace vigil::testing_support
