#include "formats/csv/layout.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "tabular/guess.h"

namespace vigil::formats::csv {
namespace {

constexpr std::size_t kSampleRows = 64;
using Names = std::span<const std::string_view>;
using tabular::ColumnRole;

constexpr std::array<std::string_view, 14> kMetricWords = {
    "loss",   "reward",    "accuracy", "perplexity", "grad_norm", "learning_rate", "entropy",
    "return", "precision", "recall",   "bleu",       "rouge",     "psnr",          "rmse"};
constexpr std::array<std::string_view, 6> kFileWords = {"loss", "metric", "log", "history", "progress", "reward"};

std::string Fold(std::string_view name) {
  std::string folded = ToLower(Trim(name));
  std::replace_if(folded.begin(), folded.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return folded;
}

bool HoldsWord(Names words, std::string_view text) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view Stem(std::string_view path) {
  const std::string_view name = FileName(path);
  return name.substr(0, name.rfind('.'));
}

// ---- lines and cells of the head

// The first rows that hold a number.
struct Sample {
  std::vector<std::vector<Cell>> rows;
};

char FindDelimiter(std::string_view line) {
  constexpr std::array<char, 3> kDelimiters = {',', ';', '\t'};
  std::array<std::size_t, 3> counts = {};
  bool quoted = false;
  for (const char c : line) {
    quoted = quoted != (c == '"');
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += !quoted && c == kDelimiters[i] ? 1 : 0;
  }
  return kDelimiters[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

bool IsBlankOrComment(std::string_view line) { return Trim(line).empty() || Trim(line).front() == '#'; }

bool HasNumber(std::span<const Cell> cells) {
  return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.is_number; });
}

Sample TakeSample(std::string_view body, char delimiter) {
  Sample sample;
  RowParser parser(delimiter);
  const char* at = body.data();
  const char* const end = at + body.size();
  while (at != nullptr && at != end && sample.rows.size() < kSampleRows) {
    const std::string_view line(at, static_cast<std::size_t>(std::find(at, end, '\n') - at));
    at = parser.Parse(at, end);
    if (at == nullptr || IsBlankOrComment(line) || !HasNumber(parser.cells())) continue;
    sample.rows.emplace_back(parser.cells().begin(), parser.cells().end());
  }
  return sample;
}

// ---- what a column is

bool IsNumeric(const Sample& sample, std::size_t column) {
  bool any = false;
  for (const auto& row : sample.rows) {
    if (column >= row.size() || IsMissing(row[column])) continue;
    if (!row[column].is_number) return false;
    any = true;
  }
  return any;
}

std::size_t FindRole(const std::vector<Column>& columns, ColumnRole role) {
  std::size_t best = kNoColumn;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].use.role != role) continue;
    if (best == kNoColumn || columns[i].use.priority > columns[best].use.priority) best = i;
  }
  return best;
}

// The sample as the policy for the step takes it. Text under a name of steps is no step, nor is the row one without.
std::vector<tabular::SampleRow> NumbersOf(const Sample& sample) {
  std::vector<tabular::SampleRow> rows;
  for (const auto& cells : sample.rows) {
    tabular::SampleRow& row = rows.emplace_back();
    for (const Cell& cell : cells) {
      row.push_back(cell.is_number      ? std::optional(cell.number)
                    : cell.text.empty() ? std::nullopt
                                        : std::optional(model::kNoValue));
    }
  }
  return rows;
}

// A column "time" may as well hold the seconds of a step.
bool HoldsUnixTimes(const Sample& sample, std::size_t column) {
  return std::all_of(sample.rows.begin(), sample.rows.end(), [&](const std::vector<Cell>& row) {
    return column >= row.size() || row[column].text.empty() || (row[column].is_number && row[column].number > 1e8);
  });
}

void FindAxis(Layout& layout, const Sample& sample) {
  std::vector<tabular::ColumnUse> uses;
  uses.reserve(layout.columns.size());
  for (const Column& column : layout.columns) uses.push_back(column.use);
  layout.axis = tabular::ChooseAxis(uses, NumbersOf(sample), layout.is_long());
}

