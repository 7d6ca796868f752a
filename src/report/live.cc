// Runs that are still going: where they are, their last values with spark lines, what is wrong with them now.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "base/base.h"
#include "report/json.h"
#include "report/json_statement.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/verdict.h"
#include "report/words.h"

namespace vigil::report {
namespace {

constexpr std::size_t kMostRuns = 4;
constexpr std::size_t kMostAlarms = 5;
constexpr std::size_t kNameWidth = 16;
constexpr std::size_t kValueWidth = 11;
constexpr std::size_t kWidestSpark = 60;

// What people look at while a run goes, in this order; a run shows those that it logs.
constexpr std::array<std::string_view, 9> kMetrics = {"loss",    "reward",       "eval_loss",   "grad_norm",   "lr",
                                                      "entropy", "tokens_per_s", "step_time_s", "mem_reserved"};

// The mean of the finite values of a stretch; NaN when a value of it is not finite, so that it is seen.
double Level(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) return model::kNoValue;
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

// The last values of a series, a character each, a character for several where there are more than fit.
std::string Spark(const Screen& screen, const model::Series& series, std::size_t columns) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> kAscii = {"_", ".", ",", "-", "=", "+", "*", "#"};
  const std::size_t used = std::min(columns, series.size());
  const Scale scale = ScaleOf(series);
  std::string text;
  for (std::size_t i = 0; i < used; ++i) {
    const std::size_t from = i * series.size() / used;
    const std::size_t to = (i + 1) * series.size() / used;
    const double level = Level(std::span(series.values).subspan(from, to - from));
    if (!std::isfinite(level)) {
      text += screen.Glyph("×", "!");
      continue;
    }
    const double height = std::clamp(scale.Height(level), 0.0, 1.0);
    const auto index = static_cast<std::size_t>(std::lround(height * 7));
    text += screen.Glyph(kBlocks[index], kAscii[index]);
  }
  return text;
}

std::string CountText(model::Position position) {
  // Readers keep steps at 0 and above.
  return FormatCount(static_cast<std::uint64_t>(std::max<std::int64_t>(position.value(), 0)));
}

// "step 1,200 of 4,000 (30%)", "epoch 3": the plan is one of steps, and named where the run's axis leads to them.
std::string WhereText(const model::Run& run) {
  const model::Position last = SpanOf(run).Last();
  if (!last.known()) return "no metrics so far";
  std::string where = fmt::format("{} {}", AxisWord(last.axis()), CountText(last));
  const model::Position reached = run.axes.To(model::Axis::kStep, last);
  if (!run.Planned().known() || !reached.known()) return where;
  const double share = static_cast<double>(reached.value()) / static_cast<double>(run.Planned().value());
  const std::string step = last.axis() == model::Axis::kStep ? std::string() : ", step " + CountText(reached);
  return fmt::format("{}{} of {} ({})", where, step, CountText(run.Planned()), Percent(share));
}

Ink InkOf(model::Severity severity) {
  return severity >= model::Severity::kError     ? Ink::kRed
         : severity == model::Severity::kWarning ? Ink::kYellow
                                                 : Ink::kCyan;
}

void DrawMetrics(Screen& screen, const model::Run& run) {
  const std::size_t lead = 2 + kNameWidth + kValueWidth + 1;
  const std::size_t columns = screen.width() > lead + 8 ? std::min(screen.width() - lead, kWidestSpark) : 8;
  for (const std::string_view metric : kMetrics) {
    const model::Series* series = run.Find(metric);
    if (series == nullptr || series->empty()) continue;
    const std::string value = PadLeft(FormatNumber(series->values.back()), kValueWidth);
    screen.Raw("  " + PadRight(metric, kNameWidth) + value + " " + Spark(screen, *series, columns));
  }
}

void DrawAlarms(Screen& screen, const model::RunReport& run) {
  std::size_t shown = 0;
  for (const model::Finding& finding : run.findings) {
    if (finding.severity < model::Severity::kWarning) continue;
    if (++shown > kMostAlarms) continue;
    screen.Item(2, PadRight(model::Name(finding.severity), 8), fmt::format("{}: {}", finding.id, HeadlineText(finding)),
                InkOf(finding.severity));
  }
  if (shown > kMostAlarms) screen.Item(2, "", fmt::format("and {} more", shown - kMostAlarms));
}

// ---- ranks

struct RankState {
  std::int64_t last_step = model::kNoStep;  // on the main axis of the run
  double last_time = model::kNoValue;
  bool ended = false;
};

// Series without a label are those of the first rank, or what all ranks have in common.
std::map<std::int64_t, RankState> StatesOfRanks(const model::Run& run) {
  std::map<std::int64_t, RankState> states;
  const model::Axis axis = model::MainAxis(run);
  for (const model::Series& series : run.series) {
    if (series.empty() || series.axis != axis) continue;
    const std::string_view label = model::FindLabel(series.labels, "rank");
    const auto rank = label.empty() ? std::optional<std::int64_t>(0) : ParseInteger(label);
    if (!rank) continue;
    RankState& state = states[*rank];
    state.last_step = std::max(state.last_step, series.steps.back());
    if (!series.times.empty()) state.last_time = std::fmax(state.last_time, series.times.back());
  }
  for (const model::Event& event : run.events) {
    const auto at = states.find(event.rank);
    if (at != states.end() && event.kind == model::EventKind::kExit) at->second.ended = true;
  }
  return states;
}

// "silent for 12 s", "behind", or nothing for a rank that is where it should be.
// Ranks write at times of their own: one whose newest record is about as old as the others' is not behind.
std::string Oddity(const RankState& state, const RankState& furthest, double now_unix_s) {
  constexpr double kSilentSeconds = 5;
  constexpr double kWritingSeconds = 2;
  if (state.ended) return "ended";
  const double silent_s = now_unix_s - state.last_time;
  const bool as_new = furthest.last_time - state.last_time < kWritingSeconds;  // false where times are not known
  std::string odd = state.last_step + 1 < furthest.last_step && !as_new ? "behind" : "";
  if (silent_s > kSilentSeconds) odd += fmt::format("{}silent for {:.0f} s", odd.empty() ? "" : ", ", silent_s);
  return odd;
}

void DrawRanks(Screen& screen, const model::Run& run, double now_unix_s) {
  constexpr std::size_t kMostNamed = 6;
  const std::map<std::int64_t, RankState> states = StatesOfRanks(run);
  if (states.size() < 2) return;
  RankState furthest;
  for (const auto& [rank, state] : states) {
    furthest.last_step = std::max(furthest.last_step, state.last_step);
    furthest.last_time = std::fmax(furthest.last_time, state.last_time);
  }
  std::vector<std::string> odd;
  for (const auto& [rank, state] : states) {
    const std::string what = Oddity(state, furthest, now_unix_s);
    if (!what.empty())
      odd.push_back(fmt::format("rank {} at {} {}: {}", rank, AxisWord(model::MainAxis(run)), state.last_step, what));
  }
  const std::size_t others = odd.size() > kMostNamed ? odd.size() - kMostNamed : 0;
  std::string text = fmt::format("{} of {} in step", states.size() - odd.size(), states.size());
  for (std::size_t i = 0; i < odd.size() - others; ++i) text += "; " + odd[i];
  if (others > 0) text += fmt::format("; and {} more", others);
  screen.Item(2, PadRight("ranks", kNameWidth), text, odd.empty() ? Ink::kCyan : Ink::kYellow);
}

// The hour of "2026-11-15T03:12:45".
std::string_view ClockOf(std::string_view time) { return time.substr(std::min(time.find('T') + 1, time.size())); }

}  // namespace

