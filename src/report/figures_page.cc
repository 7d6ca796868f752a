#include "report/figures_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/base.h"
#include "report/page_parts.h"
#include "report/plot.h"
#include "report/words.h"

namespace vigil::report {
namespace {

constexpr std::string_view kHeading = "How often it is right (labelled runs in tests/fixtures)";

// "34 of 60 (57%)", or that the cases are too few for a share.
std::string Rate(std::int64_t part, std::int64_t whole, std::string_view of) {
  const std::string counted = fmt::format("{} of {} {}", part, whole, of);
  if (whole < catalogue::kFewestForARate) return counted + ": too few for a rate";
  return fmt::format("{} ({})", counted, Percent(static_cast<double>(part) / static_cast<double>(whole)));
}

std::string HealthyText(const catalogue::FindingFigures& figures) {
  if (figures.healthy_runs == 0) return "no healthy run has what it judges";
  return fmt::format("false alarms: an error on {}, a warning on {}; {} logged points in all",
                     Rate(figures.errors, figures.healthy_runs, "healthy runs"), figures.warnings,
                     FormatCount(static_cast<std::uint64_t>(figures.healthy_points)));
}

std::string FoundText(const catalogue::FindingFigures& figures) {
  if (figures.expected == 0) return "no labelled run has it";
  std::string text = "found on " + Rate(figures.found, figures.expected, "faulty runs that may show it");
  if (figures.stood_in > 0)
    text += fmt::format("; on {} of the others another finding that is right for the fault", figures.stood_in);
  return text;
}

std::string DelayText(const catalogue::FindingFigures& figures) {
  if (figures.dated == 0) return {};
  const std::string few = figures.dated < catalogue::kFewestForARate ? ", few" : "";
  return fmt::format("median delay: {} {} the fault began ({} with a known beginning{})",
                     CountOf(static_cast<std::uint64_t>(std::abs(figures.median_delay)), "step"),
                     figures.median_delay < 0 ? "before" : "after",
                     CountOf(static_cast<std::uint64_t>(figures.dated), "run"), few);
}

std::string FirstText(const catalogue::CauseFigures& figures) {
  if (figures.labelled == 0) return "no labelled run has it";
  std::string text = "named first on " + Rate(figures.first, figures.labelled, "runs where it is a right answer");
  if (figures.other_first > 0) text += fmt::format("; on {} another right answer was", figures.other_first);
  if (figures.rival > 0) text += fmt::format("; on {} it was named beside a wrong one", figures.rival);
  return text;
}

std::string WrongText(const catalogue::CauseFigures& figures) {
  const std::int64_t wrong = figures.wrong + figures.wrong_healthy;
  std::string text = "wrong on " + Rate(wrong, wrong + figures.first, "runs where it is named first");
  if (figures.wrong_healthy > 0) text += fmt::format("; {} of them are healthy", figures.wrong_healthy);
  return text;
}

model::Series SeriesOf(const catalogue::ExampleRow& example) {
  model::Series series;
  series.signal = example.metric;
  for (std::size_t i = 0; i < std::min(example.steps.size(), example.values.size()); ++i)
    series.Append(static_cast<std::int64_t>(example.steps[i]), example.values[i]);
  return series;
}

model::Axis AxisOf(const catalogue::ExampleRow& example) {
  for (std::size_t i = 0; i < model::kAxisCount; ++i) {
    const auto axis = static_cast<model::Axis>(i);
    if (model::Name(axis) == example.axis) return axis;
  }
  return model::Axis::kStep;
}

Span SpanOf(const catalogue::ExampleRow& example) {
  const auto [low, high] = std::minmax_element(example.steps.begin(), example.steps.end());
  return {AxisOf(example), static_cast<std::int64_t>(*low), static_cast<std::int64_t>(*high), example.steps.size()};
}

}  // namespace

void AddFindingFigures(CataloguePage& page) {
  const catalogue::FindingFigures* figures = catalogue::FiguresOfFinding(page.id);
  if (figures == nullptr) return;
  std::vector<std::string> items = {HealthyText(*figures), FoundText(*figures)};
  if (std::string delay = DelayText(*figures); !delay.empty()) items.push_back(std::move(delay));
  AddList(page, "figures", kHeading, std::move(items));
}

void AddCauseFigures(CataloguePage& page) {
  const catalogue::CauseFigures* figures = catalogue::FiguresOfCause(page.id);
  if (figures == nullptr) return AddList(page, "figures", kHeading, {"no labelled run has it, and none was said to"});
  std::vector<std::string> items = {FirstText(*figures)};
  if (figures->first + figures->wrong + figures->wrong_healthy > 0) items.push_back(WrongText(*figures));
  AddList(page, "figures", kHeading, std::move(items));
}

void AddExample(CataloguePage& page) {
  const catalogue::ExampleRow* example = catalogue::ExampleOf(page.id);
  if (example == nullptr || example->steps.empty())
    return AddText(page, "example", "A real case", "no run in tests/fixtures shows it in a curve");
  page.sections.push_back({"example", "A real case", {}, {}, {}, {}, example});
}

std::string ExampleTitle(const catalogue::ExampleRow& example) {
  const std::string found =
      std::isnan(example.at) ? std::string() : fmt::format(", found at {} {:.0f}", example.axis, example.at);
  return fmt::format("{} ({}): {}{}", example.run, example.fault, example.metric, found);
}

void DrawExample(Screen& screen, const catalogue::ExampleRow& example) {
  const model::Series series = SeriesOf(example);
  PlotRequest request{&series, std::string(example.metric), SpanOf(example), 8, {}};
  if (!std::isnan(example.at))
    request.marks.push_back({static_cast<std::int64_t>(example.at), fmt::format("{:.0f}", example.at), Ink::kRed});
  screen.Item(2, "", ExampleTitle(example));
  DrawPlot(screen, request);
}

}  // namespace vigil::report
