#include "report/beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/checklist.h"
#include "report/chart.h"
#include "report/sentence.h"
#include "report/words.h"

namespace vigil::report {
namespace {

using model::ComparedMetric;
using model::Standing;

// ---- beside a reference

// "loss", "best loss", "eval_loss [dataset=code]".
std::string MetricName(const ComparedMetric& metric) {
  std::string name = metric.aspect == model::Aspect::kBest ? "best " + metric.signal : metric.signal;
  if (const std::string labels = LabelText(metric.labels); !labels.empty()) name += " [" + labels + "]";
  return OneLine(name);
}

// "+12%"; nothing where there is no share to speak of.
std::string ChangeOf(const ComparedMetric& metric) {
  const double percent = 100 * (metric.value - metric.reference) / std::abs(metric.reference);
  if (!std::isfinite(percent)) return {};
  // Beyond what a reader compares a factor says more.
  if (percent > 1000) return fmt::format("{} times", FormatNumber(std::round(percent / 100 + 1)));
  return fmt::format("{}{:.{}f}%", percent < 0 ? "" : "+", percent, std::abs(percent) < 10 ? 1 : 0);
}

std::string NameAndChange(const ComparedMetric& metric) {
  const std::string change = std::isnan(metric.value) ? "not finite" : ChangeOf(metric);
  return change.empty() ? MetricName(metric) : fmt::format("{} {}", MetricName(metric), change);
}

std::vector<std::string> NamesOf(const model::Baseline& baseline, Standing standing, bool with_change) {
  std::vector<std::string> names;
  for (const ComparedMetric& metric : baseline.metrics) {
    if (metric.standing == standing) names.push_back(with_change ? NameAndChange(metric) : MetricName(metric));
  }
  return names;
}

std::string NumbersOf(const ComparedMetric& metric) {
  if (metric.standing == Standing::kNotCompared) return fmt::format("not compared: {}", Sentence(metric.reason));
  if (std::isnan(metric.value)) return fmt::format("worse   not finite, {} there", FormatNumber(metric.reference));
  return fmt::format("{:<7} {} here, {} there ({}; noise up to {})", model::Name(metric.standing),
                     FormatNumber(metric.value), FormatNumber(metric.reference), ChangeOf(metric),
                     FormatNumber(metric.noise));
}

Ink InkOf(Standing standing) {
  constexpr std::array<Ink, 4> kInks = {Ink::kPlain, Ink::kGreen, Ink::kRed, Ink::kDim};
  return kInks[static_cast<std::size_t>(standing)];
}

// ---- the checklist

std::string_view Word(model::CheckState state) {
  constexpr std::array<std::string_view, 3> kWords = {"done", "not done", "not possible"};
  return kWords[static_cast<std::size_t>(state)];
}

Ink InkOf(model::CheckState state) {
  constexpr std::array<Ink, 3> kInks = {Ink::kGreen, Ink::kYellow, Ink::kDim};
  return kInks[static_cast<std::size_t>(state)];
}

std::string_view Box(const Screen& screen, model::CheckState state) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kBoxes = {{{"✓", "x"}, {"✗", " "}, {"–", "-"}}};
  const auto& [unicode, ascii] = kBoxes[static_cast<std::size_t>(state)];
  return screen.Glyph(unicode, ascii);
}

std::string ReasonOf(const model::CheckedItem& item) {
  const std::string reason = fmt::format("{}: {}", Word(item.state), OneLine(Sentence(item.reason)));
  return item.path.empty() ? reason : fmt::format("{} ({}:{})", reason, OneLine(item.path), item.line);
}

std::ptrdiff_t CountDone(const std::vector<model::CheckedItem>& items) {
  return std::count_if(items.begin(), items.end(),
                       [](const model::CheckedItem& item) { return item.state == model::CheckState::kDone; });
}

void DrawItem(Screen& screen, const model::CheckedItem& item, const catalogue::ChecklistRow& row) {
  constexpr std::size_t kIndent = 8;
  const std::string lead = fmt::format("[{}] ", Box(screen, item.state));
  screen.Item(4, lead, row.title, InkOf(item.state));
  screen.Item(kIndent, "", ReasonOf(item), Ink::kPlain, Ink::kDim);
  if (item.state == model::CheckState::kDone) return;
  screen.Item(kIndent, "do   ", row.how, Ink::kDim);
  if (!item.change.empty()) screen.Item(kIndent, "with ", OneLine(item.change), Ink::kDim, Ink::kCyan);
  if (!item.command.empty()) screen.Item(kIndent, "$    ", OneLine(item.command), Ink::kDim, Ink::kCyan);
}

}  // namespace

