#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "catalogue/catalogue.h"
#include "formats/csv/batch.h"
#include "formats/csv/csv.h"
#include "formats/csv/gaps.h"
#include "formats/csv/layout.h"
#include "formats/csv/row.h"
#include "formats/csv/steps.h"
#include "tabular/tabular.h"

namespace vigil::formats {
namespace {

using csv::Cell;
using csv::kNoColumn;
using csv::Layout;

// Rows of metrics are some hundred bytes; what is longer than this is not one.
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20U;
constexpr auto kNoSeries = static_cast<ingest::PartBuilder::SeriesId>(-1);

// Lines of one kind of trouble: the first of them, and how many.
struct Trouble {
  std::uint32_t first_line = 0;
  std::uint64_t count = 0;
  void Add(std::uint32_t line) {
    if (count++ == 0) first_line = line;
  }
};

class CsvReader : public ingest::Reader {
 public:
  explicit CsvReader(ingest::PartBuilder& builder) : builder_(builder), thinning_(builder) {}

  std::size_t Consume(std::string_view bytes, bool last) override {
    std::size_t done = 0;
    if (!started_) {
      if (bytes.size() < csv::kSniffBytes && !last) return 0;
      done = Start(bytes, last);
    }
    if (!over_) done += TakeLines(bytes.substr(done), last);
    batch_.Flush(builder_);
    thinning_.MakeRoom();
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
      builder_.ReportDamage("line 1: not the beginning of a table");
      over_ = true;
      return 0;
    }
    if (!layout->environment.empty()) builder_.AddFact("env_id", layout->environment, 1);
    if (layout->guessed_loss != kNoColumn)
      builder_.AddNote(
          fmt::format("no header: column {}, which falls, is taken for the loss", layout->guessed_loss + 1));
    line_ = layout->body_line;
    const std::size_t body = std::min(layout->body, bytes.size());
    Use(std::move(*layout));
    return body;
  }

