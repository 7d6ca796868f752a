// Prints every point that a file holds, as "name<tab>step<tab>time<tab>value": for scripts that compare with other
// readers. With --runs the run's own name stands before it, for files that hold several.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "import/import.h"

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

}  // namespace

int main(int count, char** arguments) {
  const bool named = count == 3 && std::string_view(arguments[1]) == "--runs";
  if (count != 2 && !named) {
    fmt::print(stderr, "usage: dump_series [--runs] FILE\n");
    return 2;
  }
  const auto runs = vigil::import::ReadRuns(arguments[count - 1]);
  if (!runs) {
    fmt::print(stderr, "{}\n", runs.error().message);
    return 1;
  }
  for (const auto& run : *runs) Print(run, named);
  return 0;
}
