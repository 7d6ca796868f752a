#include "tabular/json_table.h"

#include "catalogue/says.h"

namespace vigil::tabular {

void JsonTable::AddRow() {
  while (ids_.size() < columns_.size()) {
    const auto column = static_cast<ColumnId>(ids_.size());
    ids_.push_back(table_.AddColumn({columns_.name(column), UseOfColumn(columns_.name(column))}));
    same_ids_ = same_ids_ && ids_.back() == column;
  }
  Row row = reader_.row();
  if (!same_ids_) {
    cells_.assign(row.cells.begin(), row.cells.end());
    for (Cell& cell : cells_) cell.column = ids_[cell.column];
    row.cells = cells_;
  }
  table_.Add(row);
}

void JsonTable::Finish() {
  table_.Finish();
  if (columns_.full()) builder_.AddNote(says::NoteTooManyKeys{.limit = Columns::kMostColumns});
}

}  // namespace vigil::tabular
