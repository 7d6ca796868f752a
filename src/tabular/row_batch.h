// Rows of one shape, gathered and appended to their columns together: the columns of a series grow by one block instead
// of by single points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ingest/ingest.h"

namespace vigil::tabular {

class RowBatch {
 public:
  // The series of the next rows, one value each. Takes no memory: a source may hold thousands of runs of one row.
  void Begin(std::vector<ingest::PartBuilder::SeriesId> series) {
    series_ = std::move(series);
    rows_ = 0;
  }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == rows_; }  // then Flush, and MakeRoom
  // For twice the rows that there was room for, up to what one block is worth. Nothing may be waiting.
  void MakeRoom() {
    constexpr std::size_t kLeastRows = 8;
    constexpr std::size_t kMostRows = 256;
    constexpr std::size_t kMostCells = std::size_t{1} << 16U;  // wide tables gather fewer rows
    const std::size_t most =
        std::clamp<std::size_t>(kMostCells / std::max<std::size_t>(1, series_.size()), 1, kMostRows);
    if (rows_ == most) return;
    rows_ = std::min(most, std::max(kLeastRows, 2 * rows_));
    values_.resize(series_.size() * rows_);
    lines_.resize(values_.size());
    steps_.resize(rows_);
    times_.resize(rows_);
  }
  // The place of a value of the next row; Close adds the row once all of them are written.
  void Set(std::size_t series, double value, std::uint32_t line) {
    values_[series * rows_ + count_] = value;
    lines_[series * rows_ + count_] = line;
  }
  void Close(std::int64_t step, double time) {
    if (count_ != 0 && step <= steps_[count_ - 1]) breaks_.push_back(static_cast<std::uint32_t>(count_));
    steps_[count_] = step;
    times_[count_] = time;
    has_times_ = has_times_ || time == time;
    ++count_;
  }
  // Appends what waits.
  void Flush(ingest::PartBuilder& builder) {
    for (std::size_t i = 0; i < series_.size() && count_ != 0; ++i) AppendTo(builder.series(series_[i]), i);
    Clear();
  }
  // Hands over what waits point by point, series after series: take(series, step, value, time, line).
  template <class Take>
  void FlushPoints(Take take) {
    for (std::size_t i = 0; i < series_.size(); ++i) {
      for (std::size_t row = 0; row < count_; ++row)
        take(series_[i], steps_[row], values_[i * rows_ + row], times_[row], lines_[i * rows_ + row]);
    }
    Clear();
  }

 private:
  void Clear() {
    count_ = 0;
    has_times_ = false;
    breaks_.clear();
  }

  template <class T>
  void Copy(model::Column<T>& to, const std::vector<T>& from, std::size_t begin) const {
    to.Append({from.data() + begin, count_});
  }

  void AppendTo(model::Series& series, std::size_t column) const {
    const std::size_t size = series.size();
    if (size == 0 || steps_[0] <= series.steps.back())
      series.segment_starts.push_back(static_cast<std::uint32_t>(size));
    for (const std::uint32_t row : breaks_) series.segment_starts.push_back(static_cast<std::uint32_t>(size) + row);
    if (has_times_ || !series.times.empty()) {
      series.times.FillTo(size, model::kNoValue);
      Copy(series.times, times_, 0);
    }
    if (lines_[column * rows_] != 0 || !series.lines.empty()) {
      series.lines.FillTo(size, 0);
      Copy(series.lines, lines_, column * rows_);
    }
    Copy(series.steps, steps_, 0);
    Copy(series.values, values_, column * rows_);
  }

  std::vector<ingest::PartBuilder::SeriesId> series_;
  std::size_t rows_ = 0;
  std::vector<double> values_;  // rows_ of the first series, then of the next
  std::vector<std::uint32_t> lines_;
  std::vector<std::int64_t> steps_;
  std::vector<double> times_;
  std::vector<std::uint32_t> breaks_;  // rows whose step is not above that of the row before
  bool has_times_ = false;
  std::size_t count_ = 0;
};

}  // namespace vigil::tabular
