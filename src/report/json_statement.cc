#include "report/json_statement.h"

#include <variant>

#include "report/sentence.h"

namespace vigil::report {
namespace {

// How the value of each type of argument is written. Clauses nest as deep as our own templates do.
struct WriteValue {
  JsonWriter& json;

  void operator()(const model::Quantity& quantity) const {
    if (quantity.unit == model::Unit::kPlain) return json.Number(quantity.value);
    json.Open();
    json.Key("value");
    json.Number(quantity.value);
    json.Key("unit");
    json.Text(model::Name(quantity.unit));
    json.Close();
  }
  void operator()(const model::Position& position) const {
    if (!position.known()) return json.Null();
    json.Open();
    json.Key("axis");
    json.Text(model::Name(position.axis()));
    json.Key("value");
    json.Integer(position.value());
    json.Close();
  }
  void operator()(const model::PositionRange& range) const {
    if (!range.first.known()) return json.Null();
    json.Open();
    json.Key("axis");
    json.Text(model::Name(range.first.axis()));
    json.Key("first");
    json.Integer(range.first.value());
    json.Key("last");
    json.Integer(range.last.known() ? range.last.value() : range.first.value());
    json.Close();
  }
  void operator()(const model::Extent& extent) const {
    json.Open();
    json.Key("axis");
    json.Text(model::Name(extent.axis));
    json.Key("amount");
    json.Number(extent.amount);
    json.Close();
  }
  void operator()(const model::Identifier& name) const { json.Text(name.text); }
  void operator()(const model::Identifiers& names) const {
    json.OpenList();
    for (const model::Identifier& name : names) json.Text(name.text);
    json.CloseList();
  }
  void operator()(const model::Quote& quote) const {
    json.Open();
    json.Key("text");
    json.Text(QuoteText(quote));
    json.Key("path");
    json.TextOrNull(quote.path);
    json.Key("line");
    quote.line == 0 ? json.Null() : json.Count(quote.line);
    json.Close();
  }
  void operator()(const std::vector<model::Statement>& clauses) const {  // NOLINT(misc-no-recursion)
    // Templates have one clause in a place; a list is written only where code put more there.
    if (clauses.size() == 1) return WriteStatement(json, clauses.front());
    json.OpenList();
    for (const model::Statement& clause : clauses) WriteStatement(json, clause);
    json.CloseList();
  }
};

}  // namespace

void WriteStatement(JsonWriter& json, const model::Statement& statement) {  // NOLINT(misc-no-recursion)
  if (statement.empty()) return json.Null();
  json.Open();
  json.Key("id");
  json.Text(statement.id);
  json.Key("arguments");
  json.Open();
  for (const model::Argument& argument : statement.arguments) {
    json.Key(argument.name);
    std::visit(WriteValue{json}, argument.value);
  }
  json.Close();
  json.Close();
}

void WriteNotes(JsonWriter& json, const std::vector<model::Statement>& notes) {
  json.Key("note_says");
  json.OpenList();
  for (const model::Statement& note : notes) WriteStatement(json, note);
  json.CloseList();
}

}  // namespace vigil::report
