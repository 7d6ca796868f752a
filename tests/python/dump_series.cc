// Prints every point that a file holds, as "name<tab>step<tab>time<tab>value": for scripts that compare with other
// readers. With --runs the run's own name stands before it, for files that hold several; with --facts settings are
// printed instead, as "key<tab>value<tab>key in the file".
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "formats/formats.h"
#include "ingest/ingest.h"

namespace {

void Print(const vigil::model::Run& run, bool named) {
  for (const auto& series : run.series) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      const double time = series.times.empty() ? vigil::model::kNoValue : series.times[i];
      if (named) fmt::print("{}\t", run.sources.front().run);
      fmt::print("{}\t{}\t{}\t{}\n", series.raw, series.steps[i], vigil::FormatExact(time),
                 vigil::FormatExact(series.values[i]));
    }
  }
}

void PrintFacts(const vigil::model::Run& run) {
  fmt::print("framework\t{}\t\n", run.framework);
  for (const auto& fact : run.facts) fmt::print("{}\t{}\t{}\n", fact.key, fact.value, fact.raw_key);
}

}  // namespace

int main(int count, char** arguments) {
  const bool named = count == 3 && std::string_view(arguments[1]) == "--runs";
  const bool facts = count == 3 && std::string_view(arguments[1]) == "--facts";
  if (count != 2 && !named && !facts) {
    fmt::print(stderr, "usage: dump_series [--runs | --facts] FILE\n");
    return 2;
  }
  const auto runs = vigil::formats::ReadRuns(arguments[count - 1]);
  if (!runs) {
    fmt::print(stderr, "{}\n", runs.error().Text());
    return 1;
  }
  for (const auto& run : *runs) facts ? PrintFacts(run) : Print(run, named);
  return 0;
}
