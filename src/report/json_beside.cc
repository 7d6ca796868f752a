#include "report/json_beside.h"

#include "catalogue/checklist.h"
#include "report/json_members.h"
#include "report/sentence.h"

// The order of keys is that of doc/formats/diagnosis-json.md, which describes each.

namespace vigil::report {
namespace {

void WriteComparedMetric(JsonWriter& json, const model::ComparedMetric& metric) {
  WriteText(json, "metric", metric.signal);
  json.Key("labels");
  json.Open();
  for (const auto& [key, value] : metric.labels) WriteText(json, key, value);
  json.Close();
  WriteText(json, "aspect", model::Name(metric.aspect));
  WriteText(json, "standing", model::Name(metric.standing));
  WriteNumberOrNull(json, "value", metric.value);
  WriteNumberOrNull(json, "reference", metric.reference);
  WriteNumberOrNull(json, "noise", metric.noise);
  WriteSteps(json, metric.over.first, metric.over.last);
  WriteTextOrNull(json, "reason", Sentence(metric.reason));
  WriteSays(json, "reason_says", metric.reason);
}

void WriteDifferingSetting(JsonWriter& json, const model::DifferingSetting& setting) {
  WriteText(json, "setting", setting.setting);
  WriteText(json, "value", setting.value);
  WriteText(json, "reference", setting.reference);
}

void WriteRemarks(JsonWriter& json, const std::vector<model::Statement>& remarks) {
  std::vector<std::string> texts;
  texts.reserve(remarks.size());
  for (const model::Statement& remark : remarks) texts.push_back(Sentence(remark));
  WriteTexts(json, "remarks", texts);
  json.Key("remarks_says");
  json.OpenList();
  for (const model::Statement& remark : remarks) WriteStatement(json, remark);
  json.CloseList();
}

}  // namespace

void WriteBaseline(JsonWriter& json, const model::Baseline* baseline) {
  json.Key("baseline");
  if (baseline == nullptr) return json.Null();
  json.Open();
  WriteText(json, "name", baseline->name);
  WriteList(json, "metrics", baseline->metrics, WriteComparedMetric);
  WriteList(json, "settings", baseline->settings, WriteDifferingSetting);
  WriteTexts(json, "new_findings", baseline->new_findings);
  WriteTexts(json, "missing_findings", baseline->missing_findings);
  WriteRemarks(json, baseline->remarks);
  json.Close();
}

void WriteCheckedItem(JsonWriter& json, const model::CheckedItem& item) {
  const catalogue::ChecklistRow* row = catalogue::FindChecklistItem(item.id);
  WriteText(json, "id", item.id);
  WriteText(json, "stage", row == nullptr ? std::string_view() : row->stage);
  WriteText(json, "title", row == nullptr ? std::string_view() : row->title);
  WriteText(json, "state", model::Name(item.state));
  WriteTextOrNull(json, "reason", Sentence(item.reason));
  WriteSays(json, "reason_says", item.reason);
  WriteTextOrNull(json, "path", item.path);
  json.Key("line");
  item.line == 0 ? json.Null() : json.Count(item.line);
  const bool open = item.state != model::CheckState::kDone;
  WriteTextOrNull(json, "how", row == nullptr || !open ? std::string_view() : row->how);
  WriteTextOrNull(json, "command", item.command);
  WriteTextOrNull(json, "change", item.change);
}

}  // namespace vigil::report