namespace {

// Files that are left alone.
void DrawUnread(Screen& screen, const std::vector<model::Unread>& unread) {
  constexpr std::size_t kMostUnread = 3;
  if (!unread.empty()) screen.Blank();
  for (std::size_t i = 0; i < std::min(unread.size(), kMostUnread); ++i)
    screen.Item(0, "", fmt::format("{}: {}", OneLine(unread[i].path), OneLine(WhyUnread(unread[i]))));
  if (unread.size() > kMostUnread)
    screen.Item(0, "", fmt::format("and {} more that could not be read", CountOf(unread.size() - kMostUnread, "file")));
}

}  // namespace

std::string RenderLive(const model::Report& report, const TextOptions& options, double now_unix_s) {
  Screen screen(options);
  const std::vector<std::size_t> order = WorstFirst(report);
  for (std::size_t i = 0; i < std::min(order.size(), kMostRuns); ++i) {
    const model::RunReport& run = report.runs[order[i]];
    if (i != 0) screen.Blank();
    const std::string name = screen.CutMiddle(screen.Clean(run.run.name), screen.width() / 2);
    screen.Raw(screen.Paint(name, Ink::kBold) + "  " + WhereText(run.run));
    DrawRanks(screen, run.run, now_unix_s);
    DrawMetrics(screen, run.run);
    DrawAlarms(screen, run);
  }
  if (order.size() > kMostRuns) {
    screen.Blank();
    screen.Item(0, "", fmt::format("and {} more", CountOf(order.size() - kMostRuns, "run")));
  }
  DrawUnread(screen, report.unread);
  return screen.Take();
}

std::string AlarmText(const Alarm& alarm, const TextOptions& options) {
  Screen screen(options);
  const std::string lead =
      fmt::format("{} {} ", ClockOf(alarm.time), alarm.cleared ? "cleared" : model::Name(alarm.severity));
  const std::string where = alarm.run.empty() ? std::string() : fmt::format(" [{}]", OneLine(alarm.run));
  const std::string text = OneLine(Sentence(alarm.says));
  screen.Item(0, lead, fmt::format("{}: {}{}", alarm.id, text, where),
              alarm.cleared ? Ink::kGreen : InkOf(alarm.severity));
  return screen.Take();
}

std::string AlarmJson(const Alarm& alarm) {
  JsonWriter json(JsonWriter::Layout::kDense);
  const auto write = [&](std::string_view key, std::string_view text) {
    json.Key(key);
    json.Text(text);
  };
  json.Open();
  write("schema", "vigil.alarm/1");
  write("time", alarm.time);
  write("state", alarm.cleared ? "cleared" : "raised");
  write("run", alarm.run);
  write("id", alarm.id);
  write("severity", model::Name(alarm.severity));
  json.Key("first_step");
  alarm.first.known() ? json.Integer(alarm.first.value()) : json.Null();
  json.Key("axis");
  alarm.first.known() ? json.Text(model::Name(alarm.first.axis())) : json.Null();
  write("message", Sentence(alarm.says));
  json.Key("says");
  WriteStatement(json, alarm.says);
  json.Close();
  return json.Take() + "\n";
}

}  // namespace vigil::report
