// Runs that have not begun, as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/json.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/sentence.h"
#include "report/words.h"

namespace vigil::report {
namespace {

// ---- text

std::string PlaceText(std::string_view path, std::uint32_t line) {
  return line == 0 ? std::string(path) : fmt::format("{}:{}", path, line);
}

struct ValueName {
  std::string_view name;
  std::string_view words;
};
constexpr std::array kValueNames = {
    ValueName{"global_batch", "batch"},     ValueName{"batch_of_a_rank", "batch"},
    ValueName{"tokens_per_step", "tokens"}, ValueName{"tokens_per_step_of_a_rank", "tokens"},
    ValueName{"steps", "length"},           ValueName{"epochs", "length"},
    ValueName{"warmup_steps", "warm-up"},   ValueName{"peak_lr", "peak LR"},
    ValueName{"save_every", "checkpoints"}, ValueName{"parameters", "parameters"},
    ValueName{"logits_bytes", "logits"},
};

std::string_view WordsOf(std::string_view name) {
  const auto* at =
      std::find_if(kValueNames.begin(), kValueNames.end(), [&](const ValueName& each) { return each.name == name; });
  return at == kValueNames.end() ? name : at->words;
}

Ink InkOf(model::Severity severity) {
  if (severity >= model::Severity::kError) return Ink::kRed;
  return severity == model::Severity::kWarning ? Ink::kYellow : Ink::kDim;
}

std::string FixText(const model::ConfigBreach& breach) {
  const model::Remedy& fix = breach.fix;
  if (fix.proposed.empty() || fix.setting.empty()) return Sentence(fix.proposed_in_words);
  if (breach.finding.id == "config/unknown-key") return fmt::format("{} in the place of {}", fix.proposed, fix.setting);
  if (fix.current.empty()) return fmt::format("{}: {}", fix.setting, fix.proposed);
  return fmt::format("{}: {} (now {})", fix.setting, fix.proposed, fix.current);
}

// "config.yaml:12", and further places behind it.
std::string PlacesText(const model::ConfigBreach& breach) {
  std::vector<std::string> places;
  for (const model::Evidence& evidence : breach.finding.evidence) {
    const bool same_file = !places.empty() && evidence.path == breach.finding.evidence.front().path;
    if (same_file && evidence.line != 0) {
      places.push_back(fmt::format("line {}", evidence.line));
    } else if (!evidence.path.empty()) {
      places.push_back(PlaceText(evidence.path, evidence.line));
    }
  }
  return Join(places, ", ");
}

void DrawBreach(Screen& screen, const model::ConfigBreach& breach) {
  const model::Finding& finding = breach.finding;
  const std::string_view level = model::Name(finding.severity);
  screen.Item(2, PadRight(level, 9), Sentence(finding.says), InkOf(finding.severity));
  screen.Item(11, "", fmt::format("{} ({})", PlacesText(breach), finding.id), Ink::kPlain, Ink::kDim);
  if (const std::string fix = FixText(breach); !fix.empty()) screen.Item(11, "set ", fix, Ink::kGreen);
}

void DrawNotChecked(Screen& screen, const model::PlannedRun& run) {
  if (run.not_checked.empty()) return;
  screen.Heading("Not checked");
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < run.not_checked.size() && i < kMost; ++i) {
    const model::NotChecked& each = run.not_checked[i];
    const std::string place = PlaceText(each.path, each.line);
    screen.Item(2, "- ", place.empty() ? Sentence(each.says) : fmt::format("{}: {}", place, Sentence(each.says)));
  }
  if (run.not_checked.size() > kMost)
    screen.Item(2, "- ", fmt::format("and {} more (--json lists all)", run.not_checked.size() - kMost));
}

std::string CountsText(const model::PlannedRun& run) {
  std::array<std::size_t, 4> counts = {};
  for (const model::ConfigBreach& breach : run.breaches) ++counts[static_cast<std::size_t>(breach.finding.severity)];
  std::vector<std::string> parts;
  for (std::size_t level = counts.size(); level-- > 0;) {
    const std::string_view name = model::Name(static_cast<model::Severity>(level));
    if (counts[level] > 0)
      parts.push_back(fmt::format("{} {}{}", counts[level], name, counts[level] > 1 && name != "info" ? "s" : ""));
  }
  return parts.empty() ? "nothing found" : Join(parts, ", ");
}

std::string KindText(const model::PlannedRun& run) {
  std::vector<std::string> words;
  words.push_back(run.files.empty() ? run.framework : run.files.front().role);
  if (run.method.confidence >= model::kMethodKnown) words.push_back(run.method.name);
  for (std::size_t i = 1; i < run.files.size(); ++i)
    words.push_back(fmt::format("with {} {}", run.files[i].role, run.files[i].path));
  return Join(words, ", ");
}

void DrawRun(Screen& screen, const model::PlannedRun& run, bool brief) {
  const bool bad = !run.breaches.empty() && run.breaches.front().finding.severity >= model::Severity::kError;
  const std::string_view mark = bad ? screen.Glyph("✗", "x") : screen.Glyph("✓", "ok");
  screen.Item(0, fmt::format("{} ", mark), fmt::format("{}: {}", run.name, CountsText(run)),
              bad ? Ink::kRed : Ink::kGreen, Ink::kBold);
  screen.Item(2, "", KindText(run), Ink::kPlain, Ink::kDim);
  if (!brief) {
    for (const model::DerivedValue& value : run.values)
      screen.Item(2, PadRight(WordsOf(value.name), 13), Sentence(value.says), Ink::kCyan);
  }
  if (!run.breaches.empty()) screen.Heading("Findings");
  for (const model::ConfigBreach& breach : run.breaches) DrawBreach(screen, breach);
  if (!brief) DrawNotChecked(screen, run);
}

// ---- JSON

void Member(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.Text(text);
}

void MemberOrNull(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.TextOrNull(text);
}

void LineOrNull(JsonWriter& json, std::uint32_t line) {
  json.Key("line");
  line == 0 ? json.Null() : json.Count(line);
}

void WriteValues(JsonWriter& json, const model::PlannedRun& run) {
  json.Key("values");
  json.OpenList();
  for (const model::DerivedValue& value : run.values) {
    json.Open();
    Member(json, "name", value.name);
    json.Key("value");
    json.Number(value.value);
    Member(json, "text", Sentence(value.says));
    json.Key("from");
    json.OpenList();
    for (const model::SettingPlace& place : value.from) {
      json.Open();
      Member(json, "path", place.path);
      LineOrNull(json, place.line);
      MemberOrNull(json, "setting", place.setting);
      json.Close();
    }
    json.CloseList();
    json.Close();
  }
  json.CloseList();
}

void WriteBreach(JsonWriter& json, const model::ConfigBreach& breach) {
  json.Open();
  Member(json, "id", breach.finding.id);
  Member(json, "severity", model::Name(breach.finding.severity));
  Member(json, "message", Sentence(breach.finding.says));
  json.Key("places");
  json.OpenList();
  for (const model::Evidence& evidence : breach.finding.evidence) {
    json.Open();
    Member(json, "path", evidence.path);
    LineOrNull(json, evidence.line);
    MemberOrNull(json, "text", Sentence(evidence.says));
    json.Close();
  }
  json.CloseList();
  json.Key("fix");
  json.Open();
  MemberOrNull(json, "file", breach.fix.file);
  MemberOrNull(json, "setting", breach.fix.setting);
  MemberOrNull(json, "current", breach.fix.current);
  MemberOrNull(json, "proposed", breach.fix.proposed);
  MemberOrNull(json, "text", Sentence(breach.fix.proposed_in_words));
  json.Close();
  json.Close();
}

void WriteNotChecked(JsonWriter& json, const model::PlannedRun& run) {
  json.Key("not_checked");
  json.OpenList();
  for (const model::NotChecked& each : run.not_checked) {
    json.Open();
    MemberOrNull(json, "path", each.path);
    LineOrNull(json, each.line);
    Member(json, "reason", Sentence(each.says));
    json.Close();
  }
  json.CloseList();
}

void WriteRun(JsonWriter& json, const model::PlannedRun& run) {
  json.Open();
  Member(json, "name", run.name);
  json.Key("files");
  json.OpenList();
  for (const model::PlannedFile& file : run.files) {
    json.Open();
    Member(json, "path", file.path);
    Member(json, "role", file.role);
    json.Close();
  }
  json.CloseList();
  MemberOrNull(json, "framework", run.framework);
  json.Key("method");
  json.Open();
  Member(json, "name", run.method.name);
  json.Key("confidence");
  json.Number(run.method.confidence);
  json.Close();
  WriteValues(json, run);
  json.Key("findings");
  json.OpenList();
  for (const model::ConfigBreach& breach : run.breaches) WriteBreach(json, breach);
  json.CloseList();
  WriteNotChecked(json, run);
  json.Close();
}

}  // namespace

std::string RenderPreflight(const model::PreflightReport& report, const TextOptions& options) {
  Screen screen(options);
  for (const model::PlannedRun& run : report.runs) {
    if (&run != &report.runs.front()) screen.Blank();
    DrawRun(screen, run, options.brief);
  }
  return screen.Take();
}

std::string RenderPreflightJson(const model::PreflightReport& report, std::string_view version) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.Open();
  Member(json, "schema", "vigil.preflight/1");
  Member(json, "version", version);
  json.Key("runs");
  json.OpenList();
  for (const model::PlannedRun& run : report.runs) WriteRun(json, run);
  json.CloseList();
  json.Key("unread");
  json.OpenList();
  for (const model::Unread& unread : report.unread) {
    json.Open();
    Member(json, "path", unread.path);
    Member(json, "reason", WhyUnread(unread));
    json.Close();
  }
  json.CloseList();
  json.Key("ignored");
  json.Count(report.ignored);
  json.Close();
  return json.Take() + "\n";
}

}  // namespace vigil::report
