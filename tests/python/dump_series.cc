// Prints every point that a file holds, as "name<tab>step<tab>time<tab>value": for scripts that compare with other
// readers.
#include <fmt/format.h>

#include <cstdio>

#include "import/import.h"

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: dump_series FILE\n");
    return 2;
  }
  const auto part = vigil::import::ReadFile(arguments[1]);
  if (!part) {
    fmt::print(stderr, "{}\n", part.error().message);
    return 1;
  }
  for (const auto& series : part->series) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      const double time = series.times.empty() ? vigil::model::kNoValue : series.times[i];
      fmt::print("{}\t{}\t{}\t{}\n", series.raw, series.steps[i], vigil::FormatExact(time),
                 vigil::FormatExact(series.values[i]));
    }
  }
  return 0;
}
