#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "catalogue/says.h"
#include "formats/csv/csv.h"
#include "formats/csv/layout.h"
#include "formats/csv/row.h"
#include "tabular/column_roles.h"
#include "tabular/metric_table.h"
#include "tabular/row.h"

namespace vigil::formats {
namespace {

using csv::Cell;
using csv::kNoColumn;
using csv::Layout;

// Rows of metrics are some hundred bytes; what is longer than this is not one.
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20U;

// Lines of one kind of trouble: the first of them, and how many.
struct Trouble {
  std::uint32_t first_line = 0;
  std::uint64_t count = 0;
  void Add(std::uint32_t line) {
    if (count++ == 0) first_line = line;
  }
};

// The column that says which run a row is of.
std::size_t FindRunColumn(const Layout& layout) {
  constexpr std::array<std::string_view, 7> kNames = {"run",           "run_id", "runid",   "run_name",
                                                      "experiment_id", "exp_id", "exp_name"};
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const std::string name = ToLower(layout.columns[i].name);
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return i;
  }
  return kNoColumn;
}

// The names of the columns do not fit into what a table is known by.
bool IsTooWide(std::string_view head) {
  constexpr std::ptrdiff_t kManyColumns = 1000;
  head = head.substr(0, csv::kSniffBytes);
  return head.size() == csv::kSniffBytes && head.find('\n') == std::string_view::npos &&
         std::count(head.begin(), head.end(), ',') >= kManyColumns;
}

class CsvReader : public ingest::Reader {
 public:
  explicit CsvReader(ingest::PartBuilder& builder)
      : builder_(builder), whole_(std::make_unique<tabular::MetricTable>(builder)), table_(whole_.get()) {}

  std::size_t Consume(std::string_view bytes, bool last) override {
    std::size_t done = 0;
    if (!started_) {
      if (bytes.size() < csv::kSniffBytes && !last) return 0;
      done = Start(bytes, last);
    }
    if (!over_) done += TakeLines(bytes.substr(done), last);
    table_->Flush();
    for (const auto& [id, table] : runs_) table->Flush();
    if (last || over_) Conclude();
    return done;
  }

  bool IsOver() const override { return over_; }

 private:
  // Finds the layout; returns the bytes before the first row of values.
  std::size_t Start(std::string_view bytes, bool last) {
    started_ = true;
    auto layout = csv::SniffLayout(bytes, last, builder_.part().sources.front().path);
    if (!layout) {
      if (IsTooWide(bytes))
        builder_.ReportDamage(says::DamageWideTable{.limit = csv::kSniffBytes});
      else
        builder_.ReportDamage(says::DamageNoTable{});
      over_ = true;
      return 0;
    }
    if (!layout->environment.empty()) builder_.AddFact("env_id", layout->environment, 1);
    if (layout->guessed_loss != kNoColumn)
      builder_.AddNote(says::NoteLossColumnGuessed{.column = layout->guessed_loss + 1});
    line_ = layout->body_line;
    const std::size_t body = std::min(layout->body, bytes.size());
    Use(std::move(*layout));
    return body;
  }

  void Use(Layout layout) {
    layout_ = std::move(layout);
    rows_ = csv::RowParser(layout_.delimiter);
    long_columns_.clear();
    run_column_ = layout_.is_long() ? kNoColumn : FindRunColumn(layout_);
    SetUp();
    for (const auto& [id, table] : runs_) {
      table_ = table.get();
      SetUp();
    }
  }

  // The columns of the table that rows go to.
  void SetUp() {
    table_->RetireColumns();
    for (const csv::Column& column : layout_.columns)
      table_->AddColumn({column.name, column.use, column.meaning, column.labels});
    table_->UseAxis(layout_.axis);
    table_->SetTimeOrigin(layout_.time_origin);
    if (HasBlanks()) table_->MayFillWithNan();
  }

  // Whether `nan` may stand for a cell that the writer had nothing for. A file of one metric has no row for any other
  // reason than its value.
  bool HasBlanks() const {
    const auto is_value = [&](std::size_t i) {
      return (layout_.columns[i].is_value() || i == layout_.value) && i != layout_.axis.column;
    };
    std::size_t values = 0;
    for (std::size_t i = 0; i < layout_.columns.size(); ++i) values += is_value(i) ? 1 : 0;
    return values != 1;
  }

  // Tables of several runs name the run of each row; their steps begin again with each.
  void ChooseRun(std::string_view id) {
    constexpr std::size_t kMostRuns = 1000;
    const auto at = runs_.find(id);
    if (at != runs_.end()) {
      table_ = at->second.get();
    } else if (runs_.size() < kMostRuns) {
      auto made = std::make_unique<tabular::MetricTable>(builder_.OpenRun(id, id));
      table_ = made.get();
      runs_.emplace(std::string(id), std::move(made));
      SetUp();
    }
  }

