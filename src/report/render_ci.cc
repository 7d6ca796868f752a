// What continuous integration and code scanning read: JUnit XML and SARIF 2.1.0.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"
#include "report/beside.h"
#include "report/json.h"
#include "report/report.h"
#include "report/sentence.h"
#include "report/texts.h"
#include "report/words.h"

namespace vigil::report {
namespace {

// ---- JUnit

// Text for an attribute or an element: XML 1.0 knows no other control characters than tab and line breaks.
std::string Xml(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

// One case: a family of checks on a run.
struct JunitCase {
  std::string name;
  std::vector<const model::Finding*> failures;
  std::string skipped;
};

bool IsOfBaseline(const model::Finding& finding) { return finding.id.starts_with("baseline/"); }

// The run beside its reference: fails where it is worse, and is skipped where nothing could be compared.
JunitCase BaselineCase(const model::RunReport& run, std::optional<model::Severity> limit) {
  JunitCase made;
  made.name = "baseline";
  for (const model::Finding& finding : run.findings) {
    if (IsOfBaseline(finding) && limit && finding.severity >= *limit) made.failures.push_back(&finding);
  }
  if (made.failures.empty() && !run.baseline->IsOfUse()) made.skipped = BaselineLine(*run.baseline);
  return made;
}

std::vector<JunitCase> CasesOf(const model::RunReport& run, std::optional<model::Severity> limit) {
  std::vector<JunitCase> cases;
  for (const model::Coverage& coverage : run.coverage) {
    JunitCase made;
    made.name = std::string(model::Name(coverage.family));
    for (const model::Finding& finding : run.findings) {
      const bool fails = limit && finding.severity >= *limit && !IsOfBaseline(finding);
      if (finding.family == coverage.family && fails) made.failures.push_back(&finding);
    }
    if (made.failures.empty() && coverage.state == model::CoverageState::kBlind) made.skipped = ReasonText(coverage);
    cases.push_back(std::move(made));
  }
  if (run.baseline) cases.push_back(BaselineCase(run, limit));
  return cases;
}

std::string CaseXml(const JunitCase& made, const std::string& run) {
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\"", Xml(run), Xml(made.name));
  if (made.failures.empty() && made.skipped.empty()) return out + "/>\n";
  out += ">\n";
  if (!made.skipped.empty()) out += fmt::format("      <skipped message=\"{}\"/>\n", Xml(OneLine(made.skipped)));
  if (!made.failures.empty()) {
    // A case has one failure: the worst finding names it, all stand in its text.
    const model::Finding& worst = *made.failures.front();
    out += fmt::format("      <failure message=\"{}\" type=\"{}\">", Xml(HeadlineText(worst)), Xml(worst.id));
    for (const model::Finding* finding : made.failures)
      out += Xml(fmt::format("{} [{}] {}\n", finding->id, model::Name(finding->severity), HeadlineText(*finding)));
    out += "</failure>\n";
  }
  return out + "    </testcase>\n";
}

// ---- SARIF

void Member(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.Text(text);
}

// {"text": ...}, as SARIF writes messages.
void Message(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.Open();
  Member(json, "text", text);
  json.Close();
}

std::string_view LevelOf(model::Severity severity) {
  if (severity >= model::Severity::kError) return "error";
  return severity == model::Severity::kWarning ? "warning" : "note";
}

void WriteRules(JsonWriter& json, const std::set<std::string>& ids) {
  json.Key("rules");
  json.OpenList();
  for (const std::string& id : ids) {
    json.Open();
    Member(json, "id", id);
    if (const catalogue::FindingRow* row = catalogue::FindFinding(id)) {
      Message(json, "shortDescription", row->title);
      Message(json, "fullDescription", row->why);
    } else if (const catalogue::SignatureRow* signature = catalogue::FindSignature(id)) {
      Message(json, "shortDescription", signature->title);
    } else if (const catalogue::ConfigRuleRow* rule = catalogue::FindConfigRule(id)) {
      Message(json, "shortDescription", rule->title);
      Message(json, "fullDescription", rule->when);
    }
    json.Close();
  }
  json.CloseList();
}

void WritePhysical(JsonWriter& json, std::string_view path, std::uint32_t line) {
  json.Key("physicalLocation");
  json.Open();
  json.Key("artifactLocation");
  json.Open();
  Member(json, "uri", UriOf(path));
  json.Close();
  if (line != 0) {
    json.Key("region");
    json.Open();
    json.Key("startLine");
    json.Count(line);
    json.Close();
  }
  json.Close();
}

// The file and line that the finding rests on: of its evidence, else the run's first file.
void WriteLocation(JsonWriter& json, std::string path, std::string_view name, const model::Finding& finding) {
  std::uint32_t line = 0;
  for (const model::Evidence& evidence : finding.evidence) {
    if (evidence.path.empty()) continue;
    path = evidence.path;
    line = evidence.line;
    break;
  }
  json.Key("locations");
  json.OpenList();
  json.Open();
  if (!path.empty()) WritePhysical(json, path, line);
  json.Key("logicalLocations");
  json.OpenList();
  json.Open();
  Member(json, "name", name);
  Member(json, "kind", "module");
  json.Close();
  json.CloseList();
  json.Close();
  json.CloseList();
}

void WriteResult(JsonWriter& json, const model::RunReport& run, const model::Finding& finding) {
  json.Open();
  Member(json, "ruleId", finding.id);
  Member(json, "level", LevelOf(finding.severity));
  Message(json, "message", fmt::format("{}: {}", run.run.name, HeadlineText(finding)));
  WriteLocation(json, run.run.sources.empty() ? std::string() : run.run.sources.front().path, run.run.name, finding);
  json.Close();
}

// The other settings that a finding rests on.
void WriteRelated(JsonWriter& json, const model::Finding& finding) {
  if (finding.evidence.size() < 2) return;
  json.Key("relatedLocations");
  json.OpenList();
  for (std::size_t i = 1; i < finding.evidence.size(); ++i) {
    json.Open();
    json.Key("id");
    json.Count(i);
    WritePhysical(json, finding.evidence[i].path, finding.evidence[i].line);
    Message(json, "message", Sentence(finding.evidence[i].says));
    json.Close();
  }
  json.CloseList();
}

void WriteBreach(JsonWriter& json, const model::PlannedRun& run, const model::ConfigBreach& breach) {
  json.Open();
  Member(json, "ruleId", breach.finding.id);
  Member(json, "level", LevelOf(breach.finding.severity));
  const std::string fix = breach.fix.proposed.empty() ? Sentence(breach.fix.proposed_in_words)
                                                      : fmt::format("{}: {}", breach.fix.setting, breach.fix.proposed);
  Message(json, "message", fmt::format("{}; set {}", Sentence(breach.finding.says), fix));
  WriteLocation(json, run.name, run.name, breach.finding);
  WriteRelated(json, breach.finding);
  json.Close();
}

template <class WriteResults>
std::string SarifDocument(std::string_view version, const std::set<std::string>& ids, const WriteResults& results) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.Open();
  Member(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  Member(json, "version", "2.1.0");
  json.Key("runs");
  json.OpenList();
  json.Open();
  json.Key("tool");
  json.Open();
  json.Key("driver");
  json.Open();
  Member(json, "name", "vigil");
  Member(json, "version", version);
  WriteRules(json, ids);
  json.Close();
  json.Close();
  json.Key("results");
  json.OpenList();
  results(json);
  json.CloseList();
  json.Close();
  json.CloseList();
  json.Close();
  return json.Take() + "\n";
}

}  // namespace

std::string UriOf(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~+@,=").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path.starts_with('/') ? "file://" + uri : uri;
}

std::string RenderJunit(const model::Report& report, std::optional<model::Severity> limit) {
  std::string suites;
  std::size_t cases = 0;
  std::size_t failures = 0;
  for (const model::RunReport& run : report.runs) {
    std::string body;
    std::size_t failed = 0;
    std::size_t skipped = 0;
    const auto made = CasesOf(run, limit);
    for (const JunitCase& one : made) {
      failed += one.failures.empty() ? 0 : 1;
      skipped += one.skipped.empty() ? 0 : 1;
      body += CaseXml(one, run.run.name);
    }
    suites +=
        fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"0\">\n",
                    Xml(run.run.name), made.size(), failed, skipped);
    suites += body + "  </testsuite>\n";
    cases += made.size();
    failures += failed;
  }
  if (!report.unread.empty()) {
    suites += fmt::format(
        "  <testsuite name=\"files\" tests=\"{0}\" failures=\"0\" errors=\"{0}\" skipped=\"0\" time=\"0\">\n",
        report.unread.size());
    for (const model::Unread& unread : report.unread) {
      suites += fmt::format(
          "    <testcase classname=\"files\" name=\"{}\" time=\"0\">\n      <error message=\"{}\" type=\"unread\"/>\n"
          "    </testcase>\n",
          Xml(unread.path), Xml(OneLine(WhyUnread(unread))));
    }
    suites += "  </testsuite>\n";
    cases += report.unread.size();
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"vigil\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\">\n"
      "{}</testsuites>\n",
      cases, failures, report.unread.size(), suites);
}

std::string RenderSarif(const model::Report& report, std::string_view version) {
  std::set<std::string> ids;
  for (const model::RunReport& run : report.runs) {
    for (const model::Finding& finding : run.findings) ids.insert(finding.id);
  }
  return SarifDocument(version, ids, [&](JsonWriter& json) {
    for (const model::RunReport& run : report.runs) {
      for (const model::Finding& finding : run.findings) WriteResult(json, run, finding);
    }
  });
}

std::string RenderPreflightSarif(const model::PreflightReport& report, std::string_view version) {
  std::set<std::string> ids;
  for (const model::PlannedRun& run : report.runs) {
    for (const model::ConfigBreach& breach : run.breaches) ids.insert(breach.finding.id);
  }
  return SarifDocument(version, ids, [&](JsonWriter& json) {
    for (const model::PlannedRun& run : report.runs) {
      for (const model::ConfigBreach& breach : run.breaches) WriteBreach(json, run, breach);
    }
  });
}

}  // namespace vigil::report
