// Helpers for tests of the JSON readers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "report/report.h"
#include "support/paths.h"
#include "support/why.h"

namespace vigil::formats {

inline const ingest::Format& FormatCalled(std::string_view id) {
  for (const ingest::Format& format : Formats()) {
    if (format.id == id) return format;
  }
  ADD_FAILURE() << "no format " << id;
  return Formats().front();
}

// The part that the reader of `format` makes of `text`; an empty one, and a failure, when it makes none.
inline model::Run Read(std::string_view format, std::string_view text, const std::string& path = "file") {
  auto part = ingest::ReadBytes(path, text, FormatCalled(format));
  if (part) return *std::move(part);
  ADD_FAILURE() << part.error().Text();
  model::Run none;
  none.sources.push_back({path, std::string(format), model::SourceState::kRead, {}});
  return none;
}

inline std::string ErrorOf(std::string_view format, std::string_view text) {
  const auto part = ingest::ReadBytes("file", text, FormatCalled(format));
  return part ? "was read" : WhyNot(part.error());
}

// Everything of a part that readers decide, as text: to compare parts.
inline std::string Describe(const model::Run& part) {
  std::string text;
  for (const model::Series& series : part.series) {
    text += series.signal + " <- " + series.raw;
    for (const auto& [key, value] : series.labels) text += " " + key + "=" + value;
    for (std::size_t i = 0; i < series.size(); ++i) {
      text += " " + std::to_string(series.steps[i]) + ":" + FormatExact(series.values[i]);
      if (!series.lines.empty()) text += "@" + std::to_string(series.lines[i]);
    }
    text += "\n";
  }
  for (const model::Fact& fact : part.facts) text += fact.key + "=" + fact.value + "\n";
  for (const model::Event& event : part.events) text += event.name + " at " + std::to_string(event.at.value()) + "\n";
  return text + report::NoteText(part.sources.front());
}

inline const model::Series& SeriesOf(const model::Run& run, std::string_view signal) {
  static const model::Series none;
  const model::Series* const series = run.Find(signal);
  EXPECT_NE(series, nullptr) << signal;
  return series == nullptr ? none : *series;
}

inline std::string FactOf(const model::Run& run, std::string_view key) {
  const model::Fact* const fact = run.FindFact(key);
  return fact == nullptr ? "none" : fact->value;
}

// The format that the content of `text` shows, "none" when it shows none.
inline std::string Recognised(std::string_view text, std::string_view path = "file") {
  const ingest::Format* const format = Recognise({path, text.substr(0, 64U << 10U), text.size()});
  return format == nullptr ? "none" : std::string(format->id);
}

// Files of other people's runs, where they are at hand: $VIGIL_CORPUS, or beside the project. Empty when absent.
inline std::filesystem::path CorpusFolder(const std::string& name) {
  const char* const stated = std::getenv("VIGIL_CORPUS");
  const std::filesystem::path corpus =
      stated != nullptr ? stated : std::string(testing_support::kSourceDir) + "/../shared/corpus";
  return std::filesystem::exists(corpus / name) ? corpus / name : std::filesystem::path();
}

}  // namespace vigil::formats
