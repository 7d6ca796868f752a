#include <fmt/format.h>

#include <algorithm>

#include "catalogue/catalogue.h"
#include "import/import.h"

namespace vigil::import {
namespace {

std::string KeyOf(std::string_view raw_name, const model::Labels& extra) {
  std::string key(raw_name);
  for (const auto& [name, value] : extra) {
    key += '\x1f';
    key += name;
    key += '\x1f';
    key += value;
  }
  return key;
}

}  // namespace

PartBuilder::PartBuilder(std::string path, std::string format) {
  part_.sources.push_back({std::move(path), std::move(format), model::SourceState::kRead, {}});
}

PartBuilder::SeriesId PartBuilder::OpenSeries(std::string_view raw_name, const model::Labels& extra) {
  if (extra.empty()) {
    if (const auto known = ids_.find(raw_name); known != ids_.end()) return known->second;
  }
  const auto [at, is_new] = ids_.try_emplace(KeyOf(raw_name, extra), static_cast<SeriesId>(part_.series.size()));
  if (!is_new) return at->second;
  model::Series series;
  series.raw = std::string(raw_name);
  series.signal = series.raw;
  series.labels = extra;
  if (const auto meaning = catalogue::Interpret(raw_name)) {
    series.signal = std::string(meaning->signal);
    series.unit = std::string(meaning->unit);
    series.labels.insert(series.labels.end(), meaning->labels.begin(), meaning->labels.end());
  }
  std::sort(series.labels.begin(), series.labels.end());
  part_.series.push_back(std::move(series));
  return at->second;
}

void PartBuilder::AddEvent(model::Event event) { part_.events.push_back(std::move(event)); }

void PartBuilder::AddFact(std::string_view raw_key, std::string_view value, std::uint32_t line) {
  const std::string_view canonical = catalogue::InterpretFact(raw_key);
  part_.facts.push_back(
      {std::string(canonical.empty() ? raw_key : canonical), std::string(value), std::string(raw_key), {0, line}});
}

void PartBuilder::ReportDamage(std::string note) {
  part_.sources.front().state = model::SourceState::kPartial;
  AddNote(std::move(note));
}

void PartBuilder::AddNote(std::string note) {
  std::string& notes = part_.sources.front().note;
  if (!notes.empty()) notes += "; ";
  notes += note;
}

model::Run PartBuilder::Finish() {
  std::erase_if(part_.series, [](const model::Series& series) { return series.empty(); });
  if (impossible_steps_ != 0)
    AddNote(fmt::format("{} values at steps below 0 or above 2^53 left out", FormatCount(impossible_steps_)));
  return std::move(part_);
}

}  // namespace vigil::import