// Columns without a name, names that come again, and in the long form all but what places the row are no series.
void MarkBookkeeping(Layout& layout) {
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    Column& column = layout.columns[i];
    const bool repeated = Trim(column.name).empty() || !seen.insert(column.name).second;
    const bool beside = layout.is_long() && column.is_value() && column.use.role != ColumnRole::kEpoch;
    if (repeated || beside) column.use = {ColumnRole::kBookkeeping, 0};
  }
}

// ---- files with conventions of their own

// Stable-Baselines3's monitor: episodes in rows; r is the reward, l the length, t seconds since the start.
void ReadMonitor(Layout& layout, std::string_view comment) {
  if (layout.columns.size() < 3 || layout.columns[0].name != "r" || layout.columns[1].name != "l" ||
      layout.columns[2].name != "t")
    return;
  layout.columns[0].meaning = "episode_reward";
  layout.columns[1].meaning = "episode_length";
  constexpr std::string_view kStart = "\"t_start\":";
  if (const std::size_t at = comment.find(kStart); at != std::string_view::npos) {
    std::size_t used = 0;
    layout.time_origin = ParseNumberPrefix(Trim(comment.substr(at + kStart.size())), used).value_or(0);
  }
  // Seconds since a start that is not known say nothing.
  layout.columns[2].use = {layout.time_origin > 0 ? ColumnRole::kTime : ColumnRole::kBookkeeping, 0};
  constexpr std::string_view kEnvironment = "\"env_id\":";
  if (const std::size_t at = comment.find(kEnvironment); at != std::string_view::npos) {
    const std::string_view rest = Trim(comment.substr(at + kEnvironment.size()));
    const std::size_t close = rest.size() > 1 ? rest.find('"', 1) : std::string_view::npos;
    if (close != std::string_view::npos && rest[0] == '"') layout.environment = std::string(rest.substr(1, close - 1));
  }
  layout.sureness = 95;
}

// TensorBoard's download of one tag: the name is in the name of the file, run-<run>-tag-<tag>.csv.
void ReadTensorboardDownload(Layout& layout, const Sample& sample, std::string_view path) {
  if (layout.columns.size() != 3 || layout.axis.steps.empty()) return;
  const std::size_t time = FindRole(layout.columns, ColumnRole::kTime);
  const std::size_t value = FindRole(layout.columns, ColumnRole::kMetricValue);
  if (value == kNoColumn || time == kNoColumn || !HoldsUnixTimes(sample, time)) return;
  const std::string_view stem = Stem(path);
  constexpr std::string_view kTag = "tag-";
  const std::size_t tag = stem.rfind(kTag);
  layout.columns[value].name = std::string(tag == std::string_view::npos ? stem : stem.substr(tag + kTag.size()));
  layout.sureness = 70;
}

// A tracker's download of a chart: "<run> - <metric>", with the band around it in <...>__MIN and <...>__MAX.
void ReadChartDownload(Layout& layout) {
  std::unordered_set<std::string_view> runs;
  for (Column& column : layout.columns) {
    if (column.name.ends_with("__MIN") || column.name.ends_with("__MAX")) column.use = {ColumnRole::kBookkeeping, 0};
    const std::size_t dash = column.name.rfind(" - ");
    if (column.is_value() && dash != std::string::npos) runs.insert(std::string_view(column.name).substr(0, dash));
  }
  for (Column& column : layout.columns) {
    const std::size_t dash = column.name.rfind(" - ");
    if (!column.is_value() || dash == std::string::npos) continue;
    column.meaning = column.name.substr(dash + 3);
    if (runs.size() > 1) column.labels = {{"run", column.name.substr(0, dash)}};
  }
}

// One metric a file, against samples: what DeepSpeed's monitor writes.
void ReadPathConventions(Layout& layout, std::string_view path) {
  if (layout.axis.axis == model::Axis::kStep && FileName(path).starts_with("Train_Samples_"))
    layout.axis.axis = model::Axis::kSamples;
}

// ---- how sure it is

bool IsMetricName(const Column& column) {
  const std::string folded = Fold(column.name);
  if (HoldsWord(kMetricWords, folded)) return true;
  return catalogue::Interpret(column.meaning.empty() ? column.name : column.meaning).has_value();
}

bool RowsFit(const Sample& sample, std::size_t columns) {
  const auto fits = [&](const std::vector<Cell>& row) { return row.size() == columns; };
  return std::count_if(sample.rows.begin(), sample.rows.end(), fits) * 2 >= std::ssize(sample.rows);
}

