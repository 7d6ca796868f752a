// What was recognised, run by run, and which files were not, and why.
#include <fmt/format.h>

#include <map>

#include "report/json.h"
#include "report/json_statement.h"
#include "report/report.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/words.h"

namespace vigil::report {
namespace {

constexpr std::size_t kMostLines = 20;

// Why it is part of this run.
std::string JoinedText(const model::JoinReason& joined) {
  if (joined.pass.empty()) return {};
  std::string text = fmt::format("\n      joined: {}", OneLine(Sentence(joined.because)));
  if (joined.common > 0)
    text += fmt::format(", the same values at {} of {} common steps", FormatCount(joined.agreeing),
                        FormatCount(joined.common));
  return text;
}

std::string SourceLine(const model::Source& source) {
  std::string line = fmt::format("    {}  {}", OneLine(source.path), source.format);
  if (!source.run.empty()) line += fmt::format(" [{}]", OneLine(source.run));
  if (source.state != model::SourceState::kRead) line += fmt::format(", {}", Name(source.state));
  if (const std::string note = NoteText(source); !note.empty()) line += fmt::format(": {}", OneLine(note));
  line += JoinedText(source.joined);
  return line + "\n";
}

std::string RunLine(const model::Run& run) {
  const Span span = SpanOf(run);
  std::string line = fmt::format("  {}: {}", OneLine(run.name), CountOf(run.series.size(), "metric"));
  if (!span.empty())
    line += fmt::format(", {}, {} in the longest", RangeText(span.Range()), CountOf(span.logged, "point"));
  if (!run.framework.empty()) line += fmt::format(", {}", OneLine(run.framework));
  if (run.method.confidence > 0) line += fmt::format(", {} ({})", run.method.name, Percent(run.method.confidence));
  if (run.ranks > 1) line += fmt::format(", {} ranks", run.ranks);
  return line + "\n";
}

std::string Listed(std::string_view title, const std::vector<model::Unread>& files) {
  if (files.empty()) return {};
  std::string out = fmt::format("\n{}: {}\n", title, FormatCount(files.size()));
  for (const model::Unread& file : files)
    out += fmt::format("  {}: {}\n", OneLine(file.path), OneLine(WhyUnread(file)));
  return out;
}

// Unrecognised files are many: beyond a few they are counted by reason.
std::string Ignored(const std::vector<model::Unread>& files) {
  if (files.size() <= kMostLines) return Listed("unrecognised files", files);
  std::map<std::string, std::size_t> counts;
  for (const model::Unread& file : files) ++counts[file.reason];
  std::string out = fmt::format("\nunrecognised files: {}\n", FormatCount(files.size()));
  for (const auto& [reason, count] : counts) out += fmt::format("  {} x {}\n", FormatCount(count), OneLine(reason));
  return out;
}

void WriteFiles(JsonWriter& json, std::string_view key, const std::vector<model::Unread>& files) {
  json.Key(key);
  json.OpenList();
  for (const model::Unread& file : files) {
    json.Open();
    json.Key("path");
    json.Text(file.path);
    json.Key("reason");
    json.Text(WhyUnread(file));
    WriteNotes(json, file.notes);
    json.Close();
  }
  json.CloseList();
}

void WriteJoined(JsonWriter& json, const model::JoinReason& joined) {
  if (joined.pass.empty()) return;
  json.Key("joined");
  json.Open();
  json.Key("pass");
  json.Text(joined.pass);
  json.Key("because");
  json.Text(Sentence(joined.because));
  json.Key("agreeing_steps");
  json.Count(joined.agreeing);
  json.Key("common_steps");
  json.Count(joined.common);
  json.Close();
}

void WriteSources(JsonWriter& json, const model::Run& run) {
  json.Key("sources");
  json.OpenList();
  for (const model::Source& source : run.sources) {
    json.Open();
    json.Key("path");
    json.Text(source.path);
    json.Key("format");
    json.Text(source.format);
    json.Key("run");
    json.TextOrNull(source.run);
    json.Key("state");
    json.Text(Name(source.state));
    json.Key("note");
    json.TextOrNull(NoteText(source));
    WriteNotes(json, source.notes);
    WriteJoined(json, source.joined);
    json.Close();
  }
  json.CloseList();
}

void WriteRunRow(JsonWriter& json, const model::Run& run) {
  const Span span = SpanOf(run);
  json.Open();
  json.Key("name");
  json.Text(run.name);
  json.Key("framework");
  json.TextOrNull(run.framework);
  json.Key("regime");
  json.Text(run.method.name);
  json.Key("ranks");
  json.Integer(run.ranks);
  json.Key("first_step");
  json.StepOrNull(span.first);
  json.Key("last_step");
  json.StepOrNull(span.last);
  json.Key("axis");
  json.Text(model::Name(span.axis));
  json.Key("signals");
  json.Count(run.series.size());
  json.Key("facts");
  json.Count(run.facts.size());
  json.Key("events");
  json.Count(run.events.size());
  WriteSources(json, run);
  json.Close();
}

}  // namespace

std::string RenderWhat(const std::vector<model::Run>& runs, const std::vector<model::Unread>& unread,
                       const std::vector<model::Unread>& ignored) {
  std::string out = fmt::format("runs: {}\n", FormatCount(runs.size()));
  for (const model::Run& run : runs) {
    out += RunLine(run);
    for (const model::Source& source : run.sources) out += SourceLine(source);
  }
  return out + Listed("could not be read", unread) + Ignored(ignored);
}

std::string RenderWhatJson(const std::vector<model::Run>& runs, const std::vector<model::Unread>& unread,
                           const std::vector<model::Unread>& ignored, std::string_view version) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.Open();
  json.Key("schema");
  json.Text("vigil.what/1");
  json.Key("version");
  json.Text(version);
  json.Key("runs");
  json.OpenList();
  for (const model::Run& run : runs) WriteRunRow(json, run);
  json.CloseList();
  WriteFiles(json, "unread", unread);
  WriteFiles(json, "ignored", ignored);
  json.Close();
  return json.Take() + "\n";
}

}  // namespace vigil::report
