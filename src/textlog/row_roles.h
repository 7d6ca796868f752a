// The step and epoch among the named numbers of a row, by the one table of column roles that all readers share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tabular/column_roles.h"
#include "textlog/pairs.h"

namespace vigil::textlog {

class RowRoles {
 public:
  struct Place {
    std::int64_t step = -1;  // -1: the row names none
    double epoch = -1;
  };
  // Of several names of the step the one that comes first in tabular::StepNames counts.
  Place Find(const NamedNumbers& numbers);
  // Removes the numbers that are no metric by their role: steps, times, ranks. Of the numbers that Find was given last.
  void KeepMetrics(NamedNumbers& numbers) const;

 private:
  struct Known {
    std::string name;
    tabular::ColumnUse use;
  };
  // Rows repeat their names in the same order: what the name at this place meant in the row before needs no lookup.
  const tabular::ColumnUse& UseOf(std::size_t i, std::string_view name);

  std::vector<Known> known_;
};

}  // namespace vigil::textlog
