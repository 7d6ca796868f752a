#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "alarms.h"
#include "command.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/terminal.h"
#include "report/report.h"

namespace vigil::app {
namespace {

constexpr int kStdout = 1;
// Reading and judging get at most this share of the time of one core: what is watched needs the machine more.
constexpr double kWorkShare = 0.1;
constexpr double kDrainIntervalSeconds = 1;

constexpr std::string_view kExamples = R"(
examples:
  vigil watch out/my-run                         a run as it goes: last values, spark lines, alarms; Ctrl-C ends it
  vigil watch out/my-run --json | tee alarms     an alarm a line, for machines
  vigil watch runs/ --until-idle 600             ends when nothing was written for ten minutes, with the verdict

exit codes: as of `vigil diagnose`, by what stood at the end)";

struct WatchOptions {
  std::vector<std::string> paths;
  bool json = false;
  double interval = 1;
  double until_idle = 0;
  bool no_drain = false;
  Limits limits;
  Layout layout;
};

// The part of the terminal that is drawn over and over. Nothing where the output is no terminal.
class Canvas {
 public:
  explicit Canvas(bool active) : active_(active) {}

  bool active() const { return active_; }

  // Prints text that stays, above what is redrawn. False when nobody reads any more.
  bool Print(std::string_view text) {
    Clear();
    return Write(text);
  }

  bool Draw(const std::string& text) {
    if (!active_) return true;
    Clear();
    lines_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    return Write(text);
  }

  void Clear() {
    if (lines_ != 0) Write(fmt::format("\x1b[{}A\x1b[J", lines_));
    lines_ = 0;
  }

 private:
  static bool Write(std::string_view text) { return platform::WriteText(kStdout, text).value_or(false); }

  bool active_;
  std::size_t lines_ = 0;
};

// CLI's own check lets NaN pass.
CLI::Validator SecondsBetween(double least, double most) {
  return {[=](const std::string& text) {
            const auto value = ParseNumber(text);
            const bool good = value && *value >= least && *value <= most;
            return good ? std::string() : fmt::format("{}: expected {:g} to {:g} seconds", text, least, most);
          },
          fmt::format("[{:g} - {:g}]", least, most)};
}

class Watch {
 public:
  Watch(const WatchOptions& options, catalogue::Thresholds thresholds)
      : options_(options),
        thresholds_(std::move(thresholds)),
        monitor_(options.paths, thresholds_),
        canvas_(!options.json && platform::IsTerminal(kStdout)) {}

  int Run() {
    if (!options_.no_drain) DrainVisibly(options_.paths, options_.json);
    double last_news = platform::SteadySeconds();
    bool heard = true;
    while (heard && !platform::WasInterrupted()) {
      const double before = platform::SteadySeconds();
      if (monitor_.Poll()) {
        last_news = platform::SteadySeconds();
        heard = Show(monitor_.report());
      } else {
        Drain(before);
        heard = ShowSilence(before - last_news);
      }
      const double after = platform::SteadySeconds();
      if (options_.until_idle > 0 && after - last_news >= options_.until_idle) break;
      platform::Pause(std::max(options_.interval, PauseAfter(after - before)));
    }
    return End();
  }

 private:
  // The first look reads all there is, once. A later one that takes long (files were joined again) does not delay an
  // alarm for more than some seconds.
  double PauseAfter(double look_s) {
    constexpr double kLongestPauseSeconds = 5;
    if (std::exchange(is_first_, false)) return 0;
    return std::min(kLongestPauseSeconds, look_s * (1 / kWorkShare - 1));
  }

  // A run that has fallen silent may have been killed: its last records are in memory.
  void Drain(double now_s) {
    if (options_.no_drain || now_s - drained_s_ < kDrainIntervalSeconds) return;
    drained_s_ = now_s;
    DrainVisibly(options_.paths, options_.json, false);  // problems were named at the start
  }

  // A run that writes nothing is judged by that.
  bool ShowSilence(double silent_s) {
    monitor_.AddStalls(silent_s);
    return Show(monitor_.report());
  }

  // False when nobody reads any more.
  bool Show(const model::Report& now) {
    NameUnread(now);
    const bool heard = RaiseAlarms(book_.Update(now));
    if (!canvas_.active()) return heard;
    const double now_unix_s = static_cast<double>(platform::UnixNs()) * 1e-9;
    return canvas_.Draw(report::RenderLive(now, Text(), now_unix_s)) && heard;
  }

  // Files that are left alone, once each; on a terminal the screen has them.
  void NameUnread(const model::Report& now) {
    if (canvas_.active()) return;
    for (const model::Unread& unread : now.unread) {
      if (named_.insert(unread.path).second) Complain(fmt::format("{}: {}", unread.path, report::WhyUnread(unread)));
    }
  }

  bool RaiseAlarms(std::vector<report::Alarm> alarms) {
    bool heard = true;
    for (report::Alarm& alarm : alarms) {
      alarm.time = platform::LocalTime();
      heard = canvas_.Print(options_.json ? report::AlarmJson(alarm) : report::AlarmText(alarm, Text())) && heard;
    }
    return heard;
  }

  report::TextOptions Text() const { return TextOptionsFor(options_.layout); }

  int End() {
    if (!options_.no_drain) DrainVisibly(options_.paths, options_.json);
    const model::Report report = monitor_.Conclude();
    canvas_.Clear();
    if (report.runs.empty())
      return Refuse(fmt::format("nothing that vigil can read appeared at {}", Join(options_.paths, ", ")));
    // Some things are judged at the end alone: the verdict names them, machines read the alarms.
    if (options_.json) RaiseAlarms(book_.Conclude(report));
    report::TextOptions text = Text();
    text.brief = true;
    return options_.json ? ExitCode(report, options_.limits)
                         : Print(report::RenderText(report, text), ExitCode(report, options_.limits));
  }

  const WatchOptions& options_;
  catalogue::Thresholds thresholds_;
  pipeline::Monitor monitor_;
  AlarmBook book_;
  std::set<std::string> named_;
  double drained_s_ = platform::SteadySeconds();
  bool is_first_ = true;
  Canvas canvas_;
};

int RunWatch(const WatchOptions& options) {
  auto thresholds = LoadThresholds(options.limits);
  if (!thresholds) return Refuse(thresholds.error().Text());
  for (const std::string& path : options.paths) {
    if (!platform::Stat(path)) Complain(fmt::format("{}: does not exist; waiting for it", path));
  }
  platform::CatchInterrupts();
  return Watch(options, std::move(*thresholds)).Run();
}

}  // namespace

Command AddWatch(CLI::App& program) {
  CLI::App* command = program.add_subcommand("watch", "follow a run while it goes, and raise alarms");
  auto options = std::make_shared<WatchOptions>();
  command->add_option("PATH", options->paths, "run directories and files, also such that do not exist yet")->required();
  command->add_flag("--json", options->json, "one line of JSON for each alarm (schema vigil.alarm/1), nothing else");
  command->add_option("--interval", options->interval, "seconds between two looks (default 1)")
      ->type_name("SECONDS")
      ->check(SecondsBetween(0.01, 3600));
  command->add_option("--until-idle", options->until_idle, "end when nothing was written for so long")
      ->type_name("SECONDS")
      ->check(SecondsBetween(0.01, 1e7));
  AddLimitOptions(*command, options->limits);
  AddDrainOption(*command, options->no_drain);
  AddSecretsOption(*command);
  AddLayoutOptions(*command, options->layout);
  command->footer(std::string(kExamples));
  return {command, [options] { return RunWatch(*options); }};
}

}  // namespace vigil::app
