#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "report/plot.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/thin.h"
#include "report/verdict.h"
#include "report/words.h"

namespace vigil::report {
namespace {

using Out = std::back_insert_iterator<std::string>;

// Metrics that share a plot stand side by side; the order is that on the page.
struct ChartChoice {
  std::string_view first;
  std::string_view second;
};
constexpr std::array<ChartChoice, 13> kChoices = {{{"loss", "eval_loss"},
                                                   {"grad_norm", ""},
                                                   {"lr", ""},
                                                   {"reward", ""},
                                                   {"reward_std", ""},
                                                   {"kl", ""},
                                                   {"entropy", ""},
                                                   {"truncated_share", ""},
                                                   {"zero_std_share", ""},
                                                   {"completion_length", ""},
                                                   {"accuracy", "eval_accuracy"},
                                                   {"loss_scale", ""},
                                                   {"mem_allocated", "mem_reserved"}}};
constexpr std::size_t kMostCharts = 16;
constexpr std::size_t kFewPoints = 60;  // up to here each point gets a dot
constexpr double kInset = 8;            // room between curve and frame
constexpr double kFlagSize = 15;

double X(const Span& axis, std::int64_t step) {
  return kFrame.left + std::clamp(ShareOf(axis, step), 0.0, 1.0) * (kFrame.right - kFrame.left);
}

double Y(const Scale& scale, double value) {
  return kFrame.bottom - kInset - scale.Height(value) * (kFrame.bottom - kFrame.top - 2 * kInset);
}

// ---- which curves

std::string TitleOf(std::string_view signal) {
  const catalogue::SignalRow* row = catalogue::FindSignal(signal);
  return OneLine(row == nullptr ? signal : row->title);
}

void AddCurve(const model::Run& run, std::string_view signal, std::size_t most_points, Chart& chart) {
  const model::Series* series = signal.empty() ? nullptr : run.Find(signal);
  if (series == nullptr || series->size() < 2) return;
  if (chart.curves.empty()) chart.axis = series->axis;
  if (series->axis != chart.axis) return;
  chart.title += (chart.curves.empty() ? "" : " and ") + TitleOf(signal);
  chart.curves.push_back({series, Thin(*series, most_points)});
}

bool IsDrawn(const std::vector<Chart>& charts, std::string_view signal) {
  return std::any_of(charts.begin(), charts.end(), [&](const Chart& chart) {
    return std::any_of(chart.curves.begin(), chart.curves.end(),
                       [&](const Curve& curve) { return curve.series->signal == signal; });
  });
}

// The plot that the signal has a place in.
ChartChoice ChoiceOf(std::string_view signal) {
  for (const ChartChoice& choice : kChoices) {
    if (choice.first == signal || choice.second == signal) return choice;
  }
  return {signal, {}};
}

// ---- frame, grid, labels

// A round distance between ticks, so that about `count` of them cover `length`.
double RoundStep(double length, double count) {
  const double rough = length / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::vector<double> LinearTicks(double low, double high, double count) {
  std::vector<double> ticks;
  const double length = high - low;
  if (!(length > 0) || !std::isfinite(length)) return {low};
  const double step = RoundStep(length, count);
  const double first = std::ceil(low / step - 1e-9);
  const auto most = static_cast<int>(4 * count);
  for (int i = 0; i < most && (first + i) * step <= high + step * 1e-9; ++i) {
    const double tick = (first + i) * step;
    ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
  }
  return ticks;
}

std::vector<double> DecadeTicks(double low, double high) {
  const double from = std::ceil(std::log10(low) - 1e-9);
  const double to = std::floor(std::log10(high) + 1e-9);
  const double every = std::max(1.0, std::ceil((to - from) / 5));
  std::vector<double> ticks;
  const auto last = static_cast<int>((to - from) / every);
  for (int i = 0; i <= last; ++i) ticks.push_back(std::pow(10.0, from + i * every));
  return ticks;
}

void DrawGrid(Out out, const Scale& scale, const Span& axis) {
  const std::vector<double> levels = !scale.any          ? std::vector<double>()
                                     : scale.logarithmic ? DecadeTicks(scale.low, scale.high)
                                                         : LinearTicks(scale.low, scale.high, 5);
  for (const double level : levels) {
    const double y = Y(scale, level);
    fmt::format_to(out, R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)", kFrame.left,
                   kFrame.right, y, y);
    fmt::format_to(out, R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", kFrame.left - 6, y + 4,
                   FormatNumber(level));
  }
  fmt::format_to(out, R"(<line class="axis" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)", kFrame.left,
                 kFrame.right, kFrame.bottom, kFrame.bottom);
  for (const double tick : LinearTicks(static_cast<double>(axis.first), static_cast<double>(axis.last), 9)) {
    if (tick != std::floor(tick) || std::abs(tick) > 9e18) continue;
    const auto step = static_cast<std::int64_t>(tick);
    fmt::format_to(out, R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", X(axis, step),
                   kFrame.bottom + 16, step);
  }
}

// ---- curves

// Walks over the kept points of a curve and says where the line is cut: at a restart and at a bad value.
class Walk {
 public:
  explicit Walk(const model::Series& series) : series_(series) {}

