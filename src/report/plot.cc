#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "report/sentence.h"

namespace vigil::report {
namespace {

constexpr std::size_t kWidestPlot = 110;  // wider curves are no easier to read
constexpr double kDecadesForLog = 100;    // highest over lowest from which a linear scale hides the low part
constexpr std::size_t kDotsAcross = 2;    // of a braille character
constexpr std::size_t kDotsDown = 4;      // of a braille character
constexpr std::size_t kIndent = 2;

// Dots as one bit mask per dot column, bit 0 at the bottom: filling a range of a column is one operation.
class Raster {
 public:
  Raster(std::size_t columns, std::size_t rows) : masks_(columns), rows_(std::min<std::size_t>(rows, 32)) {}

  std::size_t columns() const { return masks_.size(); }
  std::size_t rows() const { return rows_; }
  bool At(std::size_t column, std::size_t row) const { return ((masks_[column] >> row) & 1U) != 0; }

  void Fill(std::size_t column, std::size_t from, std::size_t to) {
    const auto [low, high] = std::minmax(from, to);
    const std::uint32_t upto = high >= 31 ? ~0U : (1U << (high + 1)) - 1;
    masks_[column] |= upto & ~((1U << low) - 1);
  }

  // A connected line of dots; `x2` is not left of `x1`.
  void Line(std::size_t x1, std::size_t y1, std::size_t x2, std::size_t y2) {
    if (x2 == x1) return Fill(x1, y1, y2);
    const double slope = (static_cast<double>(y2) - static_cast<double>(y1)) / static_cast<double>(x2 - x1);
    std::size_t before = y1;
    for (std::size_t x = x1 + 1; x <= x2; ++x) {
      const double y = static_cast<double>(y1) + slope * static_cast<double>(x - x1);
      const auto here = static_cast<std::size_t>(std::lround(y));
      // The rows of the column before are taken: a steep line stays one dot wide.
      const std::size_t from = here > before ? before + 1 : here < before ? before - 1 : here;
      Fill(x, from, here);
      before = here;
    }
  }

 private:
  std::vector<std::uint32_t> masks_;
  std::size_t rows_;
};

struct Picture {
  Raster dots;
  std::vector<bool> bad;  // per character column: holds a NaN or an infinity
};

std::size_t Cell(double share, std::size_t count) {
  // Of values that differ by next to nothing the share may be no number.
  const double scaled = (share > 0 ? std::min(share, 1.0) : 0.0) * static_cast<double>(count - 1);
  return static_cast<std::size_t>(std::lround(scaled));
}

// Draws points one after the other; those of one segment are joined, a non-finite value breaks the line.
class Pen {
 public:
  Pen(Picture& picture, std::size_t dots_across) : picture_(picture), dots_across_(dots_across) {}

  void Lift() { last_ = Last::kNothing; }

  void Finite(std::size_t x, std::size_t y) {
    const bool joined = last_ == Last::kFinite && x >= x_;
    joined ? picture_.dots.Line(x_, y_, x, y) : picture_.dots.Fill(x, y, y);
    Remember(Last::kFinite, x, y);
  }

  // Between two bad points in a row there is nothing good: the columns between them are marked too.
  void Bad(std::size_t x) {
    const std::size_t from = last_ == Last::kBad && x >= x_ ? x_ : x;
    for (std::size_t column = from / dots_across_; column <= x / dots_across_; ++column) picture_.bad[column] = true;
    Remember(Last::kBad, x, 0);
  }

 private:
  enum class Last : std::uint8_t { kNothing, kFinite, kBad };
  void Remember(Last last, std::size_t x, std::size_t y) {
    last_ = last;
    x_ = x;
    y_ = y;
  }