  void Use(Layout layout) {
    batch_.Flush(builder_);
    columns_.clear();
    layout_ = std::move(layout);
    rows_ = csv::RowParser(layout_.delimiter);
    series_.assign(layout_.columns.size(), kNoSeries);
    used_.clear();
    value_columns_.clear();
    std::size_t learning_rate = kNoColumn;
    for (std::size_t i = 0; i < layout_.columns.size(); ++i) {
      if (!layout_.columns[i].is_value) continue;
      value_columns_.push_back(i);
      const auto meaning = catalogue::Interpret(layout_.columns[i].name);
      if (meaning && meaning->signal == "lr") learning_rate = i;
    }
    gaps_.Begin(layout_.columns.size(), learning_rate);
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
    (too_long ? too_long_ : strange_).Add(line_);
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
    const auto step = steps_.Next(cells, layout_);
    if (!step) {
      without_step_.Add(line_);
      return;
    }
    if (layout_.is_long()) {
      TakeLongRow(cells, *step);
    } else {
      TakeWideRow(cells, *step, unterminated);
    }
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
      ++segment_;
    } else if (auto layout = MaybeHeader(cells)) {
      ++segment_;
      Use(std::move(*layout));
    } else if (rows_.cell_count() != layout_.columns.size() || Trim(line).starts_with('{')) {
      strange_.Add(line_);  // JSON has as many commas as it likes
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

  // A row with a number under every metric, behind one like it. False, and nothing taken, for any other.
  bool TakeIntoBatch(std::span<const Cell> cells, std::int64_t step) {
    if (columns_.empty() || cells.size() != layout_.columns.size()) return false;
    for (const std::size_t column : unopened_) {
      if (cells[column].is_number) return false;
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell& cell = cells[columns_[i]];
      if (!cell.is_number) return false;
      values_[i] = cell.number;
    }
    if (!batch_.Takes(step)) batch_.Flush(builder_);
    for (std::size_t i = 0; i < columns_.size(); ++i) batch_.Value(i) = values_[i];
    batch_.Close(step, line_);
    gaps_.AddPlainRow();
    return true;
  }

  // From the columns that had a number so far: rows with a number in each of them, and in no other, are gathered.
  void LearnColumns() {
    std::vector<ingest::PartBuilder::SeriesId> series;
    unopened_.clear();
    for (std::size_t i = 0; i < series_.size(); ++i) {
      if (!layout_.columns[i].is_value) continue;
      (series_[i] == kNoSeries ? unopened_ : columns_).push_back(i);
      if (series_[i] != kNoSeries) series.push_back(series_[i]);
    }
    values_.resize(columns_.size());
    batch_.Begin(std::move(series));
  }

  void TakeWideRow(std::span<const Cell> cells, csv::RowStep step, bool unterminated) {
    const bool plain = !step.borrowed && step.step != last_step_ && segment_ == 0 && !unterminated;
    const bool possible = static_cast<std::uint64_t>(step.step) <= ingest::PartBuilder::kMaxStep;
    if (step.step < last_step_) {
      gaps_.Settle(columns_);
      gaps_.Restart();
    }
    const bool goes_on = !step.borrowed && step.step > last_step_;
    last_step_ = step.step;
    const bool all_kept = thinning_.stride() == 1;
    if (plain && possible && all_kept && layout_.time == kNoColumn && TakeIntoBatch(cells, step.step)) return;
    batch_.Flush(builder_);
    gaps_.Settle(columns_);
    gaps_.AddRow(cells, value_columns_);
    const double time = TimeOf(cells);
    if (goes_on) TakeGaps(unterminated ? cells.first(cells.size() - 1) : cells, step, time);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].is_number || (series_[i] == kNoSeries && !OpenColumn(i))) continue;
      if (!all_kept && !thinning_.Keeps(series_[i], cells[i].number)) continue;
      if (plain) {
        builder_.Add(series_[i], step.step, cells[i].number, time, line_);
      } else if (!unterminated || i + 1 < layout_.columns.size() || !IsDoubtful(cells[i].number, series_[i])) {
        Add(series_[i], step, cells[i].number, time);
      }
    }
    if (columns_.empty() && plain) LearnColumns();
  }

  // Cells of a row with a step of its own in which a number should stand.
  void TakeGaps(std::span<const Cell> cells, csv::RowStep step, double time) {
    for (const std::size_t i : value_columns_) {
      if (i >= cells.size() || cells[i].is_number || !csv::IsMissing(cells[i])) continue;
      if (gaps_.Hides(i) && series_[i] != kNoSeries && layout_.columns[i].is_value) {
        Add(series_[i], step, model::kNoValue, time);
      } else {
        gaps_.AddGap(i);
      }
    }
  }

  void TakeLongRow(std::span<const Cell> cells, csv::RowStep step) {
    if (layout_.name >= cells.size() || layout_.value >= cells.size()) return;
    const std::string_view name = cells[layout_.name].text;
    const Cell& cell = cells[layout_.value];
    if (name.empty() || !(cell.is_number || csv::IsMissing(cell))) return;
    const auto series = builder_.OpenSeries(name);
    if (!HasNumber(cell, series)) return;
    builder_.series(series).axis = layout_.axis;
    // Rows of several metrics stand at the same step; without steps, each metric counts its own.
    const double value = cell.is_number ? cell.number : model::kNoValue;
    if (layout_.step == kNoColumn) step.step = static_cast<std::int64_t>(thinning_.Seen(series));
    if (thinning_.stride() != 1 && !thinning_.Keeps(series, value)) return;
    Add(series, step, value, TimeOf(cells));
  }

  // Whether a row of the long form tells a number, be it one that the writer could not spell.
  bool HasNumber(const Cell& cell, ingest::PartBuilder::SeriesId series) {
    if (fills_.size() <= series) fills_.resize(series + std::size_t{1});
    csv::Fill& fill = fills_[series];
    ++(cell.is_number ? fill.numbers : fill.gaps);
    if (cell.is_number || !fill.IsFull()) return cell.is_number;
    --fill.gaps;
    return true;
  }

  // Opens the series of a column at its first value; false when it has none.
  bool OpenColumn(std::size_t index) {
    csv::Column& column = layout_.columns[index];
    if (!column.is_value) return false;
    const auto series = builder_.OpenSeries(column.meaning.empty() ? column.name : column.meaning, column.labels);
    // Two columns may come to mean the same; the first one has it.
    column.is_value = used_.insert(series).second;
    if (!column.is_value) return false;
    builder_.series(series).axis = layout_.axis;
    builder_.series(series).raw = column.name;
    series_[index] = series;
    columns_.clear();
    return true;
  }

  double TimeOf(std::span<const Cell> cells) const {
    if (layout_.time >= cells.size() || !cells[layout_.time].is_number) return model::kNoValue;
    const double time = layout_.time_origin + cells[layout_.time].number;
    return time > 1e11 ? time / 1000 : time;  // some write milliseconds
  }

  void Add(ingest::PartBuilder::SeriesId id, csv::RowStep step, double value, double time) {
    model::Series& series = builder_.series(id);
    // A row without a step of its own says nothing new about a series that has a value there; nor does a row that
    // repeats one, as sparse tables repeat the epoch.
    const bool has_value = !series.empty() && step.step == series.steps.back();
    if (has_value && (step.borrowed || (layout_.step != kNoColumn && value == series.values.back()))) return;
    if (segment_ != 0) OpenSegment(id, series, step.step);
    builder_.Add(id, step.step, value, time, line_);
  }

  // The header stood there again since the last value of this series: a restart, even if the step goes on.
  void OpenSegment(ingest::PartBuilder::SeriesId id, model::Series& series, std::int64_t step) {
    if (segments_.size() <= id) segments_.resize(id + std::size_t{1});
    if (segments_[id] == segment_) return;
    segments_[id] = segment_;
    if (!series.empty() && step > series.steps.back())
      series.segment_starts.push_back(static_cast<std::uint32_t>(series.size()));
  }

  // Whether a number that the file ends with, without a line feed, may have lost an exponent or its digits behind the
  // point: what it would then say is wrong by orders of magnitude.
  bool IsDoubtful(double value, ingest::PartBuilder::SeriesId id) {
    if (value == 0) return true;
    const std::vector<double>& values = builder_.series(id).values;
    const std::size_t from = values.size() > 64 ? values.size() - 64 : 0;
    return std::any_of(values.begin() + static_cast<std::ptrdiff_t>(from), values.end(),
                       [](double before) { return before != 0 && std::abs(before) < 1e-3; });
  }

  // ---- what is said about the file

  void Conclude() {
    if (cut_.count != 0) builder_.ReportDamage(fmt::format("line {}: the last row is cut", cut_.first_line));
    Damage(too_long_, fmt::format("longer than {}", FormatBytes(kMaxLineBytes)));
    Damage(strange_, "not a row of the table");
    if (ragged_.count != 0) {
      builder_.AddNote(fmt::format("line {}: {} cells for {} columns{}", ragged_.first_line, ragged_cells_,
                                   layout_.columns.size(), Others(ragged_)));
    }
    if (without_step_.count != 0)
      builder_.AddNote(
          fmt::format("line {}: left out, no step in it{}", without_step_.first_line, Others(without_step_)));
    if (thinning_.stride() > 1) builder_.AddNote(tabular::ThinnedNote(thinning_.stride()));
    cut_ = too_long_ = strange_ = ragged_ = without_step_ = {};
  }

  void Damage(const Trouble& trouble, std::string_view what) {
    if (trouble.count != 0)
      builder_.ReportDamage(fmt::format("line {}: {}, skipped{}", trouble.first_line, what, Others(trouble)));
  }

  static std::string Others(const Trouble& trouble) {
    return trouble.count == 1 ? "" : fmt::format(" (and {} more)", FormatCount(trouble.count - 1));
  }

  ingest::PartBuilder& builder_;
  tabular::Thinning thinning_;
  Layout layout_;
  csv::RowParser rows_{','};
  csv::StepCounter steps_;
  csv::RowBatch batch_;
  csv::Gaps gaps_;
  std::vector<csv::Fill> fills_;                            // of the series of a long table
  std::vector<std::size_t> value_columns_;                  // those of metrics
  std::vector<std::size_t> columns_;                        // those of metrics that had a value
  std::vector<std::size_t> unopened_;                       // those of metrics that had none yet
  std::vector<double> values_;                              // of the row at hand, in columns_
  std::vector<ingest::PartBuilder::SeriesId> series_;       // of each column, once it has a value
  std::unordered_set<ingest::PartBuilder::SeriesId> used_;  // by a column of the layout in force
  std::vector<std::uint32_t> segments_;                     // by series: the segment its last value belongs to
  int header_attempts_ = 0;
  std::uint32_t segment_ = 0;                // how often the header came again
  std::int64_t last_step_ = model::kNoStep;  // of the row before
  std::uint32_t line_ = 1;                   // of the next row
  bool started_ = false;
  bool over_ = false;
  bool skipping_ = false;  // in the middle of a line that is too long
  Trouble cut_;
  Trouble too_long_;
  Trouble strange_;
  Trouble ragged_;
  std::size_t ragged_cells_ = 0;
  Trouble without_step_;
};

}  // namespace

int RecogniseCsv(const ingest::Probe& probe) {
  const auto layout = csv::SniffLayout(probe.head, probe.size_bytes <= probe.head.size(), probe.path);
  return layout ? layout->sureness : 0;
}

std::unique_ptr<ingest::Reader> OpenCsv(ingest::PartBuilder& builder) { return std::make_unique<CsvReader>(builder); }

}  // namespace vigil::formats
