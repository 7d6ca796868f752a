#include "accuracy/tables.h"

#include <fmt/format.h>

#include <functional>

#include "accuracy/markdown.h"

namespace vigil::accuracy {
namespace {

using Key = std::function<std::string(const Outcome&)>;

std::string Delay(const Tally& tally) {
  const auto delay = tally.MedianDelay();
  return delay ? fmt::format("{}", *delay) : "-";
}

std::string Said(const Outcome& outcome) {
  Cells said;
  for (const model::Finding& finding : outcome.findings) {
    const std::string step = finding.first.known() ? fmt::format(" at {}", finding.first.value()) : "";
    said.push_back(fmt::format("{} ({}{})", finding.id, model::Name(finding.severity), step));
  }
  return said.empty() ? "nothing" : Join(said, ", ");
}

std::map<std::string, Tally> TallyBy(const std::vector<Outcome>& outcomes, const Key& key, Unread unread) {
  std::map<std::string, Tally> tallies;
  for (const Outcome& outcome : outcomes) tallies[key(outcome)].Add(outcome, unread);
  return tallies;
}

std::vector<Outcome> Only(const std::vector<Outcome>& outcomes, const std::function<bool(const Outcome&)>& wanted) {
  std::vector<Outcome> kept;
  for (const Outcome& outcome : outcomes) {
    if (wanted(outcome)) kept.push_back(outcome);
  }
  return kept;
}

std::string Headline(const std::vector<std::pair<std::string, Tally>>& tallies) {
  std::string table = Header({"runs", "right finding", "right cause first", "in a stated pair", "wrong cause",
                              "undecided", "no diagnosis", "missed", "not read", "false alarms", "only warned",
                              "healthy steps", "precision", "recall", "median delay"});
  for (const auto& [name, tally] : tallies) {
    table +=
        Row({name, Of(tally.found, tally.faulty), Of(tally.cause_right, tally.cause_labelled),
             fmt::format("{}", tally.cause_in_pair), fmt::format("{}", tally.cause_wrong),
             fmt::format("{}", tally.undecided), fmt::format("{}", tally.no_diagnosis),
             fmt::format("{}", tally.missed()), fmt::format("{}", tally.unread), Of(tally.false_alarms, tally.healthy),
             Of(tally.warned, tally.healthy), FormatCount(static_cast<std::uint64_t>(tally.healthy_steps)),
             Share(tally.Precision()), Share(tally.Recall()), Delay(tally)});
  }
  return table + "\n";
}

std::string Breakdown(const std::string& what, const std::vector<Outcome>& outcomes, const Key& key) {
  std::string table =
      Header({what, "right finding", "right cause first", "undecided", "false alarms", "not read", "median delay"});
  for (const auto& [name, tally] : TallyBy(outcomes, key, Unread::kMissed)) {
    table += Row({Cell(name), Of(tally.found, tally.faulty), Of(tally.cause_right, tally.cause_labelled),
                  fmt::format("{}", tally.undecided), Of(tally.false_alarms, tally.healthy),
                  fmt::format("{}", tally.unread), Delay(tally)});
  }
  return table + "\n";
}

Tally TallyOf(const std::vector<Outcome>& outcomes, Unread unread) {
  Tally tally;
  for (const Outcome& outcome : outcomes) tally.Add(outcome, unread);
  return tally;
}

bool Wrong(const Outcome& outcome) {
  return !outcome.read || outcome.disagrees() || (outcome.cause_labelled() && !outcome.cause_right());
}

std::string WrongAnswers(const std::vector<Outcome>& outcomes) {
  std::string table = Header({"run", "split", "wanted", "said", "cause wanted", "cause said"});
  std::size_t count = 0;
  for (const Outcome& outcome : outcomes) {
    if (!Wrong(outcome)) continue;
    ++count;
    table += Row({outcome.labelled.path, outcome.labelled.split, Cell(outcome.labelled.wanted),
                  outcome.read ? Cell(Said(outcome)) : Cell("not read: " + outcome.reason),
                  Join(outcome.labelled.causes, ", "), outcome.cause.empty() ? "-" : outcome.cause});
  }
  return count == 0 ? "None.\n\n" : table + "\n";
}

std::string CorpusBreakdown(const std::string& what, const std::vector<Outcome>& outcomes, const Key& key) {
  std::string table = Header({what, "files", "not read yet", "right finding", "false alarms", "only to be read"});
  for (const auto& [name, tally] : TallyBy(outcomes, key, Unread::kApart)) {
    table +=
        Row({Cell(name), fmt::format("{}", tally.cases), fmt::format("{}", tally.unread), Of(tally.found, tally.faulty),
             Of(tally.false_alarms, tally.healthy), fmt::format("{}", tally.only_read)});
  }
  return table + "\n";
}

std::string Disagreements(const std::vector<Outcome>& outcomes, const std::map<std::string, std::string>& readings) {
  std::string table = Header({"file", "label", "sure", "wanted", "said", "our reading"});
  std::size_t count = 0;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.disagrees()) continue;
    ++count;
    const auto reading = readings.find(outcome.labelled.path);
    table += Row({Cell(outcome.labelled.path), Cell(outcome.labelled.label), outcome.labelled.confidence,
                  Cell(outcome.labelled.wanted), Cell(Said(outcome)),
                  reading == readings.end() ? "not looked at yet" : Cell(reading->second)});
  }
  return count == 0 ? "None.\n" : table;
}

