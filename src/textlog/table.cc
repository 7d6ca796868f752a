#include "textlog/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "tabular/column_roles.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kLongestTableLine = 2000;
constexpr std::size_t kMostCells = 64;
constexpr std::size_t kLongestName = 40;
constexpr std::size_t kMostOtherLines = 60;  // lines of other kinds between two rows
constexpr std::size_t kLongestBox = 128;
constexpr std::size_t kFarthestCell = 4;                 // from its name: numbers may be longer or shorter than it
constexpr std::string_view kThinSide = "\xE2\x94\x82";   // U+2502
constexpr std::string_view kThickSide = "\xE2\x94\x83";  // U+2503

template <std::size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view known) { return EqualsIgnoringCase(word, known); });
}

// "Step (% Done)" -> "Step".
std::string_view WithoutAside(std::string_view name) {
  return Trim(name.ends_with(')') ? name.substr(0, name.find('(')) : name);
}

// 0 when the column is no step. In a drawn table "#" and "batch" count, too.
int StepPriorityOf(std::string_view name) {
  name = WithoutAside(name);
  if (const int priority = tabular::StepPriority(name); priority != 0) return priority;
  return name == "#" || EqualsIgnoringCase(name, "batch") ? tabular::StepWordPriority(name) : 0;
}

bool IsStepColumn(std::string_view name) { return StepPriorityOf(name) != 0; }

bool IsEpochColumn(std::string_view name) {
  return EqualsIgnoringCase(name, "ep") || tabular::UseOfColumn(name).role == tabular::ColumnRole::kEpoch;
}

bool IsRule(std::string_view text) {
  return text.size() >= 3 && text.find_first_not_of("-=+ |\t_") == std::string_view::npos;
}

// Where the per cent of a bar ends: "100%|####|", and "100% " before a bar of box drawing. The side of a cell is none.
std::size_t FindBar(std::string_view text) {
  constexpr std::array<std::string_view, 3> kBars = {"%|", "% \xE2\x94", "% \xE2\x95"};
  for (const std::string_view bar : kBars) {
    const std::size_t at = text.find(bar);
    if (at == std::string_view::npos) continue;
    const std::string_view sign = text.substr(at + 2);
    if (!sign.starts_with(kThinSide) && !sign.starts_with(kThickSide)) return at;
  }
  return std::string_view::npos;
}

