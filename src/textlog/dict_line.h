// Dictionaries that trainers print: {'loss': 2.3, 'grad_norm': '0.71', 'epoch': 0.1}, Python or JSON.
#pragma once

#include <string_view>

#include "tabular/json_rows.h"
#include "textlog/pairs.h"

namespace vigil::textlog {

// Reads the dictionary that begins at text[open] ('{'). Numbers, also quoted ones, go into `numbers`; other values are
// passed over, nested ones too. Returns the position after the closing brace, npos when the text ends before it or is
// no dictionary with quoted keys.
std::size_t ParseDict(std::string_view text, std::size_t open, NamedNumbers& numbers);

// JSON with objects inside that names a step: what they hold is named by their keys, "train/loss".
class NestedDict {
 public:
  // As ParseDict; npos also when nothing is nested, or no step is named. The names live as long as this.
  std::size_t Parse(std::string_view text, std::size_t open, NamedNumbers& numbers);

 private:
  tabular::Columns columns_;
  tabular::RowReader row_{columns_};
};

// Where a dictionary with a quoted key begins in `text`, npos when none does.
std::size_t FindDict(std::string_view text);

}  // namespace vigil::textlog