// A kind of which nothing was read has no reader yet; a single file that was not read is a gap of its reader.
std::string Gaps(const std::vector<Outcome>& outcomes) {
  const auto kind = [](const Outcome& outcome) { return outcome.labelled.group; };
  const auto tallies = TallyBy(outcomes, kind, Unread::kApart);
  std::string table = Header({"file", "label", "why not"});
  std::size_t count = 0;
  for (const Outcome& outcome : outcomes) {
    const Tally& tally = tallies.at(outcome.labelled.group);
    if (outcome.read || tally.unread == tally.cases) continue;
    ++count;
    table += Row({Cell(outcome.labelled.path), Cell(outcome.labelled.label), Cell(outcome.reason)});
  }
  return count == 0 ? "None.\n" : table;
}

}  // namespace

std::string FixtureTables(const std::vector<Outcome>& outcomes) {
  const auto scored = Only(outcomes, [](const Outcome& outcome) { return outcome.labelled.split == "score"; });
  const auto apart = Only(outcomes, [](const Outcome& outcome) { return outcome.labelled.split == kNeverTunedOn; });
  const auto tuned = Only(outcomes, [](const Outcome& outcome) {
    return outcome.labelled.split != "score" && outcome.labelled.split != kNeverTunedOn;
  });
  const auto fault = [](const Outcome& outcome) { return outcome.labelled.label; };
  const auto trainer = [](const Outcome& outcome) { return outcome.labelled.group; };
  const auto by_format = [](const Outcome& outcome) {
    return outcome.formats.empty() ? std::string("none") : Join(outcome.formats, " + ");
  };
  std::vector<std::pair<std::string, Tally>> rows;
  if (!apart.empty()) rows.emplace_back("never tuned on", TallyOf(apart, Unread::kMissed));
  rows.emplace_back("scored", TallyOf(scored, Unread::kMissed));
  rows.emplace_back("thresholds were chosen on", TallyOf(tuned, Unread::kMissed));
  std::string text = Headline(rows);
  if (!apart.empty()) {
    text += "### Runs never tuned on, by trainer\n\n" + Breakdown("trainer", apart, trainer);
    text += "### Runs never tuned on, by fault\n\n" + Breakdown("fault", apart, fault);
  }
  text += "### Scored runs by fault\n\n" + Breakdown("fault", scored, fault);
  text += "### Scored runs by trainer\n\n" + Breakdown("trainer", scored, trainer);
  text += "### Scored runs by the formats read\n\n" + Breakdown("formats", scored, by_format);
  text += "### Runs that thresholds were chosen on, by fault\n\n" + Breakdown("fault", tuned, fault);
  text += "### Every wrong answer\n\n" + WrongAnswers(outcomes);
  return text;
}