  // ---- lines

  std::size_t TakeLines(std::string_view bytes, bool last) {
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    const char* const lines_end = at + (bytes.rfind('\n') + 1);  // npos + 1 is 0: no whole line
    while (at < lines_end) {
      const char* const next = TakeRowAt(at, lines_end, last || end - at > std::ptrdiff_t{kMaxLineBytes});
      if (next == nullptr) return static_cast<std::size_t>(at - bytes.data());
      at = next;
    }
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    if (rest.size() > kMaxLineBytes || (skipping_ && !rest.empty())) {
      skipping_ = !last;
      if (last) too_long_.Add(line_);
      return bytes.size();
    }
    if (last && !rest.empty()) TakeUnterminated(rest);
    return last ? bytes.size() : static_cast<std::size_t>(at - bytes.data());
  }

  // Takes one row and returns the next; null when the row may go on behind the bytes at hand. `all_there`: it does not.
  const char* TakeRowAt(const char* at, const char* end, bool all_there) {
    const char* const next = skipping_ ? nullptr : rows_.Parse(at, end);
    if (next != nullptr && next - at <= std::ptrdiff_t{kMaxLineBytes}) {
      TakeRow({at, static_cast<std::size_t>(next - at)}, false);
      line_ += rows_.line_count();
      return next;
    }
    if (!skipping_ && next == nullptr && !all_there) return nullptr;
    const char* const feed = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const bool too_long = skipping_ || feed - at >= std::ptrdiff_t{kMaxLineBytes};
    (too_long ? too_long_ : other_lines_).Add(line_);
    skipping_ = false;
    ++line_;
    return feed + 1;
  }

  // The last line, without a line feed: its last cell may be the beginning of a longer one.
  void TakeUnterminated(std::string_view rest) {
    const std::string line = std::string(rest) + '\n';
    if (rows_.Parse(line.data(), line.data() + line.size()) == nullptr) {
      cut_.Add(line_);
      return;
    }
    TakeRow(line, true);
    ++line_;
  }

  // ---- rows

  void TakeRow(std::string_view line, bool unterminated) {
    std::span<const Cell> cells = rows_.cells();
    if (cells.front().text.starts_with('#')) return;
    if (rows_.cell_count() != layout_.columns.size()) {
      if (cells.size() == 1 && cells.front().text.empty()) return;
      if (unterminated && cells.size() < layout_.columns.size()) {
        cut_.Add(line_);
        cells = cells.first(cells.size() - 1);
      } else {
        TakeRagged(cells);
      }
    }
    if (!cells.front().is_number && TakeWords(line, cells)) return;
    cells = cells.first(std::min(cells.size(), layout_.columns.size()));
    AddRow(cells, unterminated);
  }

