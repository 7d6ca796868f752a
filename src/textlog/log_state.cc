#include "textlog/log_state.h"

namespace vigil::textlog {
namespace {

// A line of many metrics takes some thousand characters; longer ones quote something else.
constexpr std::size_t kLongestMetricLine = 16384;

}  // namespace

bool LogState::Parse(LogLine& line) {
  if (line.parse == LogLine::Parse::kNotTried) {
    const bool done = line.text.size() <= kLongestMetricLine && ParseMetricLine(line.text, line.cut, parsed);
    line.parse = done ? LogLine::Parse::kDone : LogLine::Parse::kFailed;
  }
  return line.parse == LogLine::Parse::kDone;
}

void LogState::ObserveBar(const ProgressBar& progress) {
  if (!dicts.ObserveBar(progress)) return;
  steps.Observe(progress.count, model::Axis::kStep);
  events.ObserveBar(progress.count);
}

}  // namespace vigil::textlog