// The bar behind a row is no cell: " 640: 100%|####| 8/8 [00:03<00:00]". `done`: whether it was full.
std::string_view WithoutBar(std::string_view text, bool& done) {
  const std::size_t percent = FindBar(text);
  if (percent == std::string_view::npos) return text;
  std::size_t begin = percent;
  while (begin > 0 && (IsDigit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  done = text.substr(begin, percent - begin) == "100";
  text = text.substr(0, begin);
  while (!text.empty() && (text.back() == ' ' || text.back() == ':')) text.remove_suffix(1);
  return text;
}

// "Epoch 1/8 : |###---| 2.70% [1/37 00:00<00:03]": drawn again for every batch between two rows, as often as the
// machine is slow. Lines of a table hold no such counts.
bool IsBarOfCounts(std::string_view text) {
  if (FindBar(text) != std::string_view::npos) return true;
  const std::size_t open = text.find("% [");
  return open != std::string_view::npos && open + 3 < text.size() && IsDigit(text[open + 3]);
}

void AddCell(std::string_view cell, std::vector<std::string_view>& cells) {
  if (cells.size() < kMostCells) cells.push_back(Trim(cell));
}

// "| a | b |" and the same with box-drawing sides.
bool SplitBetweenSides(std::string_view text, std::vector<std::string_view>& cells) {
  for (const std::string_view side : {std::string_view("|"), kThinSide, kThickSide}) {
    if (!text.starts_with(side) || !text.ends_with(side) || text.size() < 2 * side.size() + 1) continue;
    std::string_view rest = text.substr(side.size());
    for (std::size_t at = rest.find(side); at != std::string_view::npos; at = rest.find(side)) {
      AddCell(rest.substr(0, at), cells);
      rest = rest.substr(at + side.size());
    }
    return true;
  }
  return false;
}

// Cells are set apart by tabs or at least two spaces: a name may hold one.
void SplitAtGaps(std::string_view text, std::vector<std::string_view>& cells) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool gap = text[i] == '\t' || (text[i] == ' ' && i + 1 < text.size() && text[i + 1] == ' ');
    if (!gap) continue;
    if (i > begin) AddCell(text.substr(begin, i - begin), cells);
    while (i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\t')) ++i;
    begin = i + 1;
  }
  if (begin < text.size()) AddCell(text.substr(begin), cells);
}

// "rmse_lc_val rmse_lc_trn": names that are joined inside are set apart by one space, too.
bool HoldsNames(std::string_view cell) {
  if (cell.find(' ') == std::string_view::npos) return false;
  const std::vector<std::string_view> words = Split(cell, ' ');
  return std::all_of(words.begin(), words.end(), [](std::string_view word) {
    return !word.empty() && IsLetter(word[0]) && word.find_first_of("_/") != std::string_view::npos;
  });
}

void SetNamesApart(std::vector<std::string_view>& cells) {
  if (std::none_of(cells.begin(), cells.end(), HoldsNames)) return;
  std::vector<std::string_view> apart;
  for (const std::string_view cell : cells) {
    if (!HoldsNames(cell)) {
      AddCell(cell, apart);
      continue;
    }
    for (const std::string_view word : Split(cell, ' ')) AddCell(word, apart);
  }
  cells = std::move(apart);
}

// "[1.03e-04, 7.28e-08]": the parts of a loss, which make it up together.
std::optional<double> ListSum(std::string_view cell) {
  if (!cell.starts_with('[') || !cell.ends_with(']')) return std::nullopt;
  double sum = 0;
  for (const std::string_view part : Split(cell.substr(1, cell.size() - 2), ',')) {
    const auto value = ParseNumber(Trim(part));
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

// "2.45G", "81.2%", "1,234": the number at the front of a cell that is nothing but one number and its unit.
std::optional<double> CellNumber(std::string_view cell) {
  if (const auto whole = ParseNumber(cell)) return whole;
  if (const auto sum = ListSum(cell)) return sum;
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(cell, used);
  if (!value || cell.size() - used > 4) return std::nullopt;
  std::string_view unit = cell.substr(used);
  // "31.2 ms", "131.5 K".
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.size() > 3) return std::nullopt;
  if (unit == "K") return *value * 1e3;
  if (unit == "M" && cell[used] == ' ') return *value * 1e6;
  const bool plain = std::all_of(unit.begin(), unit.end(), [](char c) { return IsLetter(c) || c == '%'; });
  return plain ? value : std::nullopt;
}

// "12", "3/100" and "10 (0.03%)".
std::optional<double> CellCount(std::string_view cell, std::int64_t& total) {
  if (cell.ends_with("%)")) cell = Trim(cell.substr(0, cell.find('(')));
  const std::size_t slash = cell.find('/');
  const auto count = ParseNumber(cell.substr(0, slash));
  if (!count || *count < 0 || *count > 9e15) return std::nullopt;
  if (slash == std::string_view::npos) return count;
  const auto whole = ParseInteger(Trim(cell.substr(slash + 1)));
  if (!whole || *whole <= 0) return std::nullopt;
  total = *whole;
  return count;
}

bool IsName(std::string_view cell) {
  return !cell.empty() && cell.size() <= kLongestName && (IsLetter(cell[0]) || cell == "#") && !ParseNumber(cell);
}

std::string CleanName(std::string_view cell) {
  while (!cell.empty() && (cell.back() == ':' || cell.back() == ')')) cell.remove_suffix(1);
  std::string name(cell);
  if (name.find('(') != std::string::npos) name += ')';
  return name;
}

bool IsKnown(std::string_view name) {
  return catalogue::Interpret(name).has_value() || ContainsIgnoringCase(name, "loss");
}

}  // namespace

// A column that says where the training is, and one that says how it goes.
bool TableReader::IsHeader() const {
  if (cells_.size() < 2 || !std::all_of(cells_.begin(), cells_.end(), IsName)) return false;
  const auto is_place = [](std::string_view cell) { return IsStepColumn(cell) || IsEpochColumn(cell); };
  const auto is_metric = [&](std::string_view cell) { return !is_place(cell) && IsKnown(cell); };
  return std::any_of(cells_.begin(), cells_.end(), is_place) && std::any_of(cells_.begin(), cells_.end(), is_metric);
}

// The same of names that the vocabulary does not know: where the first column is the place, the next line decides.
bool TableReader::MayBeHeader() const {
  return columns_.empty() && cells_.size() >= 3 && std::all_of(cells_.begin(), cells_.end(), IsName) &&
         (IsStepColumn(cells_[0]) || IsEpochColumn(cells_[0]));
}

TableReader::Place TableReader::TakeHeader(std::string_view text, TableRow& row) {
  row.numbers.clear();
  columns_.clear();
  offsets_.clear();
  is_doubtful_ = !IsHeader();
  for (const std::string_view cell : cells_) offsets_.push_back(static_cast<std::size_t>(cell.data() - text.data()));
  scores_.clear();
  other_lines_ = 0;
  for (const std::string_view cell : cells_) columns_.push_back(CleanName(cell));
  auto step = std::max_element(columns_.begin(), columns_.end(), [](const auto& left, const auto& right) {
    return StepPriorityOf(left) < StepPriorityOf(right);
  });
  if (!IsStepColumn(*step)) step = columns_.end();
  const auto epoch =
      std::find_if(columns_.begin(), columns_.end(), [](const auto& name) { return IsEpochColumn(name); });
  place_column_ = static_cast<std::size_t>((step == columns_.end() ? epoch : step) - columns_.begin());
  return Place::kInside;
}

// How far a cell is from standing below (or above) a name: 0 where they share a place in the line.
std::size_t TableReader::DistanceTo(std::size_t column, std::size_t begin, std::size_t end) const {
  const std::size_t name_begin = offsets_[column];
  const std::size_t name_end = name_begin + columns_[column].size();
  if (begin >= name_end) return begin - name_end + 1;
  return end <= name_begin ? name_begin - end + 1 : 0;
}

// Rows that leave cells empty: each cell goes to the name that it stands below, whichever way columns are aligned, or
// the nearest one; names are used in their order, each once.
bool TableReader::AlignCells(std::string_view text) {
  if (has_sides_ || cells_.size() < 2 || cells_.size() >= columns_.size()) return false;
  std::vector<std::string_view> aligned(columns_.size());
  std::size_t first = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto begin = static_cast<std::size_t>(cells_[i].data() - text.data());
    const std::size_t last = columns_.size() - (cells_.size() - 1 - i);  // the others need names, too
    std::size_t best = first;
    for (std::size_t column = first; column < last; ++column) {
      if (DistanceTo(column, begin, begin + cells_[i].size()) < DistanceTo(best, begin, begin + cells_[i].size()))
        best = column;
    }
    if (DistanceTo(best, begin, begin + cells_[i].size()) > kFarthestCell) return false;
    aligned[best] = cells_[i];
    first = best + 1;
  }
  cells_ = aligned;
  return true;
}

