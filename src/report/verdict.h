// The verdict of a run: its state, the headline, and the lines that are enough to act on. Every report shows the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/report.h"

namespace vigil::report {

// How a run looks at first sight. Unknown: too little was logged to judge it.
enum class State : std::uint8_t { kHealthy, kUnknown, kWarning, kFailing };
inline constexpr std::size_t kStateCount = 4;
std::string_view Name(State state);  // "healthy", "unknown", "warning", "failing"

enum class LineKind : std::uint8_t {
  kCause,
  kDecide,
  kChange,
  kDo,
  kRestart,
  kCost,
  kBecause,
  kMeans,
  kEnds,
  kJudgedOn,
  kNotChecked,
  kDamaged,
  kBaseline
};
std::string_view Label(LineKind kind);
// Whether the line says what to do.
bool IsAction(LineKind kind);

struct VerdictLine {
  LineKind kind = LineKind::kCause;
  std::string text;
};

// The lines that are enough to act on.
struct Verdict {
  State state = State::kHealthy;
  std::string headline;
  std::vector<VerdictLine> lines;

  // The text of the first line of that kind, empty when there is none.
  std::string_view Find(LineKind kind) const;
};

Verdict VerdictOf(const model::RunReport& run);
// The lines of one diagnosis: cause, change, restart, cost, because, and what would decide.
std::vector<VerdictLine> LinesOf(const model::RunReport& run, const model::Diagnosis& diagnosis);
// What the diagnosis is about: what its root finding says. People think of the loss: where it goes bad at the same
// position as the gradient norm, it is the one named.
std::string HeadlineOf(const model::RunReport& run, const model::Diagnosis& diagnosis);
// Whether anything speaks for or against it, or was missed.
bool HasReasons(const model::Diagnosis& diagnosis);
// The series worth a plot, most important first: the loss or, in RL, the reward; the gradient norm; what the findings
// are about.
std::vector<const model::Series*> KeySeries(const model::RunReport& run, std::size_t most);
model::Severity WorstOf(const model::RunReport& run);
// Indices of the runs, those that need attention first; equals keep their order.
std::vector<std::size_t> WorstFirst(const model::Report& report);

}  // namespace vigil::report