  // Whether a segment began after the point before and not after `index`.
  bool Restarted(std::size_t index) {
    const auto& starts = series_.segment_starts;
    const std::size_t before = next_;
    while (next_ < starts.size() && starts[next_] <= index) ++next_;
    return next_ != before;
  }

 private:
  const model::Series& series_;
  std::size_t next_ = 0;
};

void DrawDot(Out out, double x, double y) {
  fmt::format_to(out, R"(<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.2"/>)", x, y);
}

void DrawLine(Out out, const Curve& curve, const Scale& scale, const Span& axis) {
  const model::Series& series = *curve.series;
  std::string path;
  std::string dots;
  Walk walk(series);
  bool down = false;
  for (std::size_t i = 0; i < curve.kept.size(); ++i) {
    const std::size_t index = curve.kept[i];
    if (walk.Restarted(index)) down = false;
    if (!std::isfinite(series.values[index])) {
      down = false;
      continue;
    }
    const double x = X(axis, series.steps[index]);
    const double y = Y(scale, series.values[index]);
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", down ? 'L' : 'M', x, y);
    // A point with bad values on both sides has no line to be seen by.
    const bool ends = i + 1 == curve.kept.size() || !std::isfinite(series.values[curve.kept[i + 1]]);
    if (curve.kept.size() <= kFewPoints || (!down && ends)) DrawDot(std::back_inserter(dots), x, y);
    down = true;
  }
  if (!path.empty()) fmt::format_to(out, R"(<path class="line" d="{}"/>)", path);
  fmt::format_to(out, "{}", dots);
}

void DrawBadStretch(Out out, const Span& axis, std::int64_t from, std::int64_t to, double value) {
  const double left = X(axis, from);
  const double width = std::max(X(axis, to) - left, 3.0);
  fmt::format_to(out, R"(<rect class="bad" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", left, kFrame.top,
                 width, kFrame.bottom - kFrame.top);
  const double y = kFrame.bottom - 12;
  fmt::format_to(out, R"(<path class="badmark" d="M{0:.1f} {1:.1f}l7 7m0 -7l-7 7"/>)", left - 3.5, y);
  const bool at_edge = left + 40 > kFrame.right;
  fmt::format_to(out, R"(<text class="badtext" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)",
                 left + (at_edge ? -7 : 8), y + 7, at_edge ? "end" : "start", FormatNumber(value));
}

// Non-finite points in a row become one stretch.
void DrawBad(Out out, const Curve& curve, const Span& axis) {
  const model::Series& series = *curve.series;
  Walk walk(series);
  for (std::size_t i = 0; i < curve.kept.size();) {
    const std::size_t first = curve.kept[i];
    walk.Restarted(first);
    ++i;
    if (std::isfinite(series.values[first])) continue;
    std::size_t last = first;
    while (i < curve.kept.size() && !std::isfinite(series.values[curve.kept[i]]) && !walk.Restarted(curve.kept[i]))
      last = curve.kept[i++];
    DrawBadStretch(out, axis, series.steps[first], series.steps[last], series.values[first]);
  }
}

// ---- findings

bool Concerns(const model::Finding& finding, const Chart& chart) {
  return std::any_of(chart.curves.begin(), chart.curves.end(),
                     [&](const Curve& curve) { return curve.series->signal == finding.signal; });
}

void DrawFlag(Out out, double x, std::size_t level, std::size_t number) {
  const double y = kFrame.top - 10 + static_cast<double>(level) * (kFlagSize + 2);
  const double left = std::clamp(x - kFlagSize / 2, kFrame.left, kFrame.right - kFlagSize);
  fmt::format_to(out, R"(<rect class="flag" x="{0:.1f}" y="{1:.1f}" width="{2}" height="{2}" rx="3"/>)", left, y,
                 kFlagSize);
  fmt::format_to(out, R"(<text class="flagtext" x="{:.1f}" y="{:.1f}">{}</text>)", left + kFlagSize / 2, y + 11.5,
                 number);
}

// Every finding above a note stands in every plot; its band only in the plot of its own signal.
void DrawFindings(Out out, const Chart& chart, const model::RunReport& run, const Span& axis) {
  constexpr std::size_t kMostFlags = 12;
  std::vector<double> taken;
  for (std::size_t i = 0; i < run.findings.size() && taken.size() < kMostFlags; ++i) {
    const model::Finding& finding = run.findings[i];
    const auto first = CountOn(run.run, axis.axis, finding.first);
    const auto last = CountOn(run.run, axis.axis, finding.last);
    if (!first || finding.severity == model::Severity::kInfo) continue;
    const double x = X(axis, *first);
    fmt::format_to(out, R"(<g class="tone-{}"><title>{}. {}</title>)", model::Name(finding.severity), i + 1,
                   EscapeHtml(MessageText(finding)));
    if (Concerns(finding, chart) && last && *last > *first)
      fmt::format_to(out, R"(<rect class="band" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", x, kFrame.top,
                     X(axis, *last) - x, kFrame.bottom - kFrame.top);
    fmt::format_to(out, R"(<line class="mark" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>)", x, kFrame.top,
                   kFrame.bottom);
    const auto level =
        std::count_if(taken.begin(), taken.end(), [&](double other) { return std::abs(other - x) < kFlagSize + 2; });
    DrawFlag(out, x, static_cast<std::size_t>(level), i + 1);
    fmt::format_to(out, "</g>");
    taken.push_back(x);
  }
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : OneLine(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::vector<Chart> ChartsOf(const model::RunReport& run, std::size_t most_points) {
  std::vector<Chart> charts;
  const auto add_chart = [&](std::string_view first, std::string_view second) {
    if (charts.size() == kMostCharts || IsDrawn(charts, first)) return;
    Chart chart;
    AddCurve(run.run, first, most_points, chart);
    AddCurve(run.run, second, most_points, chart);
    if (!chart.curves.empty()) charts.push_back(std::move(chart));
  };
  // The second metric has a chart of its own where it is counted on another axis.
  const auto add = [&](std::string_view first, std::string_view second) {
    add_chart(first, second);
    if (!second.empty()) add_chart(second, {});
  };
  for (const model::Series* series : KeySeries(run, kMostCharts)) {
    const ChartChoice choice = ChoiceOf(series->signal);
    add(choice.first, choice.second);
  }
  for (const ChartChoice& choice : kChoices) add(choice.first, choice.second);
  for (const model::Finding& finding : run.findings) add(finding.signal, {});
  return charts;
}

std::string DrawSvg(const Chart& chart, const model::RunReport& run) {
  const Span axis = SpanOn(run.run, chart.axis);
  std::vector<const model::Series*> series;
  series.reserve(chart.curves.size());
  for (const Curve& curve : chart.curves) series.push_back(curve.series);
  const Scale scale = ScaleOf(series);
  std::string svg;
  const Out out = std::back_inserter(svg);
  fmt::format_to(out, R"(<svg class="plot" viewBox="0 0 {} {}" role="img" tabindex="0" aria-label="{} over {}s{}">)",
                 kFrame.width, kFrame.height, EscapeHtml(chart.title), AxisWord(chart.axis),
                 scale.logarithmic ? ", logarithmic" : "");
  DrawGrid(out, scale, axis);
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    fmt::format_to(out, R"(<g class="curve{}">)", i);
    DrawBad(out, chart.curves[i], axis);
    DrawLine(out, chart.curves[i], scale, axis);
    fmt::format_to(out, "</g>");
  }
  DrawFindings(out, chart, run, axis);
  fmt::format_to(out, R"(<line class="cross" x1="0" x2="0" y1="{:.1f}" y2="{:.1f}"/></svg>)", kFrame.top,
                 kFrame.bottom);
  return svg;
}

}  // namespace vigil::report
