#include "command.h"
#include "platform/files.h"

namespace vigil::app {

void AddLimitOptions(CLI::App& command, Limits& limits) {
  command
      .add_option("--fail-on", limits.fail_on,
                  "exit with 1 from this severity on: info, warning, error (default), fatal; or never")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"info", "warning", "error", "fatal", "never"}));
  command
      .add_option("--settings", limits.thresholds,
                  "thresholds and severities of your own (TOML); default: the file named by VIGIL_SETTINGS")
      ->type_name("FILE")
      ->envname("VIGIL_SETTINGS");
}

Result<catalogue::Thresholds> LoadThresholds(const Limits& limits) {
  constexpr std::uint64_t kMostBytes = 1U << 20U;
  if (limits.thresholds.empty()) return catalogue::Thresholds();
  const auto text = platform::ReadWholeFile(limits.thresholds, kMostBytes);
  if (!text) return tl::unexpected(text.error());
  return catalogue::Thresholds::Parse(*text, limits.thresholds);
}

int ExitCode(const model::Report& report, const Limits& limits) {
  const auto limit = model::ParseSeverity(limits.fail_on);
  const auto worst = model::WorstSeverity(report);
  return limit && worst && *worst >= *limit ? kFound : kFine;
}

}  // namespace vigil::app
