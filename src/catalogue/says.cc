#include "catalogue/says.h"

#include <algorithm>
#include <array>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"

namespace vigil::says {
namespace {

[[maybe_unused]] model::Identifiers ToIdentifiers(const std::vector<std::string>& names) {
  model::Identifiers identifiers;
  identifiers.reserve(names.size());
  for (const std::string& name : names) identifiers.push_back({name});
  return identifiers;
}

}  // namespace

#include "catalogue/says_table.inc"

}  // namespace vigil::says

namespace vigil::catalogue {
namespace {

#define VIGIL_TEMPLATE_TABLE
#include "catalogue/says_table.inc"

// Texts of rows that stand for themselves: "<kind>/<id>#<field>".
struct RowText {
  std::string_view kind;
  std::string_view field;
  std::string_view (*find)(std::string_view id);
};

const PairRow* FindPairById(std::string_view id) {
  const std::size_t plus = id.find('+');
  return plus == std::string_view::npos ? nullptr : FindPair(id.substr(0, plus), id.substr(plus + 1));
}

const MeasureRow* FindMeasureById(std::string_view id) {
  const std::span<const MeasureRow> rows = Measures();
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const MeasureRow& row) { return row.id == id; });
  return at == rows.end() ? nullptr : &*at;
}

template <class Row>
std::string_view FieldOf(const Row* row, std::string_view Row::* field) {
  return row == nullptr ? std::string_view() : row->*field;
}

constexpr std::array kRowTexts = {
    RowText{"cause", "title", [](std::string_view id) { return FieldOf(FindCause(id), &CauseRow::title); }},
    RowText{"cause", "next", [](std::string_view id) { return FieldOf(FindCause(id), &CauseRow::next); }},
    RowText{"evidence", "needs", [](std::string_view id) { return FieldOf(FindEvidence(id), &EvidenceRow::needs); }},
    RowText{"measure", "needs", [](std::string_view id) { return FieldOf(FindMeasureById(id), &MeasureRow::needs); }},
    RowText{"finding", "title", [](std::string_view id) { return FieldOf(FindFinding(id), &FindingRow::title); }},
    RowText{"next", "do", [](std::string_view id) { return FieldOf(FindNextCommand(id), &NextRow::to_do); }},
    RowText{"pair", "tell_apart", [](std::string_view id) { return FieldOf(FindPairById(id), &PairRow::tell_apart); }},
    RowText{"signature", "title", [](std::string_view id) { return FieldOf(FindSignature(id), &SignatureRow::title); }},
    RowText{"signature", "explanation",
            [](std::string_view id) { return FieldOf(FindSignature(id), &SignatureRow::explanation); }},
    RowText{"signature", "fix", [](std::string_view id) { return FieldOf(FindSignature(id), &SignatureRow::fix); }},
    RowText{"remedy", "text", [](std::string_view id) { return FieldOf(FindRemedy(id), &RemedyRow::text); }},
    RowText{"remedy", "reason", [](std::string_view id) { return FieldOf(FindRemedy(id), &RemedyRow::reason); }},
    RowText{"remedy", "effect", [](std::string_view id) { return FieldOf(FindRemedy(id), &RemedyRow::effect); }},
    RowText{"rule", "set", [](std::string_view id) { return FieldOf(FindConfigRule(id), &ConfigRuleRow::set); }},
    RowText{"remedy", "title", [](std::string_view id) { return FieldOf(FindRemedy(id), &RemedyRow::title); }},
};

std::string_view FindRowText(std::string_view statement_id) {
  const std::size_t slash = statement_id.find('/');
  const std::size_t mark = statement_id.rfind('#');
  if (slash == std::string_view::npos || mark == std::string_view::npos || mark < slash) return {};
  for (const RowText& text : kRowTexts) {
    if (text.kind == statement_id.substr(0, slash) && text.field == statement_id.substr(mark + 1))
      return text.find(statement_id.substr(slash + 1, mark - slash - 1));
  }
  return {};
}

}  // namespace

std::span<const TemplateRow> Templates() { return kTemplates; }

std::string_view FindTemplate(std::string_view statement_id) {
  const auto at = std::lower_bound(kTemplates.begin(), kTemplates.end(), statement_id,
                                   [](const TemplateRow& row, std::string_view id) { return row.id < id; });
  if (at != kTemplates.end() && at->id == statement_id) return at->text;
  return FindRowText(statement_id);
}

model::Statement TextOf(std::string_view kind, std::string_view id, std::string_view field) {
  std::string statement_id(kind);
  statement_id.append("/").append(id).append("#").append(field);
  return {std::move(statement_id), {}};
}

}  // namespace vigil::catalogue
