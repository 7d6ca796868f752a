#include "accuracy/scale_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "accuracy/markdown.h"
#include "base/base.h"

namespace vigil::accuracy {
namespace {

using scale::Asked;
using scale::Judged;
using scale::Tally;

constexpr double kStepsOfRate = 100'000;

// Behind the column of names.
Cells Columns() {
  return {"found",
          "cause first",
          "in a stated pair",
          "wrong cause",
          "unknown",
          "no diagnosis",
          "false errors of healthy runs",
          "per 100,000 healthy steps"};
}

std::string Rate(const Tally& tally) {
  if (tally.healthy_steps == 0) return "-";
  return fmt::format("{:.1f}", kStepsOfRate * tally.healthy_errors / static_cast<double>(tally.healthy_steps));
}

std::string Percent(int part, int whole) { return whole == 0 ? "-" : fmt::format("{:.1f}%", 100.0 * part / whole); }

Cells CellsOf(const std::string& name, const Tally& tally) {
  return {Cell(name),
          ShareOf(tally.found, tally.fatal),
          ShareOf(tally.cause_right, tally.causes),
          Percent(tally.cause_in_pair, tally.causes),
          Percent(tally.cause_wrong, tally.causes),
          Percent(tally.cause_unknown, tally.causes),
          Percent(tally.cause_none, tally.causes),
          ShareOf(tally.healthy_errors, tally.healthy),
          Rate(tally)};
}

Cells Named(const std::string& what, const Cells& columns) {
  Cells names = {what};
  names.insert(names.end(), columns.begin(), columns.end());
  return names;
}

Tally TallyOf(const std::vector<Judged>& judged) {
  Tally tally;
  for (const Judged& run : judged) tally.Add(run.score);
  return tally;
}

using Key = std::function<std::string(const Judged&)>;

std::map<std::string, Tally> TallyBy(const std::vector<Judged>& judged, const Key& key) {
  std::map<std::string, Tally> tallies;
  for (const Judged& run : judged) tallies[key(run)].Add(run.score);
  return tallies;
}

std::string Quantile(const std::vector<std::int64_t>& values, double share) {
  const auto value = scale::QuantileOf(values, share);
  return value ? fmt::format("{}", *value) : "-";
}

std::string Breakdown(const std::string& what, const std::vector<Judged>& judged, const Key& key) {
  std::string table = Header(Named(what, Columns()));
  for (const auto& [name, tally] : TallyBy(judged, key)) {
    if (tally.fatal + tally.healthy > 0) table += Row(CellsOf(name, tally));
  }
  return table + "\n";
}

// Faults have no healthy runs; what counts there is how many runs there are of each class, and the delay.
std::string ByFault(const std::vector<Judged>& judged) {
  std::string table = Header({"fault", "found", "cause first", "in a stated pair", "wrong cause", "unknown",
                              "no diagnosis", "weak found", "harmless with an error", "median delay", "9 in 10 below"});
  for (const auto& [name, tally] : TallyBy(judged, [](const Judged& run) { return run.record->label.fault; })) {
    if (tally.fatal + tally.weak + tally.harmless == 0) continue;
    table += Row({Cell(name), Of(tally.found, tally.fatal), Of(tally.cause_right, tally.causes),
                  fmt::format("{}", tally.cause_in_pair), fmt::format("{}", tally.cause_wrong),
                  fmt::format("{}", tally.cause_unknown), fmt::format("{}", tally.cause_none),
                  Of(tally.weak_found, tally.weak), Of(tally.harmless_errors, tally.harmless),
                  Quantile(tally.delays, 0.5), Quantile(tally.delays, 0.9)});
  }
  return table + "\n";
}

std::string FalseErrors(const Tally& tally) {
  if (tally.healthy_error_ids.empty()) return "None.\n\n";
  std::string table = Header({"finding", "healthy runs with it at `error` or above"});
  std::vector<std::pair<int, std::string>> sorted;
  sorted.reserve(tally.healthy_error_ids.size());
  for (const auto& [id, count] : tally.healthy_error_ids) sorted.emplace_back(-count, id);
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [count, id] : sorted) table += Row({Cell(id), fmt::format("{}", -count)});
  return table + "\n";
}

std::string ClassTable(const Tally& tally) {
  std::string table = Header({"runs", "asked", "answer"});
  const auto row = [&](const std::string& runs, int count, const std::string& asked, const std::string& answer) {
    table += Row({fmt::format("{} ({})", runs, FormatCount(static_cast<std::uint64_t>(count))), asked, answer});
  };
  row("fatal", tally.fatal, "must be found",
      "found " + ShareOf(tally.found, tally.fatal) + ", any error " + ShareOf(tally.fatal_with_error, tally.fatal));
  row("weak", tally.weak, "either way", "found " + ShareOf(tally.weak_found, tally.weak));
  row("harmless", tally.harmless, "no error",
      "error " + ShareOf(tally.harmless_errors, tally.harmless) + ", found " +
          ShareOf(tally.harmless_found, tally.harmless));
  row("healthy", tally.healthy, "no error",
      "error " + ShareOf(tally.healthy_errors, tally.healthy) + ", only warned " +
          ShareOf(tally.healthy_warned, tally.healthy));
  row("interrupted by the user", tally.interrupted, "found",
      "found " + ShareOf(tally.interrupted_found, tally.interrupted));
  row("left out", tally.left_out, "nothing", "-");
  return table + "\n";
}

// ---- recall

struct Recall {
  int runs = 0;
  int found = 0;
  void Add(const Judged& run) {
    ++runs;
    found += run.score.is_found ? 1 : 0;
  }
};

bool HasFault(const Judged& run) {
  return run.score.asked == Asked::kFinding || run.score.asked == Asked::kEitherWay ||
         run.score.asked == Asked::kNoError;
}

std::string ByStrength(const std::vector<Judged>& judged) {
  std::map<std::string, std::map<int, Recall>> faults;
  int most = 0;
  for (const Judged& run : judged) {
    if (!HasFault(run)) continue;
    faults[run.record->label.fault][run.record->label.level].Add(run);
    most = std::max(most, run.record->label.levels);
  }
  Cells names = {"fault"};
  for (int level = 1; level <= most; ++level) names.push_back(fmt::format("level {}", level));
  std::string table = Header(names);
  for (auto& [name, levels] : faults) {
    Cells cells = {Cell(name)};
    for (int level = 0; level < most; ++level) cells.push_back(Of(levels[level].found, levels[level].runs));
    table += Row(cells);
  }
  return table + "\n";
}

std::string ByLoss(const std::vector<Judged>& judged) {
  constexpr std::array<double, 6> kBounds = {0.1, 0.25, 0.5, 0.75, 0.95, 10};
  constexpr std::array<std::string_view, 6> kNames = {"below 10%",  "10% to 25%", "25% to 50%",
                                                      "50% to 75%", "75% to 95%", "95% and more"};
  std::array<Recall, kBounds.size()> recalls = {};
  for (const Judged& run : judged) {
    if (!HasFault(run) || !run.record->label.recovered) continue;
    std::size_t at = 0;
    while (at + 1 < kBounds.size() && *run.record->label.recovered >= kBounds[at]) ++at;
    recalls[at].Add(run);
  }
  std::string table = Header({"progress, as a share of the twin's", "found"});
  for (std::size_t i = 0; i < recalls.size(); ++i)
    table += Row({std::string(kNames[i]), ShareOf(recalls[i].found, recalls[i].runs)});
  return table + "\n";
}

// ---- ahead of the harm

std::string LeadTable(const std::vector<Judged>& judged) {
  struct Leads {
    int runs = 0;
    int announced = 0;
    int early = 0;
    std::vector<std::int64_t> steps;
  };
  std::map<std::string, Leads> faults;
  for (const Judged& run : judged) {
    if (!run.lead) continue;
    for (Leads* leads : {&faults["all"], &faults["fault " + run.record->label.fault]}) {
      ++leads->runs;
      leads->announced += run.lead->first_warning ? 1 : 0;
      leads->early += run.lead->steps() >= scale::kSlowSteps ? 1 : 0;
      leads->steps.push_back(run.lead->steps());
    }
  }
  if (faults.empty()) return "No run of the set has such a fault.\n\n";
  std::string table = Header({"runs", "warned before", "50 steps before or earlier", "median lead in steps"});
  for (const auto& [name, leads] : faults)
    table += Row({Cell(name), ShareOf(leads.announced, leads.runs), ShareOf(leads.early, leads.runs),
                  Quantile(leads.steps, 0.5)});
  return table + "\n";
}

// A warning that healthy runs have as often announces nothing.
std::string ChanceLine(const std::vector<Judged>& judged) {
  int runs = 0;
  int warned = 0;
  for (const Judged& run : judged) {
    runs += run.warns_by_chance ? 1 : 0;
    warned += run.warns_by_chance.value_or(false) ? 1 : 0;
  }
  return fmt::format("Healthy runs, each tenth, with a warning at any of as many looks: {}.\n\n",
                     ShareOf(warned, runs));
}

// ---- others

std::string PeerRow(const std::vector<Judged>& judged, const std::string& name,
                    const std::function<bool(const Judged&)>& fires,
                    const std::function<bool(const Judged&)>& applies) {
  Tally counted;
  int fired_on_fatal = 0;
  int fired_on_healthy = 0;
  int apply = 0;
  for (const Judged& run : judged) {
    if (run.score.asked != Asked::kFinding && run.score.asked != Asked::kSilence) continue;
    counted.Add(run.score);
    apply += applies(run) ? 1 : 0;
    if (!fires(run)) continue;
    ++(run.score.asked == Asked::kFinding ? fired_on_fatal : fired_on_healthy);
  }
  const double steps = static_cast<double>(std::max<std::int64_t>(counted.healthy_steps, 1));
  return Row({name, ShareOf(fired_on_fatal, counted.fatal), ShareOf(fired_on_healthy, counted.healthy),
              fmt::format("{:.1f}", kStepsOfRate * fired_on_healthy / steps),
              Percent(apply, counted.fatal + counted.healthy)});
}

std::string PeerTable(const std::vector<Judged>& judged) {
  std::string table = Header({"rule", "fires on fatal runs", "fires on healthy runs", "per 100,000 healthy steps",
                              "runs with the series that it needs"});
  const auto always = [](const Judged&) { return true; };
  table += PeerRow(judged, "**vigil**, error or fatal", [](const Judged& run) { return run.score.has_error; }, always);
  table += PeerRow(
      judged, "**vigil**, warning or above",
      [](const Judged& run) { return run.score.has_error || run.score.has_warning; }, always);
  const auto rules = scale::PeerRules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    table += PeerRow(
        judged, Cell(std::string(rules[i].name)), [i](const Judged& run) { return run.peer_fired[i]; },
        [i](const Judged& run) { return run.peer_applies[i]; });
  }
  return table + "\n";
}

