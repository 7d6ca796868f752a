#include "diagnose/remedy.h"

#include <algorithm>

#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

const catalogue::RemedySetting* SettingOf(const catalogue::RemedyRow& row, std::string_view framework) {
  const auto at = std::find_if(row.settings.begin(), row.settings.end(),
                               [&](const catalogue::RemedySetting& setting) { return setting.framework == framework; });
  return at == row.settings.end() ? nullptr : &*at;
}

// The setting in the words of the run's framework: its own, those of the trainer it is built on, or anybody's.
void FillSetting(model::Remedy& remedy, const catalogue::RemedyRow& row, const RunView& run) {
  remedy.framework = run->framework;
  if (const catalogue::RemedySetting* own = SettingOf(row, run->framework)) {
    remedy.setting = own->setting;
    remedy.file = own->file;
    return;
  }
  const model::FrameworkProfile& profile = run->profile;
  if (const catalogue::RemedySetting* base = SettingOf(row, profile.settings_of)) {
    remedy.setting = base->setting;
    remedy.file = profile.settings_file;
    return;
  }
  if (const catalogue::RemedySetting* any = SettingOf(row, "*")) {
    remedy.framework = "*";
    remedy.setting = any->setting;
    remedy.file = any->file;
  }
}

// Without code for a value the advice of the row is all there is; code that finds the setting in place takes it back.
std::optional<model::Remedy> Apply(const catalogue::RemedyRow& row, const RunView& run, const Incident& incident) {
  model::Remedy remedy;
  remedy.id = row.id;
  FillSetting(remedy, row, run);
  if (row.proposal.empty()) return remedy;
  const Propose propose = FindProposal(row.proposal);
  if (propose == nullptr) return remedy;
  const auto proposal = propose(run, incident);
  if (!proposal) return std::nullopt;
  remedy.current = proposal->current;
  remedy.proposed = proposal->proposed;
  remedy.proposed_in_words = proposal->in_words;
  return remedy;
}

// More would bury the first, which is most often the right one.
constexpr std::size_t kMostFixes = 2;

}  // namespace

// What could be the root goes first: the failures it set off go away with it.
std::vector<model::Remedy> FixesOfMessages(const Incident& incident) {
  std::vector<model::Remedy> fixes;
  for (const bool roots : {true, false}) {
    for (const model::Finding* finding : incident.findings) {
      const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
      if (row == nullptr || row->fix.empty() || (row->role == "root") != roots || fixes.size() >= kMostFixes) continue;
      const bool known =
          std::any_of(fixes.begin(), fixes.end(), [&](const model::Remedy& fix) { return fix.id == row->id; });
      if (known) continue;
      model::Remedy& fix = fixes.emplace_back();
      fix.id = row->id;
      fix.framework = "*";
    }
  }
  return fixes;
}

std::vector<model::Remedy> RemediesFor(const catalogue::CauseRow& cause, const RunView& run, const Incident& incident) {
  std::vector<model::Remedy> remedies;
  for (const std::string_view id : cause.remedies) {
    const catalogue::RemedyRow* row = catalogue::FindRemedy(id);
    if (row == nullptr) continue;
    if (auto remedy = Apply(*row, run, incident)) remedies.push_back(std::move(*remedy));
  }
  return remedies;
}

}  // namespace vigil::diagnose
