// Lines like ones that were read before: a loop prints the same words around other numbers, so most of a log is read by
// comparing text, without looking for names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "textlog/line.h"
#include "textlog/line_shape.h"
#include "textlog/metric_line.h"
#include "textlog/metric_sink.h"
#include "textlog/step_tracker.h"

namespace vigil::textlog {

class KnownShapes {
 public:
  // Without `enabled` no shape is kept: every line is parsed.
  KnownShapes(MetricSink& sink, StepTracker& steps, bool enabled) : sink_(sink), steps_(steps), enabled_(enabled) {}

  // Reads a line of a known shape. True when it was one.
  bool Take(const CleanLine& line, std::uint32_t line_number);
  // The same for a line at the front of `text`, byte for byte but for its numbers. Returns its length without the end
  // of line, 0 when it has another shape.
  std::size_t TakeFront(std::string_view text, std::uint32_t line_number);
  // Keeps the shape of a line that was read as `parsed`. Of its numbers those with a place in the table (`series`, 0
  // for none) are read from lines of that shape.
  void Remember(const CleanLine& line, const MetricLine& parsed, const std::vector<std::uint32_t>& series);

 private:
  struct RankShape {
    LineShape shape;
    std::int32_t rank = -1;
    std::string prefix;     // of launchers
    bool verbatim = false;  // prefix and shape are all of the line
  };
  void AddValues(std::int32_t rank, std::uint32_t line_number);
  void MoveForward(std::size_t shape);

  MetricSink& sink_;
  StepTracker& steps_;
  bool enabled_;
  std::vector<RankShape> shapes_;  // those in use first
  MetricLine line_;                // as a shape read it
  std::vector<LineShape::Value> values_;
};

}  // namespace vigil::textlog