  void AddRow(std::span<const Cell> cells, bool unterminated) {
    if (run_column_ < cells.size()) ChooseRun(cells[run_column_].text);
    cells_.clear();
    row_ = {};
    row_.is_long = layout_.is_long();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i == run_column_) continue;
      if (cells[i].is_number) {
        cells_.push_back({static_cast<tabular::ColumnId>(i), line_, false, cells[i].number});
      } else {
        TakeText(cells[i], i);
      }
    }
    if (unterminated) DropCutCell(cells);
    if (row_.is_long && !NameValue(cells)) return;
    row_.cells = cells_;
    table_->Add(row_);
  }

  void TakeText(const Cell& cell, std::size_t column) {
    if (csv::IsMissing(cell)) {
      cells_.push_back({static_cast<tabular::ColumnId>(column), line_, true, 0});
      return;
    }
    const tabular::ColumnRole role = layout_.columns[column].use.role;
    if (role == tabular::ColumnRole::kSplit) row_.is_evaluation = tabular::IsEvaluationSplit(cell.text);
    if (role == tabular::ColumnRole::kFingerprint) row_.fingerprint = tabular::ParseFingerprint(cell.text);
  }

  // The last cell of a line that does not end may be the beginning of a longer one.
  void DropCutCell(std::span<const Cell> cells) {
    const bool last_given = !cells_.empty() && cells_.back().column + std::size_t{1} == cells.size();
    if (last_given && cells_.back().is_null) {
      cells_.pop_back();
      return;
    }
    row_.last_may_be_cut = last_given && cells.size() == layout_.columns.size();
    if (!cells.empty()) row_.last_text = cells.back().text;
  }

  // In the long form the value goes to the column of the metric that the row names. False when it names none.
  bool NameValue(std::span<const Cell> cells) {
    if (layout_.name >= cells.size() || cells[layout_.name].text.empty()) return false;
    for (tabular::Cell& cell : cells_) {
      if (cell.column != layout_.value) continue;
      cell.column = LongColumn(cells[layout_.name].text);
      return cell.column != tabular::kNoColumn;
    }
    return false;
  }

  tabular::ColumnId LongColumn(std::string_view name) {
    const auto [at, is_new] = long_columns_.try_emplace(std::string(name), tabular::kNoColumn);
    if (!is_new) return at->second;
    if (long_columns_.size() > ingest::PartBuilder::kMaxSeries) {
      long_columns_.erase(at);
      return tabular::kNoColumn;
    }
    const auto role = tabular::UseOfColumn(name).role;
    const bool places_rows = !tabular::BecomesSeries(role);
    at->second = table_->AddColumn({std::string(name), {places_rows ? tabular::ColumnRole::kMetric : role, 0}});
    return at->second;
  }

  // A row with too few or too many cells. What stands under a name is taken.
  void TakeRagged(std::span<const Cell> cells) {
    for (const Cell& cell : cells) {
      if (!cell.is_number) continue;
      if (ragged_.count == 0) ragged_cells_ = rows_.cell_count();
      ragged_.Add(line_);
      return;
    }
  }

  // A row without a number: a header again, after a restart; or not a row at all. False when it has a number.
  bool TakeWords(std::string_view line, std::span<const Cell> cells) {
    bool any_text = false;
    for (const Cell& cell : cells) {
      if (cell.is_number) return false;
      any_text = any_text || !cell.text.empty();
    }
    if (!any_text) return true;
    if (Trim(line) == layout_.header) {
      table_->BeginSegment();
    } else if (auto layout = MaybeHeader(cells)) {
      table_->BeginSegment();
      Use(std::move(*layout));
    } else if (rows_.cell_count() != layout_.columns.size() || Trim(line).starts_with('{')) {
      other_lines_.Add(line_);  // JSON has as many commas as it likes
    }
    return true;
  }

  // A header with other columns than the last one. To look at a row that closely takes time: not at every line of
  // prose.
  std::optional<Layout> MaybeHeader(std::span<const Cell> cells) {
    constexpr int kMostAttempts = 1000;
    constexpr std::size_t kMostCells = 4096;
    if (cells.size() > kMostCells || header_attempts_ >= kMostAttempts) return std::nullopt;
    ++header_attempts_;
    return csv::LayoutOfHeader(cells, layout_);
  }

  // ---- notes about the file

  void Conclude() {
    if (cut_.count != 0) builder_.ReportDamage(says::DamageCutRow{.line = cut_.first_line});
    if (too_long_.count != 0)
      builder_.ReportDamage(says::DamageLongRow{
          .line = too_long_.first_line, .limit = kMaxLineBytes, .others = ingest::OthersOf(too_long_.count)});
    if (other_lines_.count != 0)
      builder_.ReportDamage(
          says::DamageNoRow{.line = other_lines_.first_line, .others = ingest::OthersOf(other_lines_.count)});
    if (ragged_.count != 0) {
      builder_.AddNote(says::NoteRaggedRows{.line = ragged_.first_line,
                                            .cells = ragged_cells_,
                                            .columns = layout_.columns.size(),
                                            .others = ingest::OthersOf(ragged_.count)});
    }
    whole_->Finish();
    for (const auto& [id, table] : runs_) table->Finish();
    cut_ = too_long_ = other_lines_ = ragged_ = {};
  }

  ingest::PartBuilder& builder_;
  std::unique_ptr<tabular::MetricTable> whole_;                                     // of a table of one run
  std::map<std::string, std::unique_ptr<tabular::MetricTable>, std::less<>> runs_;  // of one that holds several, by id
  tabular::MetricTable* table_;                                                     // that rows go to
  std::size_t run_column_ = kNoColumn;
  Layout layout_;
  csv::RowParser rows_{','};
  std::vector<tabular::Cell> cells_;  // of the row at hand
  tabular::Row row_;
  std::unordered_map<std::string, tabular::ColumnId> long_columns_;  // by the name of the metric
  int header_attempts_ = 0;
  std::uint32_t line_ = 1;  // of the next row
  bool started_ = false;
  bool over_ = false;
  bool skipping_ = false;  // in the middle of a line that is too long
  Trouble cut_;
  Trouble too_long_;
  Trouble other_lines_;
  Trouble ragged_;
  std::size_t ragged_cells_ = 0;
};

}  // namespace

int RecogniseCsv(const ingest::Probe& probe) {
  constexpr int kTooWide = 10;  // so that the reader says why
  const auto layout = csv::SniffLayout(probe.head, probe.size_bytes <= probe.head.size(), probe.path);
  if (!layout) return IsTooWide(probe.head) ? kTooWide : 0;
  return layout->sureness;
}

std::unique_ptr<ingest::Reader> OpenCsv(ingest::PartBuilder& builder) { return std::make_unique<CsvReader>(builder); }

}  // namespace vigil::formats