TableReader::Place TableReader::TakeValues(std::string_view text, TableRow& row) {
  bool done = true;
  if (FindBar(text) != std::string_view::npos) {
    cells_.clear();
    SplitAtGaps(WithoutBar(text, done), cells_);
  }
  if (cells_.size() != columns_.size() && !AlignCells(text)) return Place::kOutside;
  TableRow taken;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const bool is_place = i == place_column_;
    const auto value = is_place ? CellCount(cells_[i], taken.total) : CellNumber(cells_[i]);
    if (is_place && !value) return Place::kOutside;
    if (!value) continue;
    if (is_place && IsEpochColumn(columns_[i])) {
      taken.epoch = *value;
    } else if (is_place) {
      taken.step = static_cast<std::int64_t>(*value);
    } else {
      NamedNumber number;
      number.name = columns_[i];
      number.value = *value;
      taken.numbers.push_back(number);
    }
  }
  if (taken.numbers.empty()) return Place::kOutside;
  other_lines_ = 0;
  // A bar that is not full yet shows a mean over the part that was seen.
  if (!done) return Place::kInside;
  last_ = taken;
  row = std::move(taken);
  return Place::kRow;
}

// "Class  Images  mAP50" below the row of an epoch, and then "all  128  0.605".
TableReader::Place TableReader::TakeScores(TableRow& row) {
  constexpr std::array<std::string_view, 5> kWholes = {"all", "total", "mean", "avg", "average"};
  if (!scores_.empty() && cells_.size() == scores_.size() && IsOneOf(cells_[0], kWholes)) {
    row = last_;
    row.evaluation = true;
    row.numbers.clear();
    for (std::size_t i = 1; i < cells_.size(); ++i) {
      NamedNumber number;
      number.name = scores_[i];
      const auto value = CellNumber(cells_[i]);
      if (!value) return Place::kOutside;
      number.value = *value;
      row.numbers.push_back(number);
    }
    latest_scores_ = std::exchange(scores_, {});  // the row's names refer to them
    return row.numbers.empty() ? Place::kInside : Place::kRow;
  }
  const bool placed = last_.step >= 0 || last_.epoch >= 0;
  if (!placed || cells_.size() < 4 || !std::all_of(cells_.begin(), cells_.end(), IsName)) return Place::kOutside;
  scores_.clear();
  for (const std::string_view cell : cells_) scores_.push_back(CleanName(cell));
  return Place::kInside;
}

