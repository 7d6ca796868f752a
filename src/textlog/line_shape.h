// The shape of a metric line: its fixed text, and what each number in it is. A loop prints the same line for every
// step, so a line that was understood once is read again by comparing its text and parsing its numbers, without looking
// for names. What does not fit is for ParseMetricLine, which decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "textlog/metric_line.h"

namespace vigil::textlog {

class LineShape {
 public:
  // The shape of `text`, which was read as `line`. Of its numbers those with an entry in `series` other than 0 are
  // kept. Nullopt for lines that do not repeat plainly (non-finite or odd numbers).
  static std::optional<LineShape> Of(std::string_view text, const MetricLine& line,
                                     const std::vector<std::uint32_t>& series);

  struct Value {
    std::uint32_t series = 0;
    double value = 0;
  };
  // Reads a line of this shape: step, epoch and flags into `line`, the kept numbers into `values`. False when it has
  // another shape or the plain reading could see it otherwise.
  bool Read(std::string_view text, MetricLine& line, std::vector<Value>& values) const {
    return !text.empty() && ReadFront(text, line, values) == text.size();
  }
  // The same for a line at the front of `text`; returns its length, 0 when it has another shape.
  std::size_t ReadFront(std::string_view text, MetricLine& line, std::vector<Value>& values) const;

 private:
  enum class Kind : std::uint8_t { kEnd, kDigits, kDropped, kValue, kStep, kTotal, kEpoch };
  struct Piece {
    std::uint32_t begin = 0;  // fixed text before the number, in text_
    std::uint32_t length = 0;
    Kind kind = Kind::kEnd;
    bool spaces = false;     // padding stands between the text and the number
    bool thousands = false;  // 1,048,576
    std::uint32_t series = 0;
    double unit_scale = 1;
    double name_scale = 1;
  };
  struct Slot {
    std::uint32_t at = 0;
    Piece piece;
  };
  static std::vector<Slot> SlotsOf(const MetricLine& line, const std::vector<std::uint32_t>& series);
  bool Build(std::string_view text, const MetricLine& line, const std::vector<Slot>& slots);
  void AddPiece(std::string_view literal, Piece piece);

  std::string text_;
  std::vector<Piece> pieces_;
  bool evaluation_ = false;
  bool step_within_epoch_ = false;
  bool step_opens_line_ = false;
  bool step_is_global_ = false;
  bool is_summary_ = false;
  bool counted_ = false;
  bool epoch_is_part_ = false;
};

}  // namespace vigil::textlog
