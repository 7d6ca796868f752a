// What the tests of the log reader share: reading a text, and asking for what was read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/ingest.h"
#include "report/report.h"
#include "textlog/log_reader.h"
#include "textlog/textlog.h"

namespace vigil::textlog {

inline model::Run ReadLog(std::string_view text, std::size_t piece_bytes = 0, bool use_hints = true) {
  ingest::PartBuilder builder("train.log", "log-text");
  LogReader reader(builder, {use_hints});
  const std::size_t piece = piece_bytes == 0 ? text.size() : piece_bytes;
  std::size_t begin = 0;
  std::size_t end = 0;
  do {
    end = std::min(text.size(), end + piece);
    begin += reader.Consume(text.substr(begin, end - begin), end == text.size());
  } while (end < text.size());
  return builder.Finish();
}

inline const model::Series* FindRaw(const model::Run& run, std::string_view raw) {
  for (const model::Series& series : run.series) {
    if (series.raw == raw && series.labels.empty()) return &series;
  }
  return nullptr;
}

using Points = std::vector<std::pair<std::int64_t, double>>;
inline Points PointsOf(const model::Run& run, std::string_view raw) {
  Points points;
  const model::Series* series = FindRaw(run, raw);
  for (std::size_t i = 0; series != nullptr && i < series->size(); ++i)
    points.emplace_back(series->steps[i], series->values[i]);
  return points;
}

inline std::vector<std::int64_t> StepsOf(const model::Run& run, std::string_view raw) {
  const model::Series* series = FindRaw(run, raw);
  if (series == nullptr) return {};
  return {series->steps.begin(), series->steps.end()};
}

inline std::vector<model::Event> EventsOf(const model::Run& run, model::EventKind kind) {
  std::vector<model::Event> events;
  for (const model::Event& event : run.events) {
    if (event.kind == kind) events.push_back(event);
  }
  return events;
}

// Everything that a run holds, as text: two runs are equal when this is.
inline std::string Describe(const model::Run& run) {
  std::string out = report::NoteText(run.sources.front()) + "|" + std::to_string(run.Planned().value());
  for (const model::Series& series : run.series) {
    out += "\n" + series.raw + " " + series.signal + " " + std::to_string(static_cast<int>(series.axis));
    for (const auto& [key, value] : series.labels) out += " " + key + "=" + value;
    for (std::size_t i = 0; i < series.size(); ++i)
      out += " " + std::to_string(series.steps[i]) + ":" + FormatExact(series.values[i]) + "@" +
             std::to_string(series.lines[i]);
    for (const std::uint32_t start : series.segment_starts) out += " s" + std::to_string(start);
  }
  for (const model::Event& event : run.events) {
    out += "\n" + std::to_string(static_cast<int>(event.kind)) + " " + event.name + "|" + event.text + "|" +
           event.detail + "|" + std::to_string(event.at.known() ? event.at.value() : model::kNoStep) + " " +
           std::to_string(event.rank) + " " + std::to_string(event.place.line) + (event.run_went_on ? " went on" : "");
  }
  for (const model::Fact& fact : run.facts) out += "\n" + fact.key + "=" + fact.value;
  return out;
}

}  // namespace vigil::textlog
