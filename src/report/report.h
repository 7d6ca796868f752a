// report: what was found, as text for a terminal, JSON for machines, HTML for people. Pure functions of the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "model/preflight.h"
#include "model/report.h"

namespace vigil::report {

struct TextOptions {
  int width = 80;
  bool colour = false;
  bool unicode = true;   // spark lines and plots in block characters; plain ASCII otherwise
  bool brief = false;    // the verdict of each run and nothing below it
  bool verbose = false;  // every finding, all evidence, coverage, sources
};

// The first five lines of a run are enough to act on: what happened at which position, the cause, the decisive
// evidence, the one setting to change, where to restart.
std::string RenderText(const model::Report& report, const TextOptions& options);

// Schema vigil.diagnosis/1, one shape whatever was given. `version` is the program's.
std::string RenderJson(const model::Report& report, std::string_view version);

// One self-contained page: no network, light and dark, printable, plots with findings marked and values on hover.
std::string RenderHtml(const model::Report& report, std::string_view version);

// Runs that are still going, in a few lines each: the position, where each rank is, last values with spark lines, what
// is wrong now. `now_unix_s` gives how long a rank has been silent; without it that is left out.
std::string RenderLive(const model::Report& report, const TextOptions& options, double now_unix_s = model::kNoValue);

// A finding that came up while a run was watched, or one that no longer holds.
struct Alarm {
  std::string time;  // local, "2026-11-15T03:12:45"
  std::string run;   // empty where only one is watched
  std::string id;
  model::Severity severity = model::Severity::kWarning;
  model::Position first;
  model::Statement says;
  bool cleared = false;
};
std::string AlarmText(const Alarm& alarm, const TextOptions& options);
// One line, schema vigil.alarm/1.
std::string AlarmJson(const Alarm& alarm);

// For continuous integration: a case per run and family of checks, which fails from `limit` on (never without one), and
// is skipped where nothing was logged to check.
std::string RenderJunit(const model::Report& report, std::optional<model::Severity> limit);
// For code scanning: SARIF 2.1.0, a result per finding with the file and line it rests on.
std::string RenderSarif(const model::Report& report, std::string_view version);
// For a collector: OpenMetrics 1.0, severities, positions of findings, confidence of causes and last values as gauges.
std::string RenderOpenMetrics(const model::Report& report);
// A TensorBoard event file about one run: verdict and findings as text, severities as scalars at the positions
// concerned.
std::string RenderEvents(const model::RunReport& run, double unix_time);
// `path` as a URI reference, absolute paths with the scheme of files.
std::string UriOf(std::string_view path);

// Runs that have not begun: the numbers that follow from their settings, findings with file and line, what could not be
// checked; as text, as JSON (schema vigil.preflight/1) and as SARIF 2.1.0. `brief`: findings only.
std::string RenderPreflight(const model::PreflightReport& report, const TextOptions& options);
std::string RenderPreflightJson(const model::PreflightReport& report, std::string_view version);
std::string RenderPreflightSarif(const model::PreflightReport& report, std::string_view version);

// What is wrong with a source, or whose duplicate it is; empty when there is nothing to say.
std::string NoteText(const model::Source& source);
// Why nothing was read from a file.
std::string WhyUnread(const model::Unread& unread);
// What an event says: the words of the file, or the sentence of what it recorded.
std::string EventText(const model::Event& event);

// What was recognised run by run, what could not be read, and which files were not recognised and why; as text, and as
// JSON (schema vigil.what/1).
std::string RenderWhat(const std::vector<model::Run>& runs, const std::vector<model::Unread>& unread,
                       const std::vector<model::Unread>& ignored);
std::string RenderWhatJson(const std::vector<model::Run>& runs, const std::vector<model::Unread>& unread,
                           const std::vector<model::Unread>& ignored, std::string_view version);

// The page of a finding, cause, evidence, remedy, config rule, signature or signal (also by a name it is logged under).
// An unknown id is an error that offers the nearest.
Result<std::string> ExplainText(std::string_view id, const TextOptions& options);
Result<std::string> ExplainJson(std::string_view id);
// Every id with its title, by kind.
std::string ListText(const TextOptions& options);
std::string ListJson();
// The same rows as Markdown, one page per kind (findings, causes, ...), for doc/guide/reference.
std::vector<std::string> ReferenceKinds();
Result<std::string> ReferenceMarkdown(std::string_view kind);

}  // namespace vigil::report
