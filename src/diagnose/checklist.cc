#include "diagnose/checklist.h"

#include <algorithm>

#include "catalogue/checklist.h"
#include "diagnose/checklist_answer.h"
#include "diagnose/launch.h"

namespace vigil::diagnose {
namespace {

const NamedCheck* FindCheck(std::string_view name) {
  for (const auto& checks : {ChecksOfSettings(), ChecksOfRecords()}) {
    const auto at =
        std::find_if(checks.begin(), checks.end(), [&](const NamedCheck& check) { return check.name == name; });
    if (at != checks.end()) return &*at;
  }
  return nullptr;
}

// Where the setting stands; a setting without a line came from a record that has no lines.
void FillPlace(const model::Run& run, const model::Fact& fact, model::CheckedItem& item) {
  if (fact.place.line == 0 || fact.place.source >= run.sources.size()) return;
  item.path = run.sources[fact.place.source].path;
  item.line = fact.place.line;
}

model::CheckedItem Checked(const catalogue::ChecklistRow& row, const model::RunReport& report) {
  model::CheckedItem item;
  item.id = row.id;
  const NamedCheck* check = FindCheck(row.test);
  if (check == nullptr) return item;
  CheckAnswer answer = check->answer(report);
  item.state = answer.state;
  item.reason = std::move(answer.reason);
  if (answer.shown_by != nullptr) FillPlace(report.run, *answer.shown_by, item);
  if (!answer.repeat) return item;
  model::NextCommand next = RepeatWith(report.run, answer.change ? &*answer.change : nullptr, {});
  item.command = std::move(next.command);
  item.change = std::move(next.change);
  return item;
}

}  // namespace

CheckAnswer WithChange(CheckAnswer answer, std::string_view setting, std::string_view value) {
  answer.repeat = true;
  answer.change.emplace();
  answer.change->setting = setting;
  answer.change->proposed = value;
  return answer;
}

std::vector<model::CheckedItem> FillChecklist(const model::RunReport& report) {
  std::vector<model::CheckedItem> items;
  for (const catalogue::ChecklistRow& row : catalogue::Checklist()) items.push_back(Checked(row, report));
  return items;
}

std::vector<std::string_view> ChecklistTestNames() {
  std::vector<std::string_view> names;
  for (const auto& checks : {ChecksOfSettings(), ChecksOfRecords()}) {
    for (const NamedCheck& check : checks) names.push_back(check.name);
  }
  return names;
}

}  // namespace vigil::diagnose
