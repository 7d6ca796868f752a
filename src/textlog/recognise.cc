#include <algorithm>
#include <array>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "ingest/ingest.h"
#include "textlog/log_reader.h"
#include "textlog/textlog.h"

namespace vigil::textlog {
namespace {

// Sureness, on the scale of Format::recognise. Every text could be a log; what counts is what the reader finds in it.
constexpr int kMetrics = 60;
constexpr int kEvents = 45;
constexpr int kNamedAsLog = 30;
constexpr int kNamedOtherwise = 15;
constexpr int kAnyText = 5;  // asked for, and read by nobody else: the reader says which line came closest
// So many points of a known metric are no quotation.
constexpr std::size_t kManyPoints = 16;
constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;

// Programs, documents and settings quote metric lines and errors without having had them: they must hold more of them,
// and any other reader that knows the content comes first.
bool IsNamedAsSomethingElse(std::string_view path) {
  constexpr std::array<std::string_view, 28> kEndings = {
      ".jsonl", ".ndjson", ".py",  ".md",  ".rst", ".ipynb", ".yaml", ".yml", ".toml", ".json",
      ".html",  ".htm",    ".js",  ".ts",  ".css", ".c",     ".cc",   ".cpp", ".h",    ".cu",
      ".sh",    ".tex",    ".cfg", ".ini", ".svg", ".patch", ".tsv",  ".diff"};
  const std::string lower = ToLower(path);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return lower.ends_with(ending); });
}

// Text holds few control characters. Broken UTF-8 is no reason against it, nor is a zero here and there, nor a hole of
// zeros: a file that was emptied while its writer went on, a disk that lost a block when the machine went down.
bool LooksLikeText(std::string_view head) {
  constexpr std::size_t kHole = 64;
  if (ingest::EncodingOf(head) != ingest::Encoding::kBytes) return true;
  std::size_t odd = 0;
  std::size_t text = 0;
  std::size_t zeros = 0;
  const auto end_zeros = [&] {
    if (zeros < kHole) odd += zeros;
    zeros = 0;
  };
  for (const char c : head) {
    if (c == '\0') {
      ++zeros;
      continue;
    }
    end_zeros();
    ++text;
    if (static_cast<unsigned char>(c) < 0x20 && std::string_view("\n\r\t\b\x1b\f").find(c) == std::string_view::npos)
      ++odd;
  }
  end_zeros();
  return text != 0 && odd * 100 <= text;
}

// The lines before the first stretch of bytes that are no text: what a disk or a writer left behind them does not make
// a log of it something else. Empty where there are only a few.
std::string_view TextBeforeGarbage(std::string_view head) {
  constexpr std::size_t kStretch = 256;
  constexpr std::size_t kEnough = 1024;
  std::size_t end = 0;
  while (end + kStretch <= head.size() && LooksLikeText(head.substr(end, kStretch))) end += kStretch;
  const std::string_view text = head.substr(0, head.substr(0, end).rfind('\n') + 1);
  return text.size() < kEnough ? std::string_view() : text;
}

// A listing: rows of the same number of cells, and no metric in any of them.
bool IsListing(std::string_view head) {
  std::size_t rows = 0;
  std::size_t alike = 0;
  std::ptrdiff_t cells = 0;
  for (const std::string_view line : Split(head, '\n')) {
    if (Trim(line).empty()) continue;
    const auto tabs = std::count(line.begin(), line.end(), '\t');
    if (rows++ == 0) cells = tabs;
    if (tabs == cells) ++alike;
  }
  return cells >= 2 && rows >= 3 && alike * 10 >= rows * 9;
}

// Rows of JSON throughout are for the readers of JSON, who know which of them are metrics.
bool IsNothingButJson(std::string_view head) {
  for (const std::string_view line : Split(head, '\n')) {
    const std::string_view text = Trim(line);
    if (!text.empty() && !text.starts_with("{\"")) return false;
  }
  return true;
}

bool HoldsTraining(const ingest::PartBuilder& builder) {
  const std::vector<model::Series>& all = builder.part().series;
  for (ingest::PartBuilder::SeriesId id = 0; id < all.size(); ++id) {
    if (builder.IsLeftOut(id) || all[id].size() < kManyPoints || all[id].segment_starts.size() != 1) continue;
    if (catalogue::Interpret(all[id].raw)) return true;
  }
  return false;
}

}  // namespace

int RecogniseLogText(const ingest::Probe& probe) {
  std::string_view head = probe.head.substr(0, kHeadBytes);
  if (!LooksLikeText(head)) head = TextBeforeGarbage(head);
  if (head.empty()) return 0;
  if (!ingest::IsLogName(probe.path) && IsNothingButJson(head)) return 0;
  ingest::PartBuilder builder(std::string(probe.path), "log-text");
  LogReader reader(builder);
  reader.Consume(head, true);
  const model::Run& part = builder.part();
  if (IsNamedAsSomethingElse(probe.path)) {
    if (HoldsTraining(builder)) return kNamedOtherwise;
    return probe.is_wanted ? kAnyText : 0;
  }
  const bool is_named = ingest::IsLogName(probe.path);
  // Rows of nothing but numbers are a log only where the name says so.
  const bool has_names = std::any_of(part.series.begin(), part.series.end(),
                                     [](const model::Series& series) { return !series.raw.starts_with("column "); });
  if (!part.series.empty() && (has_names || is_named || probe.is_wanted)) return kMetrics;
  if (!is_named && !probe.is_wanted && IsListing(head)) return 0;
  if (!part.events.empty()) return kEvents;
  return is_named ? kNamedAsLog : probe.is_wanted ? kAnyText : 0;
}

std::unique_ptr<ingest::Reader> OpenLogText(ingest::PartBuilder& builder) {
  return std::make_unique<LogReader>(builder);
}

}  // namespace vigil::textlog