  Picture& picture_;
  std::size_t dots_across_;
  Last last_ = Last::kNothing;
  std::size_t x_ = 0;
  std::size_t y_ = 0;
};

void Sketch(const model::Series& series, const Span& axis, const Scale& scale, std::size_t dots_across,
            Picture& picture) {
  Pen pen(picture, dots_across);
  std::size_t next_segment = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (next_segment < series.segment_starts.size() && series.segment_starts[next_segment] == i) {
      pen.Lift();
      ++next_segment;
    }
    const std::size_t x = Cell(ShareOf(axis, series.steps[i]), picture.dots.columns());
    if (std::isfinite(series.values[i])) {
      pen.Finite(x, Cell(scale.Height(series.values[i]), picture.dots.rows()));
    } else {
      pen.Bad(x);
    }
  }
}

std::string Braille(const Raster& dots, std::size_t column, std::size_t row_from_top) {
  // Bits of U+2800: dots are numbered down the left column, then down the right one, the last row apart.
  constexpr std::array<std::array<unsigned, kDotsDown>, kDotsAcross> kBits = {
      {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
  unsigned bits = 0;
  for (std::size_t x = 0; x < kDotsAcross; ++x) {
    for (std::size_t y = 0; y < kDotsDown; ++y) {
      const std::size_t from_top = row_from_top * kDotsDown + y;
      if (dots.At(column * kDotsAcross + x, dots.rows() - 1 - from_top)) bits |= kBits[x][y];
    }
  }
  if (bits == 0) return " ";
  const std::array<char, 3> utf8 = {'\xE2', static_cast<char>(0xA0U | (bits >> 6U)),
                                    static_cast<char>(0x80U | (bits & 0x3FU))};
  return {utf8.data(), utf8.size()};
}

std::string CellText(const Screen& screen, const Raster& dots, std::size_t column, std::size_t row_from_top) {
  if (screen.unicode()) return Braille(dots, column, row_from_top);
  return dots.At(column, dots.rows() - 1 - row_from_top) ? "*" : " ";
}

// The number at the left of a row, if any: the ends of the scale, or the one level of a constant curve.
std::string RowLabel(const Scale& scale, std::size_t row, std::size_t rows) {
  if (!scale.any) return {};
  if (!(scale.high > scale.low)) return row == (rows - 1) / 2 ? FormatNumber(scale.high) : std::string();
  if (row == 0) return FormatNumber(scale.high);
  return row + 1 == rows ? FormatNumber(scale.low) : std::string();
}

std::size_t LabelWidth(const Scale& scale) {
  return scale.any ? std::max(FormatNumber(scale.high).size(), FormatNumber(scale.low).size()) : 3;
}

void DrawRow(Screen& screen, const Picture& picture, const std::string& label, std::size_t row) {
  std::string cells;
  std::size_t used = 0;  // bytes up to the last character that is no blank
  for (std::size_t column = 0; column < picture.bad.size(); ++column) {
    const bool cross = row == 0 && picture.bad[column];
    cells += cross ? screen.Paint(screen.Glyph("×", "x"), Ink::kRed) : CellText(screen, picture.dots, column, row);
    if (cells.back() != ' ') used = cells.size();
  }
  cells.resize(used);
  const std::string_view edge =
      label.find_first_not_of(' ') == std::string::npos ? screen.Glyph("│", "|") : screen.Glyph("┤", "+");
  screen.Raw(std::string(kIndent, ' ') + screen.Paint(label + " " + std::string(edge), Ink::kDim) + cells);
}

// First and last position under the ends of the axis.
void DrawAxis(Screen& screen, const Span& axis, std::size_t margin, std::size_t columns) {
  std::string line(screen.Glyph("└", "+"));
  for (std::size_t i = 0; i < columns; ++i) line += screen.Glyph("─", "-");
  screen.Raw(std::string(margin - 1, ' ') + screen.Paint(line, Ink::kDim));
  const std::string first = fmt::format("{}", axis.first);
  const std::string last = axis.last == axis.first ? std::string() : fmt::format("{}", axis.last);
  std::string labels = fmt::format("{} {}", AxisWord(axis.axis), first);
  if (!last.empty() && labels.size() + 1 + last.size() <= columns) labels += PadLeft(last, columns - labels.size());
  screen.Raw(std::string(margin, ' ') + screen.Paint(labels, Ink::kDim));
}

// Marks of neighbouring columns share one arrow: "^1,3".
struct MarkGroup {
  std::size_t column = 0;
  std::string label;
  Ink ink = Ink::kRed;
};

std::vector<MarkGroup> GroupMarks(const PlotRequest& request, std::size_t columns) {
  std::vector<std::pair<std::size_t, const PlotMark*>> placed;
  for (const PlotMark& mark : request.marks) {
    if (mark.count >= request.axis.first && mark.count <= request.axis.last)
      placed.emplace_back(Cell(ShareOf(request.axis, mark.count), columns), &mark);
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<MarkGroup> groups;
  for (const auto& [column, mark] : placed) {
    if (!groups.empty() && column < groups.back().column + groups.back().label.size() + 2) {
      groups.back().label += "," + mark->label;
    } else {
      groups.push_back({column, mark->label, mark->ink});
    }
  }
  return groups;
}

void DrawMarks(Screen& screen, const PlotRequest& request, std::size_t margin, std::size_t columns) {
  const std::vector<MarkGroup> groups = GroupMarks(request, columns);
  if (groups.empty()) return;
  std::string line(margin, ' ');
  std::size_t at = 0;
  for (const MarkGroup& group : groups) {
    // At the right edge the label stands left of its arrow.
    const bool turned = group.column + 1 + group.label.size() > columns && group.column >= at + group.label.size();
    const std::size_t start = turned ? group.column - group.label.size() : group.column;
    const std::string arrow(screen.Glyph("▲", "^"));
    const std::string text = turned ? group.label + arrow : arrow + group.label;
    line += std::string(start - at, ' ') + screen.Paint(text, group.ink);
    at = start + 1 + group.label.size();
  }
  screen.Raw(line);
}

void DrawTitle(Screen& screen, const PlotRequest& request, const Scale& scale, bool any_bad) {
  std::string title = screen.Clean(request.title);
  if (scale.logarithmic) title += ", log scale";
  if (any_bad) title += fmt::format(", {} = nan or inf", screen.Glyph("×", "x"));
  screen.Raw(std::string(kIndent, ' ') + screen.Paint(screen.Cut(title, screen.width() - kIndent), Ink::kBold));
}

}  // namespace

double Scale::Height(double value) const {
  if (!(high > low)) return 0.5;
  // Halves, and logarithms before the difference: the ends may be as far apart as doubles go.
  if (!logarithmic) return (value / 2 - low / 2) / (high / 2 - low / 2);
  if (value <= low) return 0;
  return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
}

Scale ScaleOf(const std::vector<const model::Series*>& curves) {
  Scale scale;
  double smallest_positive = 0;
  bool may_be_logarithmic = true;
  for (const model::Series* series : curves) {
    // People know schedules by their straight lines.
    if (series->signal == "lr") may_be_logarithmic = false;
    for (const double value : series->values) {
      if (!std::isfinite(value)) continue;
      scale.low = scale.any ? std::min(scale.low, value) : value;
      scale.high = scale.any ? std::max(scale.high, value) : value;
      if (value > 0 && (smallest_positive == 0 || value < smallest_positive)) smallest_positive = value;
      scale.any = true;
    }
  }
  const bool spans_decades = smallest_positive > 0 && scale.high / smallest_positive >= kDecadesForLog;
  if (may_be_logarithmic && scale.low >= 0 && spans_decades) {
    scale.logarithmic = true;
    scale.low = smallest_positive;
  }
  return scale;
}

Scale ScaleOf(const model::Series& series) { return ScaleOf({&series}); }

double ShareOf(const Span& axis, std::int64_t count) {
  const double length = static_cast<double>(axis.last) - static_cast<double>(axis.first);
  if (length <= 0) return 0.5;
  return (static_cast<double>(count) - static_cast<double>(axis.first)) / length;
}

void DrawPlot(Screen& screen, const PlotRequest& request) {
  const Scale scale = ScaleOf(*request.series);
  const std::size_t label_width = LabelWidth(scale);
  const std::size_t margin = kIndent + label_width + 2;
  const std::size_t columns = std::min(screen.width() - margin, kWidestPlot);
  const std::size_t across = screen.unicode() ? kDotsAcross : 1;
  const std::size_t down = screen.unicode() ? kDotsDown : 1;
  Picture picture{Raster(columns * across, request.rows * down), std::vector<bool>(columns)};
  Sketch(*request.series, request.axis, scale, across, picture);
  const bool any_bad = std::find(picture.bad.begin(), picture.bad.end(), true) != picture.bad.end();
  DrawTitle(screen, request, scale, any_bad);
  for (std::size_t row = 0; row < request.rows; ++row)
    DrawRow(screen, picture, PadLeft(RowLabel(scale, row, request.rows), label_width), row);
  DrawAxis(screen, request.axis, margin, columns);
  DrawMarks(screen, request, margin, columns);
}

}  // namespace vigil::report
