#include "scale/hold_out.h"

#include <map>
#include <mutex>
#include <set>

#include "scale/read_set.h"

namespace vigil::scale {
namespace {

// Ids are <group>-<kind>.
std::string GroupOf(const Record& record) { return record.id.substr(0, record.id.find('-')); }

}  // namespace

std::string TaskOf(const Record& record) { return record.task; }
std::string FamilyOf(const Record& record) { return record.family; }
std::string OptimizerOf(const Record& record) { return record.optimizer; }
std::string FrameworkOf(const Record& record) { return record.style; }

std::vector<Fold> FoldsBy(const std::vector<Record>& records, const PartKey& key) {
  std::map<std::string, std::vector<std::size_t>> parts;
  std::map<std::string, std::set<std::string>> groups;  // by part: those with a run in it
  for (std::size_t i = 0; i < records.size(); ++i) {
    parts[key(records[i])].push_back(i);
    groups[key(records[i])].insert(GroupOf(records[i]));
  }
  std::vector<Fold> folds;
  for (auto& [name, held_out] : parts) {
    Fold fold = {name, std::move(held_out), {}};
    // What was trained beside a held-out run is not fitted on either: it shares data and settings with it.
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!groups[name].contains(GroupOf(records[i]))) fold.fitted_on.push_back(i);
    }
    folds.push_back(std::move(fold));
  }
  return folds;
}

Fitter ShippedWeights() {
  return [](const std::vector<Record>&, const std::vector<std::size_t>&) -> Examiner {
    return [thresholds = catalogue::Thresholds()](const Record& record) { return Examine(record, thresholds); };
  };
}

std::vector<HeldOut> LeaveOneOut(const std::vector<Record>& records, const std::vector<Fold>& folds,
                                 const Fitter& fitter, unsigned threads) {
  std::vector<HeldOut> rows;
  for (const Fold& fold : folds) {
    HeldOut& row = rows.emplace_back(HeldOut{fold.name, {}, {}});
    const Examiner examine = fitter(records, fold.fitted_on);
    std::mutex mutex;
    ForEachInParallel(fold.held_out.size(), threads, [&](std::size_t i) {
      const Record& record = records[fold.held_out[i]];
      const Score score = ScoreOf(record, examine(record));
      const std::lock_guard<std::mutex> lock(mutex);
      row.tally.Add(score);
      row.calibration.Add(score);
    });
  }
  return rows;
}

HeldOut SumOf(const std::vector<HeldOut>& rows) {
  HeldOut sum = {"all", {}, {}};
  for (const HeldOut& row : rows) {
    sum.tally.Add(row.tally);
    sum.calibration.Add(row.calibration);
  }
  return sum;
}

}  // namespace vigil::scale
