#include "report/texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base.h"
#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "report/report.h"
#include "report/sentence.h"
#include "report/words.h"

namespace vigil::report {
namespace {

std::vector<std::string> Sentences(const std::vector<model::Statement>& statements) {
  std::vector<std::string> sentences;
  sentences.reserve(statements.size());
  for (const model::Statement& statement : statements) sentences.push_back(Sentence(statement));
  return sentences;
}

std::string WithRange(const std::string& text, model::PositionRange range) {
  return fmt::format("{} ({})", text, RangeText(range));
}

// "train.log:88"; the file alone where the line is not known.
std::string FileText(const std::string& path, std::uint32_t line) {
  return line == 0 ? OneLine(path) : fmt::format("{}:{}", OneLine(path), line);
}

// The cause and what speaks for it most. The rivals are lines of their own.
std::string SummaryOfParts(const model::Diagnosis& diagnosis) {
  std::string cause = CauseTitle(diagnosis.cause);
  if (diagnosis.supporting.empty()) return cause;
  return fmt::format("{}: {}", cause, EvidenceText(diagnosis.supporting.front()));
}

}  // namespace

std::string MessageText(const model::Finding& finding) {
  std::string message = Sentence(finding.says);
  if (!message.empty()) return message;
  const catalogue::FindingRow* row = catalogue::FindFinding(finding.id);
  return row == nullptr ? finding.id : std::string(row->title);
}

std::string HeadlineText(const model::Finding& finding) {
  const std::string message = OneLine(MessageText(finding));
  const bool mentioned = !finding.first.known() || Mentions(finding.says, finding.first);
  return mentioned ? message : WithRange(message, {finding.first, finding.last});
}

std::string EvidenceText(const model::Evidence& evidence) { return Sentence(evidence.says); }

std::string PlaceText(const model::Evidence& evidence) {
  std::vector<std::string> parts;
  const model::Position at = evidence.at;
  if (at.known() && !Mentions(evidence.says, at)) parts.push_back(PositionText(at));
  if (std::string file = FilePlaceText(evidence); !file.empty()) parts.push_back(std::move(file));
  return Join(parts, ", ");
}

std::string FilePlaceText(const model::Evidence& evidence) {
  if (!evidence.path.empty()) return FileText(evidence.path, evidence.line);
  const model::Quote* quote = QuoteIn(evidence.says);
  return quote == nullptr || quote->path.empty() ? std::string() : FileText(quote->path, quote->line);
}

std::vector<model::Evidence> WithoutRepeats(const std::vector<model::Evidence>& evidence) {
  std::vector<model::Evidence> kept;
  for (const model::Evidence& one : evidence) {
    const bool known = std::any_of(kept.begin(), kept.end(),
                                   [&](const model::Evidence& other) { return SameStatement(other.says, one.says); });
    if (!known) kept.push_back(one);
  }
  return kept;
}

bool Repeats(const model::Evidence& evidence, const model::Finding& finding) {
  return SameStatement(evidence.says, finding.says);
}

std::string SummaryText(const model::Diagnosis& diagnosis) {
  std::string summary = Sentence(diagnosis.summary);
  return summary.empty() ? SummaryOfParts(diagnosis) : summary;
}

std::string SummaryHeadline(const model::Diagnosis& diagnosis) {
  const std::string summary = OneLine(SummaryText(diagnosis));
  const model::Position first = diagnosis.first;
  const bool mentioned = !first.known() || Mentions(diagnosis.summary, first);
  return mentioned ? summary : WithRange(summary, {first, diagnosis.last});
}

std::string NextText(const model::Diagnosis& diagnosis) { return Sentence(diagnosis.next); }

std::string RestartText(const model::Diagnosis& diagnosis) { return Sentence(diagnosis.restart); }

std::string CostText(const model::Cost& cost) {
  std::vector<std::string> parts;
  if (!model::IsNoValue(cost.steps))
    parts.push_back(fmt::format("{:.0f} step{}", cost.steps, cost.steps == 1 ? "" : "s"));
  if (!model::IsNoValue(cost.hours)) parts.push_back(fmt::format("{:.3g} hours", cost.hours));
  if (!model::IsNoValue(cost.gpu_hours)) parts.push_back(fmt::format("{:.3g} GPU-hours", cost.gpu_hours));
  const std::string money = model::IsNoValue(cost.money) ? std::string() : fmt::format(" ({:.2f})", cost.money);
  return Join(parts, ", ") + money;
}

std::vector<std::string> MissingTexts(const model::Diagnosis& diagnosis) { return Sentences(diagnosis.missing); }

std::string DecideText(const model::Diagnosis& diagnosis) {
  const std::vector<model::Rival>& rivals = diagnosis.rivals;
  return rivals.empty() || rivals.front().tell_apart.empty() ? std::string() : Sentence(rivals.front().tell_apart);
}

std::vector<std::string> RivalTexts(const model::Diagnosis& diagnosis) {
  std::vector<std::string> texts;
  const bool undecided = diagnosis.cause == kUndecided;
  for (const model::Rival& rival : diagnosis.rivals) {
    // What is undecided shows its summary as the cause, with the rivals that it names.
    if (undecided && MentionsName(diagnosis.summary, rival.cause)) continue;
    std::string text = fmt::format("not excluded: {} ({}, {})", CauseTitle(rival.cause), OneLine(rival.cause),
                                   Percent(rival.confidence));
    if ((undecided || !texts.empty()) && !rival.tell_apart.empty()) text += ": " + OneLine(Sentence(rival.tell_apart));
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string SkipText(const model::Diagnosis& diagnosis) { return Sentence(diagnosis.skip); }

namespace {

bool SpeaksOf(const std::vector<NextOutcome>& outcomes, const std::string& cause) {
  return std::any_of(outcomes.begin(), outcomes.end(), [&](const NextOutcome& outcome) {
    return std::find(outcome.causes.begin(), outcome.causes.end(), cause) != outcome.causes.end();
  });
}

}  // namespace

std::vector<NextOutcome> NextOutcomes(const model::Diagnosis& diagnosis) {
  std::vector<NextOutcome> outcomes;
  const catalogue::NextRow* row = catalogue::FindNextCommand(diagnosis.next_command.id);
  if (row == nullptr || diagnosis.next_command.command.empty()) return outcomes;
  for (const catalogue::OutcomeRow& outcome : row->outcomes)
    outcomes.push_back(
        {std::string(outcome.seen), std::string(outcome.means), {outcome.causes.begin(), outcome.causes.end()}});
  for (const model::Rival& rival : diagnosis.rivals) {
    if (rival.tell_apart.empty() || SpeaksOf(outcomes, rival.cause)) continue;
    outcomes.push_back(
        {fmt::format("this leaves {} open", rival.cause), OneLine(Sentence(rival.tell_apart)), {rival.cause}});
  }
  return outcomes;
}

std::string NextFirstText(const model::Diagnosis& diagnosis) { return Sentence(diagnosis.next_command.first); }

std::string RemedyTitle(const model::Remedy& remedy) {
  if (const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id)) return std::string(row->title);
  const catalogue::SignatureRow* message = catalogue::FindSignature(remedy.id);
  if (message == nullptr) return remedy.id;
  // Advice on a message has no title: its first clause says what to do.
  const std::string_view fix = message->fix;
  return std::string(fix.substr(0, fix.find_first_of(".;:")));
}

std::string RemedyReason(const model::Remedy& remedy) { return Sentence(remedy.reason); }

std::string RemedyEffect(const model::Remedy& remedy) { return Sentence(remedy.effect); }

std::string RemedyText(const model::Remedy& remedy) {
  if (const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id)) return std::string(row->text);
  // A known message carries its own advice.
  const catalogue::SignatureRow* message = catalogue::FindSignature(remedy.id);
  return message == nullptr ? remedy.id : std::string(message->fix);
}

std::string ProposedText(const model::Remedy& remedy) {
  return remedy.proposed.empty() ? Sentence(remedy.proposed_in_words) : remedy.proposed;
}

// "; gradient_accumulation_steps: 4 -> 8", for all that changes with it.
std::string AlsoText(const model::Remedy& remedy) {
  std::string text;
  for (const model::SettingChange& also : remedy.also) {
    const std::string current = also.current.empty() ? std::string() : OneLine(also.current) + " -> ";
    text += fmt::format("; {}: {}{}", OneLine(also.setting), current, OneLine(also.proposed));
  }
  return text;
}

std::string ChangeText(const model::Remedy& remedy) {
  const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id);
  if (remedy.setting.empty()) return OneLine(row == nullptr ? RemedyText(remedy) : row->title);
  if (!remedy.code.empty() && ProposedText(remedy).empty())
    return fmt::format("{}: {}", OneLine(RemedyTitle(remedy)), OneLine(remedy.code));
  const std::string setting = OneLine(remedy.setting);
  const std::string current = OneLine(remedy.current);
  const std::string proposed = OneLine(ProposedText(remedy));
  std::string change = proposed.empty()  ? fmt::format("{}: {}", setting, OneLine(RemedyText(remedy)))
                       : current.empty() ? fmt::format("{}: {}", setting, proposed)
                                         : fmt::format("{}: {} -> {}", setting, current, proposed);
  change += AlsoText(remedy);
  const std::string where = OneLine(remedy.file.empty() ? remedy.framework : remedy.file);
  return where.empty() || where == "*" ? change : fmt::format("{} ({})", change, where);
}

std::string EventText(const model::Event& event) { return event.says.empty() ? event.text : Sentence(event.says); }

std::string WhyUnread(const model::Unread& unread) {
  const std::string notes = Join(Sentences(unread.notes), "; ");
  return notes.empty() ? unread.reason : fmt::format("{}: {}", unread.reason, notes);
}

std::string NoteText(const model::Source& source) {
  std::vector<std::string> notes = Sentences(source.notes);
  if (!source.duplicate_of.empty()) notes.push_back(Sentence(says::SourceDuplicate{.path = source.duplicate_of}));
  return Join(notes, "; ");
}

std::string ReasonText(const model::Coverage& coverage) { return Sentence(coverage.reason); }

std::string EnableText(const model::Coverage& coverage) { return Sentence(coverage.enable); }

std::string NotCheckedText(const model::RunReport& run) {
  std::vector<std::string> families;
  for (const model::Coverage& coverage : run.coverage) {
    if (coverage.state == model::CoverageState::kBlind) families.emplace_back(model::Name(coverage.family));
  }
  return Join(families, ", ");
}

}  // namespace vigil::report
