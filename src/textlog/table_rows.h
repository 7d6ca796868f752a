// Rows of tables that trainers draw, as points.
#pragma once

#include "textlog/log_line.h"
#include "textlog/metric_sink.h"
#include "textlog/step_tracker.h"
#include "textlog/table.h"

namespace vigil::textlog {

class TableRows {
 public:
  TableRows(MetricSink& sink, StepTracker& steps) : sink_(sink), steps_(steps) {}

  // A line of a table: its header, a rule or a row. True when it was one.
  bool Take(const LogLine& line);
  // Below a header, or inside a box.
  bool is_open() const { return reader_.is_open(); }

 private:
  MetricSink& sink_;
  StepTracker& steps_;
  TableReader reader_;
  TableRow row_;
};

}  // namespace vigil::textlog
