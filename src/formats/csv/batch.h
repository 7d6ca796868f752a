// Rows that follow one another plainly, gathered and appended to their columns together: four columns grow by one block
// instead of by single points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ingest/ingest.h"

namespace vigil::formats::csv {

class RowBatch {
 public:
  static constexpr std::size_t kRows = 256;

  // The series of the next rows, one value each. Nothing may be waiting.
  void Begin(std::vector<ingest::PartBuilder::SeriesId> series) {
    series_ = std::move(series);
    values_.resize(series_.size() * kRows);
    steps_.resize(kRows);
    lines_.resize(kRows);
  }
  std::size_t width() const { return series_.size(); }
  bool empty() const { return count_ == 0; }
  // Whether a row of that step can stand behind those that wait.
  bool Takes(std::int64_t step) const { return count_ < kRows && (count_ == 0 || step > steps_[count_ - 1]); }
  // The place of a value of the next row; Close adds the row once all of them are written.
  double& Value(std::size_t series) { return values_[series * kRows + count_]; }
  void Close(std::int64_t step, std::uint32_t line) {
    steps_[count_] = step;
    lines_[count_] = line;
    ++count_;
  }
  // Appends what waits.
  void Flush(ingest::PartBuilder& builder) {
    for (std::size_t i = 0; i < series_.size() && count_ != 0; ++i) AppendTo(builder.series(series_[i]), i);
    count_ = 0;
  }

 private:
  void AppendTo(model::Series& series, std::size_t column) const {
    const std::size_t size = series.size();
    if (size == 0 || steps_[0] <= series.steps.back())
      series.segment_starts.push_back(static_cast<std::uint32_t>(size));
    const auto count = static_cast<std::ptrdiff_t>(count_);
    const auto values = values_.begin() + static_cast<std::ptrdiff_t>(column * kRows);
    if (!series.times.empty()) series.times.resize(size + count_, model::kNoValue);
    series.lines.resize(size, 0);
    series.lines.insert(series.lines.end(), lines_.begin(), lines_.begin() + count);
    series.steps.insert(series.steps.end(), steps_.begin(), steps_.begin() + count);
    series.values.insert(series.values.end(), values, values + count);
  }

  std::vector<ingest::PartBuilder::SeriesId> series_;
  std::vector<double> values_;  // kRows of the first series, then of the next
  std::vector<std::int64_t> steps_;
  std::vector<std::uint32_t> lines_;
  std::size_t count_ = 0;
};

}  // namespace vigil::formats::csv
