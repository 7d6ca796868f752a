#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"

namespace vigil::catalogue {
namespace {

std::string ThresholdKey(std::string_view id, std::string_view name) { return fmt::format("{} {}", id, name); }

const ThresholdRow* FindThreshold(const FindingRow& row, std::string_view name) {
  for (const ThresholdRow& threshold : row.thresholds) {
    if (threshold.name == name) return &threshold;
  }
  return nullptr;
}

// Only what can be found in a run can be set: findings, config rules and signatures.
std::vector<std::string> SettableIds() {
  std::vector<std::string> ids;
  for (const FindingRow& row : Findings()) ids.emplace_back(row.id);
  for (const ConfigRuleRow& row : ConfigRules()) ids.emplace_back(row.id);
  for (const SignatureRow& row : Signatures()) ids.emplace_back(row.id);
  return ids;
}

std::string PlaceOf(std::string_view origin, const toml::node& node) {
  return fmt::format("{}:{}", origin, node.source().begin.line);
}

// The table of thresholds and switches of one id, or why there is none.
Result<const toml::table*> TableOf(std::string_view id, const toml::node& node, std::string_view origin) {
  const std::vector<std::string> known = SettableIds();
  const toml::table* table = node.as_table();
  if (table == nullptr)
    return Fail(ErrorCode::kInvalid, fmt::format("{0}: '{1}' is no table; write [\"{1}\"] and its thresholds below",
                                                 PlaceOf(origin, node), id));
  if (std::find(known.begin(), known.end(), id) != known.end()) return table;
  const auto nearest = NearestNames(id, known);
  return Fail(ErrorCode::kInvalid,
              fmt::format("{}: unknown id '{}'{}", PlaceOf(origin, node), id,
                          nearest.empty() ? "" : fmt::format("; did you mean {}?", Join(nearest, ", "))));
}

Error NoSuchSetting(std::string_view place, std::string_view id, std::string_view name) {
  std::vector<std::string> known = {"severity", "enabled"};
  if (const FindingRow* row = FindFinding(id)) {
    for (const ThresholdRow& threshold : row->thresholds) known.emplace_back(threshold.name);
  }
  return {ErrorCode::kInvalid,
          {},
          std::nullopt,
          fmt::format("{}: '{}' has no setting '{}'; known: {}", place, id, name, Join(known, ", "))};
}

// Every mistake of a file in one message, a line each: nobody should have to fix them one run at a time.
void Append(std::string& mistakes, const Error& mistake) {
  if (!mistakes.empty()) mistakes += "; ";
  mistakes += mistake.message;
}

}  // namespace

Result<Thresholds> Thresholds::Parse(std::string_view toml, std::string_view origin) {
  if (const auto fault = FaultOfToml(toml))
    return Fail(ErrorCode::kInvalid, fmt::format("{}:{}: {}", origin, fault->line, fault->what));
  const toml::parse_result parsed = toml::parse(toml, origin);
  if (!parsed) {
    const toml::parse_error& problem = parsed.error();
    const std::string_view what = problem.description();
    const bool unquoted = what.find("saw '/'") != std::string_view::npos;
    return Fail(ErrorCode::kInvalid, fmt::format("{}:{}: {}{}", origin, problem.source().begin.line, what,
                                                 unquoted ? "; an id is written in quotes: [\"loss/spike\"]" : ""));
  }
  const toml::table& content = parsed.table();
  Thresholds thresholds;
  std::string mistakes;
  for (const auto& [id, node] : content) {
    const auto table = TableOf(id.str(), node, origin);
    if (!table) {
      Append(mistakes, table.error());
      continue;
    }
    for (const auto& [name, value] : **table) {
      const auto number = value.is_number() ? value.value<double>() : std::nullopt;
      const Value given = {value.value<std::string>(), value.is_boolean() ? value.value<bool>() : std::nullopt, number};
      if (Status taken = thresholds.Set(id.str(), name.str(), given, PlaceOf(origin, value)); !taken)
        Append(mistakes, taken.error());
    }
  }
  if (!mistakes.empty()) return Fail(ErrorCode::kInvalid, mistakes);
  return thresholds;
}

Status Thresholds::Set(std::string_view id, std::string_view name, const Value& value, std::string_view place) {
  if (name == "severity") {
    const auto severity = model::ParseSeverity(value.text.value_or(""));
    if (!severity)
      return Fail(ErrorCode::kInvalid,
                  fmt::format("{}: severity of '{}' must be info, warning, error or fatal", place, id));
    severities_[std::string(id)] = *severity;
    return {};
  }
  if (name == "enabled") {
    if (!value.truth)
      return Fail(ErrorCode::kInvalid, fmt::format("{}: enabled of '{}' must be true or false", place, id));
    enabled_[std::string(id)] = *value.truth;
    return {};
  }
  const FindingRow* row = FindFinding(id);
  if (row == nullptr || FindThreshold(*row, name) == nullptr) return Fail(NoSuchSetting(place, id, name));
  // No threshold means anything below zero: all are counts, shares, ratios or deviations.
  constexpr double kMost = 1e9;
  if (!value.number || !(*value.number >= 0) || *value.number > kMost)
    return Fail(ErrorCode::kInvalid,
                fmt::format("{}: '{}' of '{}' must be a finite number from 0 to 1e9", place, name, id));
  thresholds_[ThresholdKey(id, name)] = *value.number;
  return {};
}

double Thresholds::Threshold(std::string_view id, std::string_view name) const {
  if (const auto at = thresholds_.find(ThresholdKey(id, name)); at != thresholds_.end()) return at->second;
  const FindingRow* row = FindFinding(id);
  const ThresholdRow* threshold = row == nullptr ? nullptr : FindThreshold(*row, name);
  assert(threshold != nullptr && "a detector asks for a threshold that its row does not have");
  return threshold == nullptr ? 0.0 : threshold->value;
}

model::Severity Thresholds::SeverityOf(std::string_view id, model::Severity otherwise) const {
  const auto at = severities_.find(id);
  return at == severities_.end() ? otherwise : at->second;
}

bool Thresholds::Enabled(std::string_view id) const {
  const auto at = enabled_.find(id);
  return at == enabled_.end() || at->second;
}

}  // namespace vigil::catalogue
