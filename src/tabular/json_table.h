// tabular/json_table: objects of JSON as rows of the table of metrics: what the readers of JSON lines, of documents and
// of trackers share.
#pragma once

#include <vector>

#include "tabular/json_rows.h"
#include "tabular/metric_table.h"

namespace vigil::tabular {

class JsonTable {
 public:
  explicit JsonTable(ingest::PartBuilder& builder) : builder_(builder), reader_(columns_), table_(builder) {}
  JsonTable(const JsonTable&) = delete;
  JsonTable& operator=(const JsonTable&) = delete;
  JsonTable(JsonTable&&) = delete;
  JsonTable& operator=(JsonTable&&) = delete;
  ~JsonTable() = default;

  // Reads the next row; see RowReader.
  RowReader& reader() { return reader_; }
  const Columns& columns() const { return columns_; }
  // The row that the reader has read whole.
  void AddRow();
  void Flush() { table_.Flush(); }
  void Finish();

 private:
  ingest::PartBuilder& builder_;
  Columns columns_;
  RowReader reader_;
  MetricTable table_;
  std::vector<ColumnId> ids_;  // of the columns in the table, which may have others of its own
  bool same_ids_ = true;
  std::vector<Cell> cells_;
};

}  // namespace vigil::tabular