// Whether the column becomes a series: it does not where rows are counted by it.
bool IsValue(const Layout& layout, std::size_t column) {
  return layout.columns[column].is_value() && column != layout.axis.column;
}

// With nothing that counts, a table of experiments or a dataset looks much the same: then every column must be numbers,
// and one of them a metric by name.
int SurenessOf(const Layout& layout, const Sample& sample) {
  std::size_t numeric = 0;
  std::size_t metrics = 0;
  bool texts = false;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const bool number = IsNumeric(sample, i);
    texts = texts || (!number && !sample.rows.empty());
    const bool is_value = IsValue(layout, i);
    numeric += number && is_value ? 1 : 0;
    const bool measures = is_value && layout.columns[i].use.role != ColumnRole::kEpoch;
    metrics += measures && IsMetricName(layout.columns[i]) ? 1 : 0;
  }
  const bool counted = !layout.axis.counts_rows();
  if (sample.rows.empty()) return counted && metrics > 0 ? 40 : 0;
  if (layout.is_long()) return 60;
  if (counted) return metrics > 0 ? 80 : numeric > 0 ? 40 : 0;
  return metrics > 0 && !texts ? 50 : 0;
}

// ---- with and without a header

void FindLongForm(Layout& layout, const Sample& sample) {
  const std::size_t name = FindRole(layout.columns, ColumnRole::kMetricName);
  const std::size_t value = FindRole(layout.columns, ColumnRole::kMetricValue);
  if (name == kNoColumn || value == kNoColumn || IsNumeric(sample, name)) return;
  layout.name = name;
  layout.value = value;
}

void InterpretHeader(Layout& layout, const Sample& sample) {
  FindLongForm(layout, sample);
  FindAxis(layout, sample);
  MarkBookkeeping(layout);
  ReadChartDownload(layout);
}

std::vector<Column> NamedColumns(std::span<const Cell> cells) {
  std::vector<Column> columns;
  for (const Cell& cell : cells) columns.push_back({std::string(cell.text), tabular::UseOfColumn(cell.text), {}, {}});
  return columns;
}

std::vector<double> ColumnOf(const Sample& sample, std::size_t column) {
  std::vector<double> values;
  for (const auto& row : sample.rows) {
    if (column < row.size() && row[column].is_number) values.push_back(row[column].number);
  }
  return values;
}

// The one column that behaves as a loss does; kNoColumn when there is none, or several.
std::size_t FindLoss(const Sample& sample, std::size_t first) {
  std::size_t found = kNoColumn;
  for (std::size_t i = first; i < sample.rows.front().size(); ++i) {
    if (!tabular::FallsLikeLoss(ColumnOf(sample, i))) continue;
    if (found != kNoColumn) return kNoColumn;
    found = i;
  }
  return found;
}

// Names for columns that have none: the file's own where there is a single column of values.
void NameColumns(Layout& layout, const Sample& sample, std::string_view path) {
  const std::size_t count = sample.rows.front().size();
  for (std::size_t i = 0; i < count; ++i) layout.columns.push_back({"column " + std::to_string(i + 1), {}, {}, {}});
  bool rises = count > 1 && tabular::CanCount(NumbersOf(sample), 0, false);
  for (std::size_t i = 1; rises && i < sample.rows.size(); ++i)
    rises = sample.rows[i][0].number > sample.rows[i - 1][0].number;
  if (rises) {
    layout.axis.steps = {0};
    layout.axis.axis = model::Axis::kStep;
    layout.columns[0].use = {ColumnRole::kStep, 1};
  }
  if (count == (rises ? 2U : 1U)) layout.columns.back().name = std::string(Stem(path));
  layout.sureness = HoldsWord(kFileWords, ToLower(FileName(path))) ? 30 : 0;
  if (layout.columns.back().is_value() && IsMetricName(layout.columns.back())) return;
  // Of anything else that counts on evenly, only what has a loss is a table of metrics.
  const bool even = rises && tabular::CountsEvenly(ColumnOf(sample, 0));
  const std::size_t loss = even ? FindLoss(sample, 1) : kNoColumn;
  if (loss == kNoColumn) return;
  layout.columns[loss].meaning = "loss";
  layout.guessed_loss = loss;
  layout.sureness = 30;
}

