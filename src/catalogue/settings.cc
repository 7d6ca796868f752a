#include <fmt/format.h>
#include <toml++/toml.h>

#include <cassert>

#include "catalogue/catalogue.h"

namespace vigil::catalogue {
namespace {

std::string ThresholdKey(std::string_view id, std::string_view name) { return fmt::format("{} {}", id, name); }

const ThresholdRow* FindThreshold(const FindingRow& row, std::string_view name) {
  for (const ThresholdRow& threshold : row.thresholds) {
    if (threshold.name == name) return &threshold;
  }
  return nullptr;
}

std::string Offer(std::string_view wanted, const std::vector<std::string>& candidates) {
  const auto nearest = NearestNames(wanted, candidates);
  return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", vigil::Join(nearest, ", "));
}

bool IsKnownId(std::string_view id) {
  if (FindFinding(id) != nullptr || FindSignature(id) != nullptr) return true;
  for (const ConfigRuleRow& rule : ConfigRules()) {
    if (rule.id == id) return true;
  }
  return false;
}

std::string PlaceOf(std::string_view origin, const toml::node& node) {
  return fmt::format("{}:{}", origin, node.source().begin.line);
}

}  // namespace

Result<Settings> Settings::Parse(std::string_view toml, std::string_view origin) {
  toml::table content;
  try {
    content = toml::parse(toml, origin);
  } catch (const toml::parse_error& problem) {
    return Fail(fmt::format("{}:{}: {}", origin, problem.source().begin.line, std::string(problem.description())));
  }
  Settings settings;
  for (const auto& [id_key, node] : content) {
    const std::string_view id = id_key.str();
    const toml::table* table = node.as_table();
    if (table == nullptr)
      return Fail(
          fmt::format("{}: '{}' is no table; write [\"{}\"] and its thresholds below", PlaceOf(origin, node), id, id));
    if (!IsKnownId(id))
      return Fail(fmt::format("{}: unknown id '{}'{}", PlaceOf(origin, node), id, Offer(id, AllIds())));
    const FindingRow* row = FindFinding(id);
    for (const auto& [name_key, value] : *table) {
      const std::string_view name = name_key.str();
      if (name == "severity") {
        const auto severity = model::ParseSeverity(value.value_or(std::string()));
        if (!severity)
          return Fail(
              fmt::format("{}: severity of '{}' must be info, warning, error or fatal", PlaceOf(origin, value), id));
        settings.severities_[std::string(id)] = *severity;
      } else if (name == "enabled" && value.is_boolean()) {
        settings.enabled_[std::string(id)] = value.value_or(true);
      } else if (row != nullptr && FindThreshold(*row, name) != nullptr && value.is_number()) {
        settings.thresholds_[ThresholdKey(id, name)] = value.value_or(0.0);
      } else {
        std::vector<std::string> known = {"severity", "enabled"};
        if (row != nullptr) {
          for (const ThresholdRow& threshold : row->thresholds) known.emplace_back(threshold.name);
        }
        return Fail(fmt::format("{}: '{}' of '{}' is no setting of that type; known: {}", PlaceOf(origin, value), name,
                                id, vigil::Join(known, ", ")));
      }
    }
  }
  return settings;
}

double Settings::Threshold(std::string_view id, std::string_view name) const {
  if (const auto at = thresholds_.find(ThresholdKey(id, name)); at != thresholds_.end()) return at->second;
  const FindingRow* row = FindFinding(id);
  const ThresholdRow* threshold = row == nullptr ? nullptr : FindThreshold(*row, name);
  assert(threshold != nullptr && "a detector asks for a threshold that its row does not have");
  return threshold == nullptr ? 0.0 : threshold->value;
}

model::Severity Settings::SeverityOf(std::string_view id, model::Severity otherwise) const {
  const auto at = severities_.find(id);
  return at == severities_.end() ? otherwise : at->second;
}

bool Settings::Enabled(std::string_view id) const {
  const auto at = enabled_.find(id);
  return at == enabled_.end() || at->second;
}

}  // namespace vigil::catalogue
