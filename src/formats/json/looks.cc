#include "formats/json/looks.h"

#include <algorithm>

#include "catalogue/catalogue.h"
#include "tabular/column_roles.h"
#include "tabular/json_rows.h"
#include "tabular/row.h"

namespace vigil::formats {
namespace {

using codec::JsonToken;

constexpr std::size_t kTextPerRowOfMetrics = 256;  // more is prose: prompts, completions, documents

bool IsKnownMetric(std::string_view name) {
  const auto meaning = catalogue::Interpret(name);
  return meaning && meaning->signal != "epoch";
}

// Counts alone are no metrics.
bool BecomesMetric(std::string_view name) {
  const tabular::ColumnRole role = tabular::UseOfColumn(name).role;
  return tabular::BecomesSeries(role) && role != tabular::ColumnRole::kEpoch && role != tabular::ColumnRole::kRunTime;
}

// Whether the line is an object, or an array of them, and nothing else.
bool SeeLine(RowsProbe& probe, std::string_view line) {
  if (!line.starts_with('[')) return probe.See(line) == line.size();
  for (line = FromNextObject(line); !line.empty(); line = FromNextObject(line)) {
    const std::size_t used = probe.See(line);
    if (used == 0) return false;
    line.remove_prefix(used);
  }
  return true;
}

}  // namespace

std::size_t RowsProbe::See(std::string_view text) {
  codec::JsonScanner scanner(text);
  if (scanner.Next() != JsonToken::kObjectBegin) return 0;
  tabular::RowReader row(columns_);
  row.Begin();
  if (row.Read(scanner) != JsonToken::kObjectEnd) return 0;
  Count(row);
  return scanner.consumed();
}

bool RowsProbe::SeeFront(std::string_view text, bool& too_deep) {
  codec::JsonScanner scanner;
  scanner.Continue(text, false);
  if (scanner.Next() != JsonToken::kObjectBegin) return false;
  tabular::RowReader row(columns_);
  row.Begin();
  too_deep = row.Read(scanner) == JsonToken::kBroken && scanner.depth() >= codec::JsonScanner::kMaxDepth;
  if (row.cells().empty()) return false;
  Count(row);
  return true;
}

void RowsProbe::Count(const tabular::RowReader& row) {
  bool has_step = false;
  bool has_metric = false;
  bool has_known = false;
  for (const tabular::Cell& cell : row.cells()) {
    const std::string& name = columns_.name(cell.column);
    has_step |= tabular::UseOfColumn(name).role == tabular::ColumnRole::kStep && !cell.is_null;
    if (!BecomesMetric(name)) continue;
    has_metric = true;
    has_known |= IsKnownMetric(name);
  }
  ++rows_;
  rows_with_step_ += has_step ? 1 : 0;
  rows_with_metric_ += has_metric ? 1 : 0;
  rows_with_known_metric_ += has_known ? 1 : 0;
  text_bytes_ += row.text_bytes();
}

int RowsProbe::Sureness() const {
  if (rows_ == 0 || rows_with_metric_ == 0 || text_bytes_ > rows_ * kTextPerRowOfMetrics) return 0;
  const bool steps = rows_with_step_ * 2 > rows_;
  if (rows_with_known_metric_ != 0) return steps ? 90 : 70;
  return steps ? 50 : 0;
}

int SureOfRowsInArray(std::string_view text) {
  RowsProbe probe;
  while (!probe.SeenEnough()) {
    text = FromFirstCharacter(text);
    if (text.starts_with(',')) text = FromFirstCharacter(text.substr(1));
    const std::size_t used = probe.See(text);
    if (used == 0) break;
    text.remove_prefix(used);
  }
  return probe.Sureness();
}

int SureOfRowsInLines(std::string_view text) {
  // A file of rows may begin with one that is nested beyond use. Nothing else begins so.
  constexpr int kNothingElse = 5;
  constexpr int kDoubt = 20;
  RowsProbe probe;
  std::size_t others = 0;
  bool too_deep = false;
  bool only_front = false;
  const bool one_line = text.find('\n') == std::string_view::npos;
  while (!text.empty() && !probe.SeenEnough() && others < RowsProbe::kRowsToSee) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    const bool cut = end == text.size();  // by the end of what was read for recognition
    if (cut && one_line && probe.See(line) == 0) {
      only_front = probe.SeeFront(line, too_deep);
    } else if (!line.empty() && !SeeLine(probe, line) && !cut) {
      ++others;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  // A document in one line begins like a long row: whoever knows it goes first.
  const int most = only_front ? kDoubt : 90;
  const int sureness = std::max(std::min(probe.Sureness(), most), too_deep ? kNothingElse : 0);
  // Text logs that hold a JSON line here and there are logs.
  return others == 0 ? sureness : others <= 2 ? sureness / 2 : 0;
}

std::string_view FromNextObject(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n[],");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

std::string_view FromFirstCharacter(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

}  // namespace vigil::formats
