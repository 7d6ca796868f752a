#include "scale/judged.h"

#include "scale/read_set.h"
#include "scale/verdict.h"

namespace vigil::scale {
namespace {

Judged JudgeOne(const Record& record, const catalogue::Thresholds& thresholds) {
  Judged judged;
  judged.record = &record;
  judged.score = ScoreOf(record, Examine(record, thresholds));
  judged.lead = LeadOf(record, thresholds);
  judged.warns_by_chance = WarnsByChance(record, thresholds);
  const Watched watched = WatchedOf(record.run);
  for (const PeerRule& rule : PeerRules()) {
    judged.peer_fired.push_back(rule.fires(watched).has_value());
    judged.peer_applies.push_back(rule.applies(watched));
  }
  return judged;
}

}  // namespace

std::vector<Judged> JudgeAll(const std::vector<Record>& records, const catalogue::Thresholds& thresholds,
                             unsigned threads) {
  std::vector<Judged> judged(records.size());
  ForEachInParallel(records.size(), threads, [&](std::size_t i) { judged[i] = JudgeOne(records[i], thresholds); });
  return judged;
}

}  // namespace vigil::scale
