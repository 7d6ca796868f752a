// Rows of lines that no other parser understood, believed because their shape repeats.
#pragma once

#include <cstdint>

#include "textlog/known_shapes.h"
#include "textlog/log_line.h"
#include "textlog/metric_sink.h"
#include "textlog/repetition.h"
#include "textlog/step_tracker.h"

namespace vigil::textlog {

class RepeatedLines {
 public:
  RepeatedLines(MetricSink& sink, StepTracker& steps, KnownShapes& shapes)
      : sink_(sink), steps_(steps), shapes_(shapes) {}

  // Takes a line as it was taken apart, with `is_placed` saying whether it names a step or epoch. True when its shape
  // is believed by now: then it, and those held back before it, have become rows.
  bool Take(const LogLine& line, MetricLine& parsed, bool is_placed);

 private:
  void AddRow(const LearnedRow& row);
  void RememberCounted(const LogLine& line, MetricLine& parsed);

  MetricSink& sink_;
  StepTracker& steps_;
  KnownShapes& shapes_;
  Repetition repetition_;
  NamedNumbers numbers_;
};

}  // namespace vigil::textlog
