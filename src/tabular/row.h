// tabular/row: a row of a table of metrics as every reader hands it over.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace vigil::tabular {

using ColumnId = std::uint32_t;
inline constexpr ColumnId kNoColumn = std::numeric_limits<ColumnId>::max();

// A number under a column, or a null: a cell that is there without a number.
struct Cell {
  ColumnId column = kNoColumn;
  std::uint32_t line = 0;
  bool is_null = false;
  double value = 0;
};

struct Row {
  std::span<const Cell> cells;
  std::optional<std::uint64_t> fingerprint = {};  // of the data of its step
  bool is_long = false;                           // one metric a row: several rows share a step
  bool is_evaluation = false;                     // measured on data that were not trained on
  bool last_may_be_cut = false;     // the file ends behind the last cell, which may be the beginning of a longer one
  std::string_view last_text = {};  // then: how its number is written
};

}  // namespace vigil::tabular