std::string BaselineLine(const model::Baseline& baseline) {
  const std::string name = OneLine(baseline.name);
  const std::vector<std::string> worse = NamesOf(baseline, Standing::kWorse, true);
  if (!worse.empty()) return fmt::format("worse than {}: {}", name, Join(worse, ", "));
  if (!baseline.IsOfUse()) return fmt::format("no metric could be compared with {}", name);
  std::vector<std::string> compared = NamesOf(baseline, Standing::kAlike, false);
  for (std::string& better : NamesOf(baseline, Standing::kBetter, true)) compared.push_back(std::move(better));
  return fmt::format("no worse than {} in {}", name, Join(compared, ", "));
}

void DrawBaseline(Screen& screen, const model::Baseline& baseline) {
  screen.Heading("beside " + OneLine(baseline.name));
  std::size_t widest = 0;
  for (const ComparedMetric& metric : baseline.metrics) widest = std::max(widest, DisplayWidth(MetricName(metric)));
  for (const ComparedMetric& metric : baseline.metrics) {
    const std::string lead = PadRight(MetricName(metric), std::min(widest, screen.width() / 3)) + "  ";
    screen.Item(2, lead, NumbersOf(metric), InkOf(metric.standing));
  }
  for (const model::DifferingSetting& setting : baseline.settings)
    screen.Item(2, "setting ",
                fmt::format("{}: {} here, {} there", OneLine(setting.setting), OneLine(setting.value),
                            OneLine(setting.reference)),
                Ink::kDim);
  if (!baseline.missing_findings.empty())
    screen.Item(2, "only there ", Join(baseline.missing_findings, ", "), Ink::kDim);
  for (const model::Statement& remark : baseline.remarks) screen.Item(2, "note ", OneLine(Sentence(remark)), Ink::kDim);
}

std::string BaselineHtml(const model::Baseline& baseline) {
  std::string html = fmt::format("<h3>Beside {}</h3>\n<div class=\"card scroll\"><table>", EscapeHtml(baseline.name));
  for (const ComparedMetric& metric : baseline.metrics)
    html += fmt::format("<tr><td><code>{}</code></td><td>{}</td></tr>", EscapeHtml(MetricName(metric)),
                        EscapeHtml(NumbersOf(metric)));
  for (const model::DifferingSetting& setting : baseline.settings)
    html += fmt::format("<tr><td>setting <code>{}</code></td><td>{} here, {} there</td></tr>",
                        EscapeHtml(setting.setting), EscapeHtml(setting.value), EscapeHtml(setting.reference));
  html += "</table>";
  for (const model::Statement& remark : baseline.remarks)
    html += fmt::format("<p class=\"soft\">{}</p>", EscapeHtml(Sentence(remark)));
  return html + "</div>\n";
}

void DrawChecklist(Screen& screen, const std::vector<model::CheckedItem>& items) {
  screen.Heading(fmt::format("checklist: {} of {} done", CountDone(items), items.size()));
  std::string_view stage;
  for (const model::CheckedItem& item : items) {
    const catalogue::ChecklistRow* row = catalogue::FindChecklistItem(item.id);
    if (row == nullptr) continue;
    if (row->stage != stage) screen.Item(2, "", row->stage, Ink::kPlain, Ink::kBold);
    stage = row->stage;
    DrawItem(screen, item, *row);
  }
}

std::string ChecklistHtml(const std::vector<model::CheckedItem>& items) {
  std::string html = fmt::format("<h3>Checklist: {} of {} done</h3>\n<div class=\"card scroll\"><table>",
                                 CountDone(items), items.size());
  for (const model::CheckedItem& item : items) {
    const catalogue::ChecklistRow* row = catalogue::FindChecklistItem(item.id);
    if (row == nullptr) continue;
    html += fmt::format("<tr><td>{}</td><td>{}<br><span class=\"soft\">{}</span>", EscapeHtml(row->stage),
                        EscapeHtml(row->title), EscapeHtml(ReasonOf(item)));
    if (item.state != model::CheckState::kDone) html += fmt::format("<br>{}", EscapeHtml(row->how));
    for (const std::string& text : {item.change, item.command}) {
      if (!text.empty()) html += fmt::format("<br><code>{}</code>", EscapeHtml(text));
    }
    html += "</td></tr>";
  }
  return html + "</table></div>\n";
}

}  // namespace vigil::report
