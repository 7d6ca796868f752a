// What the reports say, in words. Text and HTML take their sentences from here, so that both say the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace vigil::report {

// How a run looks at first sight.
enum class Outlook : std::uint8_t { kHealthy, kUnjudged, kSuspect, kSick };

struct VerdictLine {
  std::string_view label;  // cause, because, decide, change or do, restart; means, unseen, damaged
  std::string text;
};

// The lines that are enough to act on.
struct Verdict {
  Outlook outlook = Outlook::kHealthy;
  std::string headline;
  std::vector<VerdictLine> lines;
};

// The steps that a run's series cover. `logged` counts the points of the longest series.
struct StepSpan {
  std::int64_t first = model::kNoStep;
  std::int64_t last = model::kNoStep;
  std::uint64_t logged = 0;
};

// Text from a file as one line of at most 2,000 bytes: no control characters, line breaks and tabs as blanks, valid
// UTF-8.
std::string OneLine(std::string_view text);

Verdict VerdictOf(const model::RunReport& run);
// The lines of one diagnosis: cause, because, change, restart (or what would decide).
std::vector<VerdictLine> LinesOf(const model::RunReport& run, const model::Diagnosis& diagnosis);
// What the diagnosis is about: the message of its root finding. People think of the loss: where it goes bad at the same
// step as the gradient norm, it is the one named.
std::string HeadlineOf(const model::RunReport& run, const model::Diagnosis& diagnosis);
// Whether anything speaks for or against it, or was missed.
bool HasReasons(const model::Diagnosis& diagnosis);
// The series worth a plot in a terminal, most telling first: the loss or, in RL, the reward; the gradient norm; what
// the findings are about.
std::vector<const model::Series*> TellingSeries(const model::RunReport& run, std::size_t most);
StepSpan SpanOf(const model::Run& run);
model::Severity WorstOf(const model::RunReport& run);

// "learning rate too high"; "cannot tell" when the evidence does not decide; the id when no row has it.
std::string CauseTitle(std::string_view cause);
std::string Percent(double share);
// "step 412", "steps 398-411", empty without a step.
std::string StepText(std::int64_t first, std::int64_t last);
// "learning_rate: 0.003 -> 0.001 (TrainingArguments)", or the remedy's title when it names no setting.
std::string ChangeText(const model::Remedy& remedy);
// "loss 3.2 -> 1.1", from the first signal of progress that was logged; empty when there is none.
std::string ProgressText(const model::Run& run);
// "step 412, train.log:88", what is known of it and not said in its text; empty when nothing is.
std::string PlaceText(const model::Evidence& evidence);
// What the summary says beyond the cause and the first piece of evidence, which stand elsewhere; empty when nothing.
std::string RemarkOf(const model::Diagnosis& diagnosis);
// Two tests may rest on one observation: it is said once.
std::vector<model::Evidence> WithoutRepeats(const std::vector<model::Evidence>& evidence);
// The families that could not be checked, in a line; empty when everything was.
std::string BlindText(const model::RunReport& run);
// "layer=12 rank=0", empty without labels.
std::string LabelText(const model::Labels& labels);

std::string_view Name(model::SourceState state);
std::string_view Name(model::CoverageState state);

// Indices of the runs, those that need attention first; equals keep their order.
std::vector<std::size_t> WorstFirst(const model::Report& report);

}  // namespace vigil::report
