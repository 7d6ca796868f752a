// What the columns of a table mean, from its header and first rows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/csv/row.h"
#include "model/run.h"
#include "tabular/column_roles.h"
#include "tabular/step_policy.h"

namespace vigil::formats::csv {

inline constexpr std::size_t kSniffBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

struct Column {
  std::string name;        // as the file spells it; made up where there is no header
  tabular::ColumnUse use;  // by its name, and by what the table is
  std::string meaning;     // a name that the vocabulary knows better than `name`, or empty
  model::Labels labels;

  bool is_value() const { return tabular::BecomesSeries(use.role); }
};

struct Layout {
  char delimiter = ',';
  std::vector<Column> columns;
  tabular::AxisChoice axis;
  std::size_t name = kNoColumn;          // long form: the column with the name of the metric,
  std::size_t value = kNoColumn;         // and the one with its value
  std::size_t guessed_loss = kNoColumn;  // without a header: the column that behaves as one
  double time_origin = 0;                // unix seconds to which times are relative
  std::string environment;               // what a monitor file says it watched
  std::string header;                    // its line, to know it when it comes again; empty without one
  std::size_t body = 0;                  // bytes before the first row of values
  std::uint32_t body_line = 1;
  int sureness = 0;  // that this is a table of metrics, 0 to 100

  bool is_long() const { return name != kNoColumn; }
};

// The layout of a table that begins with `head` (at most kSniffBytes of it count); `whole`: nothing follows. Nothing
// when it is no table.
std::optional<Layout> SniffLayout(std::string_view head, bool whole, std::string_view path);

// The layout for a header that stands further down in the same file; nothing when the row is none.
std::optional<Layout> LayoutOfHeader(std::span<const Cell> cells, const Layout& before);

}  // namespace vigil::formats::csv