std::string HeldOutRows(const HeldOutBy& way) {
  std::string table = Header(Named(way.what, Columns()));
  for (const scale::HeldOut& row : way.rows) table += Row(CellsOf("held out: " + row.name, row.tally));
  return table + "\n";
}

}  // namespace

std::string HeldOutTables(const std::vector<HeldOutBy>& ways, const std::string& weights) {
  std::string text = "\n" + weights + "\n\n" + Header(Named("held out in turn", Columns()));
  text += Row({"target", ">= 95%", ">= 85%", "-", "<= 3%", "-", "-", "<= 1%", "<= 1"});
  for (const HeldOutBy& way : ways) {
    if (way.rows.empty()) {
      text += Row({"each " + way.what, "not run: the set has one", "", "", "", "", "", "", ""});
      continue;
    }
    const std::string name = fmt::format("each {} ({})", way.what, way.rows.size());
    text += Row(CellsOf(name, scale::SumOf(way.rows).tally));
  }
  text += '\n';
  for (const HeldOutBy& way : ways) {
    if (way.rows.empty()) continue;
    text += fmt::format("### Held out: {}\n\n", way.what) + HeldOutRows(way);
    text += fmt::format("#### Confidence against truth, each {} held out\n\n", way.what);
    text += CalibrationTable(scale::SumOf(way.rows).calibration);
  }
  return text;
}

