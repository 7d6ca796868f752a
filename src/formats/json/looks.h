// Recognising rows of metrics by content: data sets and chat transcripts are JSON objects too.
#pragma once

#include <cstddef>
#include <string_view>

#include "tabular/json_rows.h"

namespace vigil::formats {

// Looks at rows and says how sure they are metrics.
class RowsProbe {
 public:
  static constexpr std::size_t kRowsToSee = 64;

  // Reads the object at the front of `text`; returns how many bytes it took, 0 when there is no whole object.
  std::size_t See(std::string_view text);
  // The same of an object that what was read for recognition ends within: its front counts as a row when it holds
  // a value. False when it does not; `too_deep` when that could not be seen.
  bool SeeFront(std::string_view text, bool& too_deep);
  bool SeenEnough() const { return rows_ >= kRowsToSee; }
  // 0 (no metrics) to 90 (steps, and names from the vocabulary).
  int Sureness() const;

 private:
  void Count(const tabular::RowReader& row);

  tabular::Columns columns_;
  std::size_t rows_ = 0;
  std::size_t rows_with_step_ = 0;
  std::size_t rows_with_known_metric_ = 0;
  std::size_t rows_with_metric_ = 0;
  std::size_t text_bytes_ = 0;
};

// Sureness for objects in an array whose content begins at the front of `text`, and for one object per line.
int SureOfRowsInArray(std::string_view text);
int SureOfRowsInLines(std::string_view text);

// The next object of a line, where some write each row as an array of them: `text` behind the brackets and commas.
std::string_view FromNextObject(std::string_view text);

// `text` without white space (and a byte-order mark) at its front.
std::string_view FromFirstCharacter(std::string_view text);

}  // namespace vigil::formats