// "| train/ |  |", and "| loss | 2.31 |" of loggers without sections.
bool TableReader::OpensBox() const {
  if (cells_.size() != 2) return false;
  if (cells_[1].empty()) return cells_[0].ends_with('/');
  return columns_.empty() && IsName(cells_[0]) && IsKnown(cells_[0]) && ParseNumber(cells_[1]).has_value();
}

TableReader::Place TableReader::TakeBoxLine(TableRow& row) {
  const auto value = cells_.size() == 2 ? ParseNumber(cells_[1]) : std::nullopt;
  if (cells_.size() != 2 || cells_[0].empty() || box_.size() >= kLongestBox) return CloseBox(row);
  if (cells_[0].ends_with('/') && cells_[1].empty()) {
    section_ = std::string(cells_[0]);
  } else if (value) {
    box_.push_back({section_ + std::string(cells_[0]), *value});
  }
  in_box_ = true;
  return Place::kInside;
}

TableReader::Place TableReader::CloseBox(TableRow& row) {
  in_box_ = false;
  section_.clear();
  row = TableRow();
  int priority = 0;
  for (const Named& one : box_) {
    const int better = tabular::StepPriority(one.name);
    if (better <= priority || one.value < 0 || one.value > 9e15) continue;
    row.step = static_cast<std::int64_t>(one.value);
    priority = better;
  }
  for (const Named& one : box_) {
    NamedNumber number;
    number.name = one.name;
    number.value = one.value;
    row.numbers.push_back(number);
  }
  return row.step >= 0 ? Place::kRow : Place::kInside;
}

TableReader::Place TableReader::Consume(std::string_view text, TableRow& row) {
  if (!in_box_) box_.clear();
  if (text.size() > kLongestTableLine) return Place::kOutside;
  bool done = true;
  const std::string_view trimmed = Trim(WithoutBar(text, done));
  if (IsRule(trimmed)) return in_box_ ? CloseBox(row) : Place::kOutside;
  cells_.clear();
  has_sides_ = SplitBetweenSides(trimmed, cells_);
  if (!has_sides_) SplitAtGaps(trimmed, cells_);
  if (!has_sides_ && columns_.empty()) SetNamesApart(cells_);
  if (has_sides_ && (in_box_ || OpensBox())) return TakeBoxLine(row);
  if (IsHeader() || MayBeHeader()) return TakeHeader(text, row);
  if (columns_.empty()) return Place::kOutside;
  if (!IsBarOfCounts(text) && ++other_lines_ > kMostOtherLines) {
    columns_.clear();
    return Place::kOutside;
  }
  const Place values = TakeValues(text, row);
  if (is_doubtful_ && values == Place::kOutside) {
    columns_.clear();
    return Place::kOutside;
  }
  is_doubtful_ = false;
  return values == Place::kOutside ? TakeScores(row) : values;
}

}  // namespace vigil::textlog
