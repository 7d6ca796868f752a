// The parts of findings and diagnoses as text: each statement rendered, with what stands beside it as data. Texts may
// hold anything that stood in a file: a caller that shows them cleans them (OneLine).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/report.h"

namespace vigil::report {

// What the finding says; the title of its row where it says nothing.
std::string MessageText(const model::Finding& finding);
// The same in one line, with its positions in brackets where the statement does not mention them.
std::string HeadlineText(const model::Finding& finding);
std::string EvidenceText(const model::Evidence& evidence);
// "step 412, train.log:88": what is known of the place and not said in the text; empty when nothing is.
std::string PlaceText(const model::Evidence& evidence);
// "train.log:88": the file and line it rests on, from the evidence or from what it quotes; empty when it names none.
std::string FilePlaceText(const model::Evidence& evidence);
// Two tests may rest on one observation: it is shown once.
std::vector<model::Evidence> WithoutRepeats(const std::vector<model::Evidence>& evidence);
// Whether the evidence only repeats the finding.
bool Repeats(const model::Evidence& evidence, const model::Finding& finding);

// The cause and the strongest evidence where the diagnosis has no summary of its own.
std::string SummaryText(const model::Diagnosis& diagnosis);
// The summary in one line, with the positions of the incident where it does not mention them.
std::string SummaryHeadline(const model::Diagnosis& diagnosis);
std::string NextText(const model::Diagnosis& diagnosis);
// Where to go on from, and which data to leave out.
std::string RestartText(const model::Diagnosis& diagnosis);
std::string SkipText(const model::Diagnosis& diagnosis);
// What an outcome of the next command would mean, and the causes that it speaks for.
struct NextOutcome {
  std::string seen;
  std::string means;
  std::vector<std::string> causes;
};
// Those of its row; and for each rival that none of them speaks of, what would decide about it.
std::vector<NextOutcome> NextOutcomes(const model::Diagnosis& diagnosis);
// What to do before the next command.
std::string NextFirstText(const model::Diagnosis& diagnosis);
// "1200 steps, 3.2 hours, 25.6 GPU-hours (51.20)"; empty when nothing of it is known.
std::string CostText(const model::Cost& cost);
std::vector<std::string> MissingTexts(const model::Diagnosis& diagnosis);
// What would decide between the cause and its first rival; empty when nothing is known to.
std::string DecideText(const model::Diagnosis& diagnosis);
// A line for each cause that is not excluded, with what would decide where DecideText does not say it.
std::vector<std::string> RivalTexts(const model::Diagnosis& diagnosis);

// "Lower the learning rate"; the first words of the advice where it is that of a message.
std::string RemedyTitle(const model::Remedy& remedy);
// Why it helps, and what it should change in the curve; empty where nothing is said.
std::string RemedyReason(const model::Remedy& remedy);
std::string RemedyEffect(const model::Remedy& remedy);
// What to do: the remedy's own text, or that of its row.
std::string RemedyText(const model::Remedy& remedy);
// The value to set, or words for it; empty when the remedy has none.
std::string ProposedText(const model::Remedy& remedy);
// "learning_rate: 0.003 -> 0.001 (TrainingArguments)", or the remedy's title when it names no setting.
std::string ChangeText(const model::Remedy& remedy);

std::string ReasonText(const model::Coverage& coverage);
std::string EnableText(const model::Coverage& coverage);
// The families that could not be checked, "memory, hang"; empty when everything was.
std::string NotCheckedText(const model::RunReport& run);

}  // namespace vigil::report
