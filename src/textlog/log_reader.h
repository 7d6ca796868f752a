// The reader of log text: bytes to lines (LineSplitter), lines that may matter (LineWalker), and what each of them
// means (LineParsers).
#pragma once

#include <cstdint>
#include <string_view>

#include "ingest/ingest.h"
#include "textlog/hints.h"
#include "textlog/line_parsers.h"
#include "textlog/line_splitter.h"
#include "textlog/line_walker.h"
#include "textlog/log_state.h"

namespace vigil::textlog {

class LogReader final : public ingest::Reader {
 public:
  struct Options {
    bool use_hints = true;  // false: look at every line for everything, from scratch (the slow twin, for tests)
  };

  explicit LogReader(ingest::PartBuilder& builder) : LogReader(builder, Options{}) {}
  LogReader(ingest::PartBuilder& builder, const Options& options);

  ingest::Growth growth() const override;
  std::size_t Consume(std::string_view bytes, bool last) override;
  void Settle(bool paused) override;
  bool waits() const override { return state_.dicts.waits(); }

  // Longer lines are cut to this length.
  static constexpr std::size_t kLongestLine = LineSplitter::kLongestLine;

 private:
  void Finish();
  void NameFramework();
  void SettleEvents();
  std::optional<model::StepAt> PlannedSteps() const;

  ingest::PartBuilder& builder_;
  HintScanner scanner_;
  LogState state_;
  LineParsers parsers_;
  LineSplitter splitter_;
  LineWalker walker_;
  bool framework_is_named_ = false;  // by the lines, and not by a setting
};

}  // namespace vigil::textlog
