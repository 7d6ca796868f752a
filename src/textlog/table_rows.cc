#include "textlog/table_rows.h"

namespace vigil::textlog {

bool TableRows::Take(const LogLine& line) {
  const TableReader::Place where = reader_.Consume(line.text, row_);
  if (where != TableReader::Place::kRow) return where == TableReader::Place::kInside;
  RowPlace place = {row_.step, line.rank, line.number, Origin::kTable, row_.evaluation};
  if (row_.step < 0) {
    place.step = static_cast<std::int64_t>(row_.epoch);
    place.axis = model::Axis::kEpoch;
  } else if (row_.total > 0) {
    steps_.ObserveTotal(row_.total);
  }
  sink_.FindAndAdd(row_.numbers, place);
  steps_.Observe(place);
  return true;
}

}  // namespace vigil::textlog
