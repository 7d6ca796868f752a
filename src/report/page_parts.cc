#include "report/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/base.h"

namespace vigil::report {
namespace {

// The steps are those by which the rows were written: 0.5 a hint, 1.5 good, 2.5 strong, 4 decides alone.
std::string_view Strength(double weight) {
  const double size = std::abs(weight);
  return size >= 4 ? "decisive evidence" : size >= 2 ? "strong evidence" : size >= 1 ? "good evidence" : "a hint";
}

}  // namespace

CataloguePage NewPage(std::string_view kind, std::string_view id, std::string_view title) {
  return {kind, std::string(id), std::string(title), {}};
}

void AddText(CataloguePage& page, std::string_view key, std::string_view heading, std::string_view text) {
  if (!text.empty()) page.sections.push_back({key, heading, std::string(text), {}, {}, {}, nullptr});
}

void AddList(CataloguePage& page, std::string_view key, std::string_view heading, std::vector<std::string> items) {
  if (!items.empty()) page.sections.push_back({key, heading, {}, std::move(items), {}, {}, nullptr});
}

void AddTable(CataloguePage& page, std::string_view key, std::string_view heading,
              std::vector<std::string_view> columns, std::vector<std::vector<Cell>> rows) {
  if (!rows.empty()) page.sections.push_back({key, heading, {}, {}, std::move(columns), std::move(rows), nullptr});
}

Cell Said(std::string_view text) { return {std::string(text), std::nullopt}; }
Cell Counted(double value) { return {FormatNumber(value), value}; }

std::vector<std::string> Listed(catalogue::Words words) { return {words.begin(), words.end()}; }

std::string HowLogged(std::string_view signal) {
  constexpr std::size_t kExamples = 4;
  const catalogue::SignalRow* row = catalogue::FindSignal(signal);
  if (row == nullptr || row->aliases.empty()) return std::string(signal);
  std::vector<std::string> examples = Listed(row->aliases.first(std::min(kExamples, row->aliases.size())));
  if (row->aliases.size() > kExamples) examples.emplace_back("...");
  return fmt::format("{} ({}; also logged as {})", signal, row->title, Join(examples, ", "));
}

std::string WeightText(double weight) {
  if (weight == 0) return "says nothing";
  if (weight <= -3) return weight <= -4 ? "rules it out" : "nearly rules it out";
  return fmt::format("{} {}", Strength(weight), weight > 0 ? "for" : "against");
}

}  // namespace vigil::report