std::string ScaleTables(const std::vector<Judged>& judged) {
  const Tally all = TallyOf(judged);
  std::string text = "\n" + Header(Named("runs", Columns()));
  text += Row(CellsOf(FormatCount(judged.size()), all)) + "\n" + ClassTable(all);
  text += "### False errors by finding\n\n" + FalseErrors(all);
  text += "### By fault\n\n" + ByFault(judged);
  text += "### By task\n\n" + Breakdown("task", judged, [](const Judged& run) { return run.record->task; });
  text +=
      "### By family of model\n\n" + Breakdown("family", judged, [](const Judged& run) { return run.record->family; });
  text +=
      "### By optimizer\n\n" + Breakdown("optimizer", judged, [](const Judged& run) { return run.record->optimizer; });
  text += "### By kind of healthy run\n\n" + Breakdown("kind", judged, [](const Judged& run) {
            return run.record->odd.empty() ? std::string("plain") : run.record->odd;
          });
  text += "### Found, by strength of the fault\n\nFrom invisible to fatal; harmless runs are counted too.\n\n";
  text += ByStrength(judged);
  text += "### Found, by what was lost\n\n" + ByLoss(judged);
  text +=
      "### Ahead of the harm\n\nFatal runs whose loss is lost (not finite, or for good clearly above its start) 50 "
      "steps or "
      "more "
      "after the onset. Detectors were\ngiven what had been logged up to each look; a warning that was there before "
      "the onset does not count, nor does a config rule.\n\n";
  text += LeadTable(judged) + ChanceLine(judged) + CalibrationTables(judged);
  text +=
      "### Published rules on the same runs\n\nEach as its source states it, with its defaults, on every logged point. "
      "A "
      "rule fires or not; none names a cause.\n\n";
  return text + PeerTable(judged);
}

}  // namespace vigil::accuracy
