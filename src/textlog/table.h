// Tables that trainers draw: a row of names with rows of numbers below it ("epoch  train_loss  valid_loss"), also with
// a progress bar at the end of a row, and boxes of one name and number a line ("|    ep_rew_mean | 21.9 |").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "textlog/pairs.h"

namespace vigil::textlog {

// A row of values. Names refer to the reader, until it is given another line.
struct TableRow {
  std::int64_t step = -1;  // -1: the table has no column for it
  double epoch = -1;
  std::int64_t total = 0;   // "3/100": 100
  bool evaluation = false;  // a table of scores drawn below the row of its epoch
  NamedNumbers numbers;
};

class TableReader {
 public:
  enum class Place : std::uint8_t { kOutside, kInside, kRow };

  // Takes a line. kRow: `row` holds what it says. Lines of no table are left alone.
  Place Consume(std::string_view text, TableRow& row);
  // Below a row of names, or inside a box: every line is wanted.
  bool is_open() const { return !columns_.empty() || in_box_; }

 private:
  struct Named {
    std::string name;
    double value = 0;
  };
  Place TakeHeader(std::string_view text, TableRow& row);
  bool AlignCells(std::string_view text);
  std::size_t DistanceTo(std::size_t column, std::size_t begin, std::size_t end) const;
  Place TakeValues(std::string_view text, TableRow& row);
  Place TakeScores(TableRow& row);
  Place TakeBoxLine(TableRow& row);
  Place CloseBox(TableRow& row);
  bool IsHeader() const;
  bool MayBeHeader() const;
  bool OpensBox() const;

  std::vector<std::string_view> cells_;  // of the line at hand
  bool has_sides_ = false;               // the line at hand stands between bars
  std::vector<std::string> columns_;
  std::vector<std::size_t> offsets_;  // where the names of the columns begin in their line
  std::size_t place_column_ = 0;      // of step or epoch
  bool is_doubtful_ = false;          // the vocabulary knows no name of the header: the next line must be a row
  std::vector<std::string> scores_;
  std::vector<std::string> latest_scores_;  // the names of the scores in the latest row
  TableRow last_;
  std::size_t other_lines_ = 0;  // lines since the last row
  bool in_box_ = false;
  std::string section_;
  std::vector<Named> box_;
};

}  // namespace vigil::textlog
