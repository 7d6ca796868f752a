#include "textlog/line_shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/decimal.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr double kLargestCount = 9e15;

bool IsThousandsComma(const char* p, const char* end) {
  return *p == ',' && end - p > 3 && IsDigit(p[1]) && IsDigit(p[2]) && IsDigit(p[3]) &&
         (end - p == 4 || !IsDigit(p[4]));
}

// TakeDecimal for a number with commas between thousands, which are left out of a copy. Apart, so that the common
// numbers do not pay for its registers.
[[gnu::noinline]] const char* TakeGrouped(const char* at, const char* end, double& value) {
  std::array<char, 40> plain = {};
  std::size_t size = 0;
  std::ptrdiff_t commas = 0;
  for (const char* p = at; p < end && (IsDigit(*p) || IsThousandsComma(p, end)); ++p) {
    if (size == plain.size()) return nullptr;
    if (*p == ',')
      ++commas;
    else
      plain[size++] = *p;
  }
  const char* const rest = at + size + commas;
  const auto copied = std::min<std::ptrdiff_t>(end - rest, static_cast<std::ptrdiff_t>(plain.size() - size));
  std::copy(rest, rest + copied, plain.begin() + static_cast<std::ptrdiff_t>(size));
  const char* const plain_end = plain.data() + size + copied;
  const char* const after = TakeDecimal<TextEnd::kAnywhere>(plain.data(), plain_end, value);
  // A number that fills the copy may go on behind it.
  if (after == nullptr || (after == plain_end && rest + copied != end)) return nullptr;
  return at + (after - plain.data()) + commas;
}

// A number that begins with a digit, after a sign perhaps, at the front of [at, end), moved past it. False for what
// needs the care of ReadNumber.
[[gnu::always_inline]] inline bool TakeNumber(const char*& at, const char* end, bool thousands, double& value) {
  const char* const digits = at + (at < end && (*at == '-' || *at == '+') ? 1 : 0);
  if (digits == end || !IsDigit(*digits)) return false;
  const char* const after =
      thousands ? TakeGrouped(digits, end, value) : TakeDecimal<TextEnd::kAnywhere>(digits, end, value);
  if (after == nullptr) return false;
  if (*at == '-') value = -value;
  at = after;
  return true;
}

bool IsCount(double value) { return value >= 0 && value < kLargestCount && value == std::floor(value); }

}  // namespace

std::vector<LineShape::Slot> LineShape::SlotsOf(const MetricLine& line, const std::vector<std::uint32_t>& series) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < line.numbers.size(); ++i) {
    Slot slot;
    slot.at = line.numbers[i].at;
    slot.piece.kind = series[i] == 0 ? Kind::kDropped : Kind::kValue;
    slot.piece.series = series[i];
    slot.piece.thousands = line.numbers[i].thousands;
    slot.piece.unit_scale = line.numbers[i].unit_scale;
    slot.piece.name_scale = line.numbers[i].name_scale;
    slots.push_back(slot);
  }
  const auto add = [&](std::uint32_t at, Kind kind, bool thousands) {
    Slot slot;
    slot.at = at;
    slot.piece.kind = kind;
    slot.piece.thousands = thousands;
    slots.push_back(slot);
  };
  if (line.step >= 0) add(line.step_at, Kind::kStep, line.step_thousands);
  if (line.epoch >= 0) add(line.epoch_at, Kind::kEpoch, false);
  std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.at < b.at; });
  return slots;
}

void LineShape::AddPiece(std::string_view literal, Piece piece) {
  if (piece.kind != Kind::kEnd) {
    while (literal.ends_with(' ')) {
      literal.remove_suffix(1);
      piece.spaces = true;
    }
  }
  piece.begin = static_cast<std::uint32_t>(text_.size());
  piece.length = static_cast<std::uint32_t>(literal.size());
  text_ += literal;
  pieces_.push_back(piece);
}

