#include "textlog/failure_table.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kLongestTable = 12;
constexpr std::int64_t kHighestRank = 1 << 24;

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

// The signal that ended a task, by what stands behind its number; 0 when none did.
int SignalOfTask(std::string_view ending) {
  struct Ending {
    std::string_view words;
    int signal;
  };
  constexpr std::array<Ending, 6> kEndings = {{{"Killed", 9},
                                               {"Segmentation fault", 11},
                                               {"Aborted", 6},
                                               {"Bus error", 7},
                                               {"Illegal instruction", 4},
                                               {"Floating point exception", 8}}};
  for (const Ending& known : kEndings) {
    if (ending.starts_with(known.words)) return known.signal;
  }
  constexpr std::string_view kCode = "Exited with exit code ";
  if (!ending.starts_with(kCode)) return 0;
  constexpr int kOfSignals = 128;  // a shell's code for a signal is this much higher
  constexpr int kTerminated = 15;
  const int signal = FirstInteger(ending.substr(kCode.size())).value_or(0) - kOfSignals;
  return signal > 0 && signal != kTerminated && !SignalName(signal).empty() ? signal : 0;
}

}  // namespace

std::optional<ProcessFailure> FailureOfSrun(std::string_view text, std::uint32_t line) {
  constexpr std::string_view kError = "srun: error: ";
  const std::size_t error = text.find(kError);
  if (error == std::string_view::npos) return std::nullopt;
  text = text.substr(error + kError.size());
  const std::size_t task = text.find(": task");
  const std::size_t ending = task == std::string_view::npos ? task : text.find(": ", task + 2);
  if (ending == std::string_view::npos) return std::nullopt;
  const int signal = SignalOfTask(text.substr(ending + 2));
  if (signal == 0) return std::nullopt;
  ProcessFailure failure;
  failure.host = Printable(text.substr(0, std::min<std::size_t>(task, 100)));
  failure.exit_code = -signal;
  failure.line = line;
  const std::size_t number = text.find_first_of("0123456789", task);
  std::size_t digits = 0;
  const std::int64_t rank = number < ending ? ReadDigits(text.substr(number), digits) : -1;
  failure.rank = rank <= kHighestRank ? static_cast<std::int32_t>(rank) : -1;
  return failure;
}

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

}  // namespace vigil::textlog
