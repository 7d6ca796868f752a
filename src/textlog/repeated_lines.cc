#include "textlog/repeated_lines.h"

#include <vector>

namespace vigil::textlog {

bool RepeatedLines::Take(const LogLine& line, MetricLine& parsed, bool is_placed) {
  if (line.cut) return false;
  if (is_placed && parsed.step >= 0 && parsed.epoch >= 0) parsed.step = steps_.epochs().Count(parsed);
  const auto& rows = repetition_.Take(line.text, parsed, is_placed, line.rank, line.number);
  for (const LearnedRow& row : rows) AddRow(row);
  if (rows.empty()) return false;
  if (!is_placed && !rows.back().unplaced && parsed.lead >= 0) RememberCounted(line, parsed);
  return true;
}

void RepeatedLines::AddRow(const LearnedRow& row) {
  numbers_.clear();
  for (const LearnedRow::Number& number : row.numbers) {
    numbers_.push_back(number.number);
    numbers_.back().name = number.name;
  }
  RowPlace place = {row.step, row.rank, row.line};
  if (row.unplaced) {
    place.origin = Origin::kUnplaced;
    place.axis = model::Axis::kRow;
  }
  sink_.Find(numbers_, place);
  sink_.BringToUnits(numbers_);
  sink_.Add(numbers_, place);
  steps_.Observe(place);
}

// A line that a count without a name opens: the next ones are read by its shape, with that count as their step.
void RepeatedLines::RememberCounted(const LogLine& line, MetricLine& parsed) {
  std::vector<std::uint32_t> series;
  series.reserve(parsed.numbers.size());
  for (NamedNumber& number : parsed.numbers) {
    const NamedNumber* const kept = FindNumber(numbers_, number.name);
    series.push_back(kept == nullptr ? 0 : sink_.found()[static_cast<std::size_t>(kept - numbers_.data())]);
    if (const double factor = sink_.FactorOf(series.back(), number); factor != 0) number.name_scale *= factor;
  }
  parsed.step = parsed.lead;
  parsed.step_at = parsed.lead_at;
  parsed.step_thousands = false;
  parsed.counted = true;
  parsed.evaluation = false;
  shapes_.Remember(line, parsed, series);
}

}  // namespace vigil::textlog
