// Statements as sentences: the template of the catalogue, filled with the arguments. The only place that does it.
#pragma once

#include <string>
#include <string_view>

#include "model/statement.h"

namespace vigil::report {

// The sentence, empty for an empty statement. A statement whose template does not exist gives its id: nothing is lost.
std::string Sentence(const model::Statement& statement);
// The sentence of a template before there are values: each is `letter`, shares are "N%". Empty without the template.
std::string SentencePattern(std::string_view statement_id, std::string_view letter);
// What is quoted; where the file has no words for it, the sentence of what it recorded.
std::string QuoteText(const model::Quote& quote);

// "step 412", "epoch 3", "logged point 7"; empty without a position.
std::string PositionText(model::Position position);
// "steps 398-411", "step 412" when both ends are one.
std::string RangeText(model::PositionRange range);
// "10 steps", "1 epoch".
std::string ExtentText(model::Extent extent);
// "step", "epoch", "logged point": what positions of the axis are called.
std::string_view AxisWord(model::Axis axis);

// Whether an argument, also of a clause, is that position or a range that holds it: the sentence then says it.
bool Mentions(const model::Statement& statement, model::Position position);
// Whether an argument, also of a clause, is that name.
bool MentionsName(const model::Statement& statement, std::string_view name);
// The first text of a file that the statement quotes, also in a clause; null when it quotes none.
const model::Quote* QuoteIn(const model::Statement& statement);

}  // namespace vigil::report
