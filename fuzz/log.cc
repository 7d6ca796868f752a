// Log text: any bytes, whole and in pieces, with and without the search for hints, give the same points and events.
#include <cstdlib>

#include "textlog/log_reader.h"

namespace {

using vigil::ingest::PartBuilder;
using vigil::textlog::LogReader;

struct Counts {
  std::size_t points = 0;
  std::size_t events = 0;
  std::int64_t steps = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

Counts Read(std::string_view text, std::size_t piece, bool use_hints) {
  PartBuilder builder("fuzz.log", "log-text");
  LogReader reader(builder, {use_hints});
  std::size_t begin = 0;
  std::size_t end = 0;
  do {
    end = std::min(text.size(), end + piece);
    begin += reader.Consume(text.substr(begin, end - begin), end == text.size());
    if (begin > end) std::abort();
  } while (end < text.size());
  Counts counts;
  const vigil::model::Run run = builder.Finish();
  counts.events = run.events.size();
  for (const auto& series : run.series) {
    if (series.steps.size() != series.values.size() || series.lines.size() != series.values.size()) std::abort();
    counts.points += series.size();
    for (const std::int64_t step : series.steps) counts.steps ^= step;
  }
  return counts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Counts whole = Read(text, size + 1, true);
  if (Read(text, 7, true) != whole) std::abort();
  // Colours inside a word hide it from the search; nobody writes them there.
  if (text.find_first_of("\x1b\b") == std::string_view::npos && Read(text, size + 1, false) != whole) std::abort();
  return 0;
}