bool IsHeader(std::span<const Cell> cells) {
  const bool has_text = std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return !cell.text.empty(); });
  return has_text && !HasNumber(cells);
}

// Where the table begins: past a byte order mark, comments and blank lines.
struct Start {
  std::size_t offset = 0;
  std::uint32_t line = 1;
  std::string_view comment;
};

Start FindStart(std::string_view head) {
  Start start;
  if (head.starts_with("\xef\xbb\xbf")) start.offset = 3;
  while (start.offset < head.size()) {
    const std::string_view line = head.substr(start.offset, head.find('\n', start.offset) - start.offset);
    if (!IsBlankOrComment(line)) break;
    // "# step,loss" is a header rather than a remark.
    const bool remark =
        line.find_first_of(",;\t") == std::string_view::npos || line.find('{') != std::string_view::npos;
    if (!Trim(line).empty() && !remark) break;
    if (start.comment.empty()) start.comment = line;
    start.offset += line.size() + 1;
    ++start.line;
  }
  return start;
}

// Whole lines of the head; the end of the file ends a line too.
std::string WholeLines(std::string_view head, bool whole) {
  std::string text(head.substr(0, kSniffBytes));
  if (whole && head.size() <= kSniffBytes) return text + '\n';
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0: no line at all
  return text;
}

}  // namespace

std::optional<Layout> SniffLayout(std::string_view head, bool whole, std::string_view path) {
  const std::string text = WholeLines(head, whole);
  const Start start = FindStart(text);
  if (start.offset >= text.size()) return std::nullopt;
  const std::string_view line(text.data() + start.offset, text.find('\n', start.offset) - start.offset);
  if (line.find('\0') != std::string_view::npos || Trim(line).starts_with('{') || Trim(line).starts_with('['))
    return std::nullopt;
  Layout layout;
  layout.delimiter = FindDelimiter(line);
  RowParser parser(layout.delimiter);
  const std::size_t hash = line.find_first_not_of(' ') != std::string_view::npos && Trim(line)[0] == '#'
                               ? line.find('#') + 1
                               : 0;  // of "# step,loss"
  const char* const end = text.data() + text.size();
  const char* const body = parser.Parse(line.data() + hash, end);
  if (body == nullptr) return std::nullopt;
  const bool has_header = IsHeader(parser.cells());
  layout.body = has_header ? static_cast<std::size_t>(body - text.data()) : start.offset;
  layout.body_line = has_header ? start.line + parser.line_count() : start.line;
  const Sample sample = TakeSample(std::string_view(text).substr(layout.body), layout.delimiter);
  if (has_header) {
    // "# step, loss" over rows that blanks set apart: which number belongs to which name is not known.
    const bool has_rows = !Trim(std::string_view(text).substr(layout.body)).empty();
    if (hash != 0 && sample.rows.empty() && has_rows) return std::nullopt;
    layout.columns = NamedColumns(parser.cells());
    layout.header = std::string(Trim(line));
    if (!RowsFit(sample, layout.columns.size())) return std::nullopt;
    InterpretHeader(layout, sample);
    layout.sureness = SurenessOf(layout, sample);
    ReadMonitor(layout, start.comment);
    ReadTensorboardDownload(layout, sample, path);
    ReadPathConventions(layout, path);
  } else {
    if (sample.rows.empty() || !RowsFit(sample, sample.rows.front().size())) return std::nullopt;
    for (std::size_t i = 0; i < sample.rows.front().size(); ++i) {
      if (!IsNumeric(sample, i)) return std::nullopt;
    }
    NameColumns(layout, sample, path);
  }
  return layout;
}

std::optional<Layout> LayoutOfHeader(std::span<const Cell> cells, const Layout& before) {
  const auto is_known = [&](const Cell& cell) {
    return std::any_of(before.columns.begin(), before.columns.end(),
                       [&](const Column& column) { return !cell.text.empty() && column.name == cell.text; });
  };
  if (before.header.empty() || !IsHeader(cells) || std::none_of(cells.begin(), cells.end(), is_known))
    return std::nullopt;
  Layout layout = before;
  layout.columns = NamedColumns(cells);
  layout.name = layout.value = kNoColumn;
  InterpretHeader(layout, {});
  if (layout.axis.axis != before.axis.axis || layout.is_long() != before.is_long()) return std::nullopt;
  return layout;
}

}  // namespace vigil::formats::csv
