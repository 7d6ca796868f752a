// Members of the JSON of a report that its parts share: a key with a text, a number, a position or a list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/position.h"
#include "model/run.h"
#include "report/json.h"
#include "report/json_statement.h"

namespace vigil::report {

inline void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key);
  json.OpenList();
  for (const std::string& text : texts) json.Text(text);
  json.CloseList();
}

inline void WriteText(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.Text(text);
}

inline void WriteTextOrNull(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.TextOrNull(text);
}

inline void WriteSays(JsonWriter& json, std::string_view key, const model::Statement& statement) {
  json.Key(key);
  WriteStatement(json, statement);
}

inline void WriteCount(JsonWriter& json, std::string_view key, model::Position position) {
  json.Key(key);
  position.known() ? json.Integer(position.value()) : json.Null();
}

// What the counts beside it are counted in; null where there are none.
inline void WriteAxis(JsonWriter& json, model::Position position) {
  WriteTextOrNull(json, "axis", position.known() ? model::Name(position.axis()) : std::string_view());
}

inline void WriteSteps(JsonWriter& json, model::Position first, model::Position last) {
  WriteCount(json, "first_step", first);
  WriteCount(json, "last_step", last);
  WriteAxis(json, first);
}

template <class Items, class Write>
void WriteList(JsonWriter& json, std::string_view key, const Items& items, Write write) {
  json.Key(key);
  json.OpenList();
  for (const auto& item : items) {
    json.Open();
    write(json, item);
    json.Close();
  }
  json.CloseList();
}

inline void WriteNumberOrNull(JsonWriter& json, std::string_view key, double value) {
  json.Key(key);
  model::IsNoValue(value) ? json.Null() : json.Number(value);
}

}  // namespace vigil::report