std::string HeldOutFrameworkTables(const std::vector<Outcome>& outcomes) {
  std::string text = "### Held out: framework, over runs of real trainers\n\n";
  text += Headline({{"each framework in turn", TallyOf(outcomes, Unread::kMissed)}});
  text += Breakdown("framework", outcomes, [](const Outcome& outcome) { return outcome.labelled.group; });
  text += Breakdown("fault", outcomes, [](const Outcome& outcome) { return outcome.labelled.label; });
  return text;
}

std::string MadeTables(const std::vector<Outcome>& outcomes) {
  std::string text = Headline({{"learned from", TallyOf(outcomes, Unread::kMissed)}});
  text += "### Runs learned from, by trainer\n\n";
  text += Breakdown("trainer", outcomes, [](const Outcome& outcome) { return outcome.labelled.group; });
  text += "### Runs learned from, by fault\n\n";
  text += Breakdown("fault", outcomes, [](const Outcome& outcome) { return outcome.labelled.label; });
  return text + "### Every wrong answer on a run learned from\n\n" + WrongAnswers(outcomes);
}

namespace {

// The same faults, as two kinds of files tell them.
std::string SideBySide(const std::vector<Outcome>& logs, const std::vector<Outcome>& journals) {
  const auto fault = [](const Outcome& outcome) { return outcome.labelled.label; };
  const auto by_log = TallyBy(logs, fault, Unread::kMissed);
  auto by_journal = TallyBy(journals, fault, Unread::kMissed);
  std::string table =
      Header({"fault", "log: right finding", "right cause first", "undecided", "false alarms", "median delay",
              "journal: right finding", "right cause first", "undecided", "false alarms", "median delay"});
  for (const auto& [name, log] : by_log) {
    Cells cells = {Cell(name)};
    for (const Tally* tally : {&log, static_cast<const Tally*>(&by_journal[name])}) {
      for (std::string& cell :
           Cells{Of(tally->found, tally->faulty), Of(tally->cause_right, tally->cause_labelled),
                 fmt::format("{}", tally->undecided), Of(tally->false_alarms, tally->healthy), Delay(*tally)})
        cells.push_back(std::move(cell));
    }
    table += Row(cells);
  }
  return table + "\n";
}

}  // namespace

std::string GymTables(const std::vector<Outcome>& outcomes) {
  const auto logs = Only(outcomes, [](const Outcome& outcome) { return outcome.labelled.group == "log"; });
  const auto journals = Only(outcomes, [](const Outcome& outcome) { return outcome.labelled.group == "journal"; });
  std::string text = Headline(
      {{"from the log", TallyOf(logs, Unread::kMissed)}, {"from the journal", TallyOf(journals, Unread::kMissed)}});
  text += "### By fault and strength\n\n" + SideBySide(logs, journals);
  return text + "### Every wrong answer on a run of the gym\n\n" + WrongAnswers(outcomes);
}

std::string CorpusTables(const std::vector<Outcome>& outcomes, const std::map<std::string, std::string>& readings) {
  const Tally all = TallyOf(outcomes, Unread::kApart);
  std::string text = Header({"files", "not read yet", "right finding", "missed", "false alarms", "only warned",
                             "healthy steps", "precision", "recall", "only to be read"});
  text += Row({fmt::format("{}", all.cases), fmt::format("{}", all.unread), Of(all.found, all.faulty),
               fmt::format("{}", all.missed()), Of(all.false_alarms, all.healthy), Of(all.warned, all.healthy),
               FormatCount(static_cast<std::uint64_t>(all.healthy_steps)), Share(all.Precision()), Share(all.Recall()),
               fmt::format("{}", all.only_read)}) +
          "\n";
  text += "### By kind\n\n";
  text += CorpusBreakdown("kind", outcomes, [](const Outcome& outcome) { return outcome.labelled.group; });
  text += "### By label\n\n";
  text += CorpusBreakdown("label", outcomes, [](const Outcome& outcome) { return outcome.labelled.label; });
  text += "### Disagreements\n\n" + Disagreements(outcomes, readings);
  text += "\n### Not read, though their kind has a reader\n\n" + Gaps(outcomes);
  return text;
}

}  // namespace vigil::accuracy
