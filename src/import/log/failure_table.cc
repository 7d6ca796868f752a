#include "import/log/failure_table.h"

#include <array>

#include "base/base.h"
#include "import/log/line.h"

namespace vigil::import::log {
namespace {

constexpr std::size_t kLongestTable = 12;

struct Signal {
  int number;
  std::string_view name;
};
constexpr std::array<Signal, 11> kSignals = {{{1, "SIGHUP"},
                                              {2, "SIGINT"},
                                              {3, "SIGQUIT"},
                                              {4, "SIGILL"},
                                              {6, "SIGABRT"},
                                              {7, "SIGBUS"},
                                              {8, "SIGFPE"},
                                              {9, "SIGKILL"},
                                              {10, "SIGUSR1"},
                                              {11, "SIGSEGV"},
                                              {15, "SIGTERM"}}};

// "  exitcode  : -9 (pid: 12)" -> -9
std::optional<std::int32_t> FirstInteger(std::string_view text) {
  const auto value = ParseInteger(text.substr(0, text.find(' ')));
  if (!value || *value < -1000 || *value > 1 << 24) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

}  // namespace

std::string_view SignalName(int signal) {
  for (const Signal& known : kSignals) {
    if (known.number == signal) return known.name;
  }
  return {};
}

std::optional<ProcessFailure> FailureTableReader::Consume(std::string_view text, std::uint32_t line) {
  if (text.find("Root Cause (first observed failure)") != std::string_view::npos) {
    is_open_ = true;
    lines_ = 0;
    failure_ = {};
    return std::nullopt;
  }
  if (!is_open_) return std::nullopt;
  if (++lines_ > kLongestTable || text.starts_with("====")) {
    is_open_ = false;
    return std::nullopt;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view key = Trim(text.substr(0, colon));
  const std::string_view value = Trim(text.substr(colon + 1));
  if (key == "host") failure_.host = Printable(value.substr(0, 100));
  if (key == "rank") failure_.rank = FirstInteger(value).value_or(-1);
  if (key != "exitcode") return std::nullopt;
  failure_.exit_code = FirstInteger(value).value_or(0);
  failure_.line = line;
  is_open_ = false;
  return failure_;
}

}  // namespace vigil::import::log
