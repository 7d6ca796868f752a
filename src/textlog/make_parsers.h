// One function for each kind of line: the parser of it.
#pragma once

#include <memory>

#include "textlog/line_parsers.h"

namespace vigil::textlog {

// Rows of metrics.
std::unique_ptr<LineParser> MakeTableRowParser(LogState& state);
std::unique_ptr<LineParser> MakeTableHeaderParser(LogState& state);
std::unique_ptr<LineParser> MakeProgressBarParser(LogState& state);
std::unique_ptr<LineParser> MakeTimerParser(LogState& state);
std::unique_ptr<LineParser> MakeDictParser(LogState& state);
std::unique_ptr<LineParser> MakeResultParser(LogState& state);
std::unique_ptr<LineParser> MakeBlockLineParser(LogState& state);
std::unique_ptr<LineParser> MakeEvaluationBlockParser(LogState& state);
std::unique_ptr<LineParser> MakeBulletParser(LogState& state);
std::unique_ptr<LineParser> MakeSplitTableParser(LogState& state);
std::unique_ptr<LineParser> MakeKnownShapeParser(LogState& state);
std::unique_ptr<LineParser> MakeMetricLineParser(LogState& state);
std::unique_ptr<LineParser> MakeEpochHeaderParser(LogState& state);
std::unique_ptr<LineParser> MakeBlockHeaderParser(LogState& state);
std::unique_ptr<LineParser> MakeMemoryReportParser(LogState& state);
std::unique_ptr<LineParser> MakeEpochBlockParser(LogState& state);
std::unique_ptr<LineParser> MakeLoneScoreParser(LogState& state);
std::unique_ptr<LineParser> MakeRepeatedLineParser(LogState& state);
std::unique_ptr<LineParser> MakePlainRowParser(LogState& state);
std::unique_ptr<LineParser> MakeLossScaleParser(LogState& state);

// Events and settings.
std::unique_ptr<LineParser> MakeTracebackParser(LogState& state);
std::unique_ptr<LineParser> MakeSettingsParser(LogState& state);
std::unique_ptr<LineParser> MakeFailureParser(LogState& state);
std::unique_ptr<LineParser> MakeNanHiderParser(LogState& state);
std::unique_ptr<LineParser> MakeNoticeParser(LogState& state);
std::unique_ptr<LineParser> MakeSignatureParser(LogState& state);

}  // namespace vigil::textlog
