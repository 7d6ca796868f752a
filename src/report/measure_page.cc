#include "report/measure_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/base.h"
#include "report/page_parts.h"
#include "report/sentence.h"

namespace vigil::report {
namespace {

// Below this a weight moves no verdict, and a page that listed it would be longer and say no more.
constexpr double kWorthNaming = 0.1;
constexpr std::size_t kMostCauses = 6;

std::string_view TemplateOf(const catalogue::MeasureRow& row) {
  return catalogue::FindTemplate(std::string(row.id) + ".seen");
}

bool IsShare(const catalogue::MeasureRow& row) {
  return TemplateOf(row).find("{value:percent}") != std::string_view::npos;
}

bool IsYesOrNo(const catalogue::MeasureRow& row) {
  return TemplateOf(row).find("{value:whole}") != std::string_view::npos;
}

// Whether a word of the sentence gives the sign: the title then has the word of values above 0.
bool HasSignWord(const catalogue::MeasureRow& row) {
  const std::string_view text = TemplateOf(row);
  return text.find("{value:fell}") != std::string_view::npos || text.find("{value:rose}") != std::string_view::npos ||
         text.find("{value:above}") != std::string_view::npos;
}

std::string_view UnitOf(const catalogue::MeasureRow& row) {
  const std::string_view text = TemplateOf(row);
  if (IsShare(row)) return "percent";
  if (text.find("{value:count}") != std::string_view::npos) return "count";
  return IsYesOrNo(row) ? "0-or-1" : "number";
}

std::string LimitText(const catalogue::MeasureRow& row, double limit) {
  return IsShare(row) ? FormatNumber(limit * 100) + "%" : FormatNumber(limit);
}

// "below 2%", "2% to 5%", "99% or more": a limit belongs to the level above it.
std::string LevelText(const catalogue::MeasureRow& row, std::size_t level) {
  if (IsYesOrNo(row)) return level == 0 ? "0" : "1";
  if (level == 0) return "below " + LimitText(row, row.levels.front());
  if (level == row.levels.size()) return LimitText(row, row.levels.back()) + " or more";
  return fmt::format("{} to {}", LimitText(row, row.levels[level - 1]), LimitText(row, row.levels[level]));
}

// The weights of the measure's levels in a fitted row; empty where the fit gave it none.
std::span<const double> WeightsIn(const catalogue::FittedRow& fitted, std::string_view measure) {
  for (const catalogue::LevelWeights& feature : fitted.weights) {
    if (feature.feature == measure) return feature.weights;
  }
  return {};
}

void AddLevels(CataloguePage& page, const catalogue::MeasureRow& row) {
  std::span<const double> trouble;
  for (const catalogue::FittedRow& fitted : catalogue::Fitted()) {
    if (fitted.id == catalogue::kAnyCause) trouble = WeightsIn(fitted, row.id);
  }
  std::vector<std::vector<Cell>> rows;
  for (std::size_t level = 0; level <= row.levels.size(); ++level) {
    const double weight = level < trouble.size() && std::abs(trouble[level]) >= kWorthNaming ? trouble[level] : 0;
    rows.push_back({Said(LevelText(row, level)), Said(WeightText(weight) + (weight == 0 ? "" : " trouble"))});
  }
  AddTable(page, "levels", "Levels, and what each says about the run as a whole", {"values", "says"}, std::move(rows));
}

// The level of a measure that moves a cause most, one way.
struct Strongest {
  std::string_view cause;
  double weight = 0;
  std::size_t level = 0;
};

// `sign` 1: for the causes; -1: against them. The strongest first.
std::vector<Strongest> StrongestOf(const catalogue::MeasureRow& row, double sign) {
  std::vector<Strongest> found;
  for (const catalogue::FittedRow& fitted : catalogue::Fitted()) {
    const std::span<const double> weights = WeightsIn(fitted, row.id);
    if (fitted.id == catalogue::kAnyCause || weights.empty()) continue;
    const auto at =
        std::max_element(weights.begin(), weights.end(), [&](double a, double b) { return sign * a < sign * b; });
    if (sign * *at >= kWorthNaming) found.push_back({fitted.id, *at, static_cast<std::size_t>(at - weights.begin())});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Strongest& a, const Strongest& b) { return std::abs(a.weight) > std::abs(b.weight); });
  found.resize(std::min(found.size(), kMostCauses));
  return found;
}

void AddStrongest(CataloguePage& page, const catalogue::MeasureRow& row, double sign, std::string_view key,
                  std::string_view heading) {
  std::vector<std::vector<Cell>> rows;
  for (const Strongest& one : StrongestOf(row, sign))
    rows.push_back({Said(one.cause), Counted(one.weight), Said(LevelText(row, one.level))});
  AddTable(page, key, heading, {"cause", "log odds", "at"}, std::move(rows));
}

// What the report prints for a value, with a letter for the value.
std::string TitleOf(const catalogue::MeasureRow& row) { return SentencePattern(std::string(row.id) + ".seen", "N"); }

std::string UseText(const catalogue::MeasureRow& row) {
  std::string text =
      "What each level adds is fitted to runs with known faults, and not set by hand; a measure that a run does not "
      "have adds nothing.";
  if (HasSignWord(row)) text += " A value below 0 means the opposite direction.";
  if (row.quiet) text += " A report does not quote this one as a reason: alone it means little.";
  return text;
}

}  // namespace

CataloguePage PageOfMeasure(const catalogue::MeasureRow& row) {
  CataloguePage page = NewPage("measure", row.id, TitleOf(row));
  AddText(page, "unit", "Unit", UnitOf(row));
  AddText(page, "needs", "Needs", fmt::format("logged or configured: {}", row.needs));
  AddText(page, "use", "How it is used", UseText(row));
  AddLevels(page, row);
  AddStrongest(page, row, 1, "speaks_for", "Speaks most for (log odds against the other causes)");
  AddStrongest(page, row, -1, "speaks_against", "Speaks most against (log odds against the other causes)");
  std::vector<std::string> sources;
  for (const std::string_view name : row.from) sources.push_back(HowLogged(name));
  AddList(page, "from", "Taken from", std::move(sources));
  return page;
}

}  // namespace vigil::report
