#include "textlog/known_shapes.h"

#include <utility>

#include "base/base.h"

namespace vigil::textlog {
namespace {

// Training, evaluation, and the same with an odd number in them.
constexpr std::size_t kMostShapes = 8;

}  // namespace

bool KnownShapes::Take(const CleanLine& line, std::uint32_t line_number) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].rank != line.rank || !shapes_[i].shape.Read(line.text, line_, values_)) continue;
    AddValues(line.rank, line_number);
    MoveForward(i);
    return true;
  }
  return false;
}

std::size_t KnownShapes::TakeFront(std::string_view text, std::uint32_t line_number) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const RankShape& known = shapes_[i];
    if (!known.verbatim || !text.starts_with(known.prefix)) continue;
    const std::string_view rest = text.substr(known.prefix.size());
    const std::size_t length = known.shape.ReadFront(rest, line_, values_);
    if (length == 0 || length == rest.size() || (rest[length] != '\n' && rest[length] != '\r')) continue;
    const std::size_t taken = known.prefix.size() + length;
    AddValues(known.rank, line_number);
    MoveForward(i);
    return taken;
  }
  return 0;
}

// The numbers that a shape read.
void KnownShapes::AddValues(std::int32_t rank, std::uint32_t line_number) {
  RowPlace place = {0, rank, line_number, Origin::kLine, line_.evaluation};
  steps_.Place(line_, place);
  for (const LineShape::Value& value : values_) sink_.AddValue(value.series, value.value, place);
  steps_.Observe(place);
}

void KnownShapes::MoveForward(std::size_t shape) {
  if (shape != 0) std::swap(shapes_[shape], shapes_[shape - 1]);
}

void KnownShapes::Remember(const CleanLine& line, const MetricLine& parsed, const std::vector<std::uint32_t>& series) {
  if (!enabled_) return;
  auto shape = LineShape::Of(line.text, parsed, series);
  if (!shape) return;
  if (shapes_.size() == kMostShapes) shapes_.pop_back();
  // With other digits the cleaner could see a prefix or a rank in such a line, or the reader a block.
  const bool doubtful = IsDigit(line.text.front()) || (line.rank < 0 && ContainsIgnoringCase(line.text, "rank")) ||
                        line.text.starts_with("[eval batch=");
  shapes_.insert(shapes_.begin(), {std::move(*shape), line.rank, std::string(line.prefix), line.verbatim && !doubtful});
}

}  // namespace vigil::textlog
