// Statements as JSON: the id of the template and the typed arguments, beside the sentence that is made of them.
#pragma once

#include "model/statement.h"
#include "report/json.h"

namespace vigil::report {

// {"id", "arguments": {name: value}}, null for an empty statement. doc/formats/diagnosis-json.md has the types.
void WriteStatement(JsonWriter& json, const model::Statement& statement);
// The key note_says: what a reader remarked.
void WriteNotes(JsonWriter& json, const std::vector<model::Statement>& notes);

}  // namespace vigil::report
