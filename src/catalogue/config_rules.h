// catalogue/config_rules: known bad settings, and the names of the settings that frameworks take, as rows.
#pragma once

#include <span>
#include <string_view>

#include "catalogue/catalogue.h"
#include "model/finding.h"

namespace vigil::catalogue {

struct MethodSeverity {
  std::string_view method;
  model::Severity severity;
};

struct ConfigRuleRow {
  std::string_view id;  // "config/<rule>"
  std::string_view title;
  model::Severity severity;
  std::string_view when;
  std::string_view set;
  std::string_view check;  // name of the code
  std::string_view scope;  // "both": also judged on the settings that a run stated; "config": on a config only
  std::span<const MethodSeverity> by_method;  // where it is another one than `severity`
  std::string_view origin;
};

// How a framework takes its configuration.
struct ConfigKeysRow {
  std::string_view id;  // of the framework
  std::string_view title;
  Words also;  // other rows whose names it takes too
  Words traits;
  Words names;  // of its settings; with a dot, those of a section; none where they are not known
};

std::span<const ConfigRuleRow> ConfigRules();
std::span<const ConfigKeysRow> ConfigKeys();

const ConfigRuleRow* FindConfigRule(std::string_view id);
// Null for a framework of which nothing is known.
const ConfigKeysRow* FindConfigKeys(std::string_view framework);
// Whether the row of the framework has the trait: "states-adapter", "converts-text", ...
bool HasConfigTrait(std::string_view framework, std::string_view trait);
// The severity of the rule in a run of that method.
model::Severity SeverityIn(const ConfigRuleRow& rule, std::string_view method);

}  // namespace vigil::catalogue
