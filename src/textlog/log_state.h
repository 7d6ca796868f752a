// What the line parsers of one log share: where rows, steps and events go, and what one parser learns for another.
#pragma once

#include <cstdint>

#include "ingest/ingest.h"
#include "textlog/dict_steps.h"
#include "textlog/event_log.h"
#include "textlog/known_shapes.h"
#include "textlog/log_line.h"
#include "textlog/metric_line.h"
#include "textlog/metric_sink.h"
#include "textlog/progress_bar.h"
#include "textlog/repeated_lines.h"
#include "textlog/signature_events.h"
#include "textlog/step_tracker.h"
#include "textlog/table_rows.h"

namespace vigil::textlog {

struct LogState {
  // Without hints every line is looked at for everything, and none is read by its shape: slower, with the same result.
  LogState(ingest::PartBuilder& part_builder, bool with_hints)
      : builder(part_builder),
        use_hints(with_hints),
        sink(part_builder),
        shapes(sink, steps, with_hints),
        repeated(sink, steps, shapes),
        tables(sink, steps),
        events(part_builder),
        signatures(events, with_hints) {}

  ingest::PartBuilder& builder;
  bool use_hints;
  MetricSink sink;
  StepTracker steps;
  KnownShapes shapes;
  RepeatedLines repeated;
  TableRows tables;
  EventLog events;
  SignatureEvents signatures;
  DictSteps dicts;
  std::int64_t block_step = -1;  // of the block whose lines follow, -1 outside one
  bool block_is_flat = false;    // its lines are not indented
  bool in_evaluation = false;    // "Eval begin..." came, and no other epoch since
  MetricLine parsed;             // the line at hand, once Parse was called
  bool is_plain = false;         // rows are lines without any word to find them by

  // Takes the line apart into `parsed`, the first time it is called for the line. True when it names a step or epoch
  // beside other numbers.
  bool Parse(LogLine& line);
  // Where an event of the line stands.
  EventLog::Place Here(const LogLine& line, std::int32_t rank) const {
    return {steps.latest(), steps.axis(), line.offset, line.number, rank};
  }
  // A bar was drawn; counts when it is the training's.
  void ObserveBar(const ProgressBar& progress);
  bool has_series() const { return !builder.part().series.empty(); }
  // Rows without any word to find them by are looked for at the beginning of a log, while no loss was found.
  bool LooksForPlainRows(std::uint64_t offset) const {
    return is_plain || (offset < kPlainBytes && !(has_series() && sink.table().HasOpenLoss()));
  }

  static constexpr std::uint64_t kPlainBytes = std::uint64_t{64} << 10U;
};

}  // namespace vigil::textlog
