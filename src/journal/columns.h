// Samples of one series as a column: steps, times and values, each in the form that takes the fewest bytes. Private to
// journal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "journal/wire.h"

namespace vigil::journal {

struct Column {
  std::uint32_t series = 0;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times_ms;
  std::vector<double> values;

  void Clear() {
    steps.clear();
    times_ms.clear();
    values.clear();
  }
};

// `before`: the column written before it in the same section, or null.
void EncodeColumn(const Column& column, const Column* before, std::string& out);

// Reads the next column into `column`, which holds the one before it (none when empty). False when the bytes do not
// hold a column, or one of more than `most` samples.
bool DecodeColumn(Input& input, std::uint64_t most, Column& column);

}  // namespace vigil::journal