std::optional<LineShape> LineShape::Of(std::string_view text, const MetricLine& line,
                                       const std::vector<std::uint32_t>& series) {
  LineShape shape;
  shape.evaluation_ = line.evaluation;
  shape.step_within_epoch_ = line.step_within_epoch;
  shape.step_opens_line_ = line.step_opens_line;
  shape.step_is_global_ = line.step_is_global;
  shape.is_summary_ = line.is_summary;
  shape.counted_ = line.counted;
  shape.epoch_is_part_ = line.epoch_is_part;
  if (!shape.Build(text, line, SlotsOf(line, series))) return std::nullopt;
  return shape;
}

bool LineShape::Build(std::string_view text, const MetricLine& line, const std::vector<Slot>& slots) {
  // Digits that are part of a kept name are fixed text.
  std::vector<bool> fixed(text.size(), false);
  for (const NamedNumber& number : line.numbers) {
    const auto begin = static_cast<std::size_t>(number.name.data() - text.data());
    for (std::size_t i = begin; i < begin + number.name.size() && i < text.size(); ++i) fixed[i] = true;
  }
  const char* const end = text.data() + text.size();
  std::size_t literal = 0;
  std::size_t at = 0;
  auto slot = slots.begin();
  bool after_step = false;
  while (at < text.size()) {
    const bool is_slot = slot != slots.end() && slot->at == at;
    if (!is_slot && (!IsDigit(text[at]) || fixed[at])) {
      ++at;
      continue;
    }
    Piece piece = is_slot ? slot->piece : Piece{};
    if (!is_slot) piece.kind = after_step && line.total_steps > 0 ? Kind::kTotal : Kind::kDigits;
    after_step = piece.kind == Kind::kStep;
    AddPiece(text.substr(literal, at - literal), piece);
    const char* p = text.data() + at;
    double value = 0;
    if (!is_slot) {
      while (p < end && IsDigit(*p)) ++p;
    } else {
      ++slot;
      if (!TakeNumber(p, end, piece.thousands, value)) return false;
      // "46,87": with one digit more it would be a number with thousands.
      if (p + 1 < end && *p == ',' && IsDigit(p[1])) return false;
    }
    at = static_cast<std::size_t>(p - text.data());
    literal = at;
  }
  AddPiece(text.substr(literal), Piece{});
  return slot == slots.end();
}

std::size_t LineShape::ReadFront(std::string_view text, MetricLine& line, std::vector<Value>& values) const {
  values.clear();
  line.step = -1;
  line.epoch = -1;
  line.total_steps = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const Piece& piece : pieces_) {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < piece.length || std::memcmp(at, text_.data() + piece.begin, piece.length) != 0) return 0;
    at += piece.length;
    if (piece.kind == Kind::kEnd) break;
    if (piece.spaces) {
      if (at == end || *at != ' ') return 0;
      while (at < end && *at == ' ') ++at;
    }
    if (piece.kind == Kind::kDigits) {
      if (at == end || !IsDigit(*at)) return 0;
      while (at < end && IsDigit(*at)) ++at;
      continue;
    }
    double value = 0;
    if (!TakeNumber(at, end, piece.thousands, value)) return 0;
    switch (piece.kind) {
      case Kind::kValue:
        values.push_back({piece.series, value * piece.unit_scale * piece.name_scale});
        break;
      case Kind::kStep:
        if (!IsCount(value)) return 0;
        line.step = static_cast<std::int64_t>(value);
        break;
      case Kind::kTotal:
        if (!IsCount(value) || value == 0 || !IsDigit(at[-1])) return 0;
        line.total_steps = static_cast<std::int64_t>(value);
        break;
      case Kind::kEpoch:
        if (value < 0) return 0;
        line.epoch = value;
        break;
      default:
        break;
    }
  }
  line.evaluation = evaluation_;
  line.step_within_epoch = step_within_epoch_;
  line.step_opens_line = step_opens_line_;
  line.step_is_global = step_is_global_;
  line.is_summary = is_summary_;
  line.counted = counted_;
  line.epoch_is_part = epoch_is_part_;
  return static_cast<std::size_t>(at - text.data());
}

}  // namespace vigil::textlog
