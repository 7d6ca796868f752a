// Named numbers of all kinds of lines become points of series: names to series, values to their units, and a loss that
// a trainer leaves out when it is not finite.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/ingest.h"
#include "textlog/pairs.h"
#include "textlog/row_place.h"
#include "textlog/series_table.h"

namespace vigil::textlog {

class MetricSink {
 public:
  explicit MetricSink(ingest::PartBuilder& builder) : builder_(builder), table_(builder) {}

  // Looks the names up; true when one of them is a metric that the vocabulary knows.
  bool Find(const NamedNumbers& numbers, const RowPlace& place);
  // Brings the numbers that were looked up last to the units of their metrics.
  void BringToUnits(NamedNumbers& numbers) const;
  // What brings a number to the unit of the metric at that place of the table; 0 where nothing does.
  double FactorOf(std::uint32_t index, const NamedNumber& number) const;
  // Appends the numbers that were looked up last.
  void Add(const NamedNumbers& numbers, const RowPlace& place);
  void FindAndAdd(const NamedNumbers& numbers, const RowPlace& place) {
    Find(numbers, place);
    Add(numbers, place);
  }
  // Appends one number, whose place in the table is known.
  void AddValue(std::uint32_t index, double value, const RowPlace& place) { table_.Add(index, value, place); }
  // The numbers added last are means over the epoch so far.
  void MarkRunningMeans();

  // Places in the table of the numbers looked up last, as many as numbers; 0 for those that were dropped.
  const std::vector<std::uint32_t>& found() const { return found_; }
  // No more rows come.
  void Finish();
  bool FoundLoss() const;
  SeriesTable& table() { return table_; }
  const SeriesTable& table() const { return table_; }

 private:
  std::string_view NameOf(std::string_view name, bool evaluation);
  std::uint32_t PlaceOf(std::size_t i, const NamedNumber& number, const RowPlace& place);
  bool IsWholeNumber(std::string_view text, std::uint32_t index) const;
  void AddMissingLoss(const NamedNumbers& numbers, const RowPlace& place);
  void AddNull(std::uint32_t index, const RowPlace& place);
  bool HasBadGradient(const NamedNumbers& numbers) const;

  struct HeldNull {
    std::uint32_t index = 0;
    RowPlace place;
  };

  ingest::PartBuilder& builder_;
  std::vector<HeldNull> nulls_;  // of losses that were no number so far
  SeriesTable table_;
  std::vector<std::uint32_t> found_;
  std::string name_;                   // of the number at hand, where it is not the one in the line
  std::string loss_name_ = "lm loss";  // of the latest training loss
};

// Null when there is none of that name.
const NamedNumber* FindNumber(const NamedNumbers& numbers, std::string_view name);
// `otherwise` when there is none of that name, or it is not finite.
double NumberOr(const NamedNumbers& numbers, std::string_view name, double otherwise);

}  // namespace vigil::textlog
