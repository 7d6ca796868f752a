#include "accuracy/twins.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "accuracy/judge.h"
#include "accuracy/markdown.h"
#include "platform/files.h"
#include "scale/read_set.h"

namespace vigil::accuracy {
namespace {

constexpr std::string_view kReference = "jsonl";
constexpr std::size_t kMostFiles = 1'000'000;
constexpr std::uint64_t kMostListBytes = 1U << 20U;

// Runs about which the reference says something, and those about which it says nothing, are counted apart: where there
// is nothing to say, a file that was half read agrees.
struct StyleTally {
  int unread = 0;
  int spoken = 0;
  int same_errors = 0;
  int same_verdict = 0;
  int same_findings = 0;
  int silent = 0;
  int still_silent = 0;

  void Add(const TwinVerdict& twin, const TwinVerdict& reference) {
    unread += twin.read ? 0 : 1;
    if (reference.findings.empty()) {
      ++silent;
      still_silent += twin.read && twin.findings.empty() ? 1 : 0;
      return;
    }
    ++spoken;
    const bool has_same_errors = twin.read && twin.errors == reference.errors;
    same_errors += has_same_errors ? 1 : 0;
    same_verdict += has_same_errors && twin.cause == reference.cause ? 1 : 0;
    same_findings += twin.read && twin.findings == reference.findings ? 1 : 0;
  }
};

std::string RowOf(const std::string& name, const std::string& config, const StyleTally& tally) {
  return Row({name, config, ShareOf(tally.same_verdict, tally.spoken), ShareOf(tally.same_errors, tally.spoken),
              ShareOf(tally.same_findings, tally.spoken), ShareOf(tally.still_silent, tally.silent),
              fmt::format("{}", tally.unread)});
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : Split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// run/style, for all files of the folder.
std::set<std::string> RenderedIn(const std::string& folder) {
  std::vector<Error> unreadable;
  std::set<std::string> rendered;
  for (const platform::Entry& entry : platform::ListFiles(folder, kMostFiles, unreadable)) {
    const std::string inside = entry.path.substr(folder.size() + 1);
    const auto parts = Split(inside, '/');
    if (parts.size() > 2) rendered.insert(fmt::format("{}/{}", parts[0], parts[1]));
  }
  return rendered;
}

}  // namespace

TwinVerdict TwinVerdictOf(const model::Report& report) {
  TwinVerdict verdict;
  verdict.read = !report.runs.empty();
  for (const model::RunReport& run : report.runs) {
    for (const model::Finding& finding : run.findings) {
      if (finding.severity >= model::Severity::kWarning) verdict.findings.insert(finding.id);
      if (finding.severity >= model::Severity::kError) verdict.errors.insert(finding.id);
    }
    if (verdict.cause.empty() && !run.diagnoses.empty()) verdict.cause = run.diagnoses.front().cause;
  }
  return verdict;
}

std::map<std::string, Style> ParseStyles(std::string_view text) {
  std::map<std::string, Style> styles;
  for (const std::string_view line : Split(text, '\n')) {
    const auto words = WordsOf(line);
    if (words.empty()) continue;
    Style& style = styles[std::string(words[0])];
    style.config = words.size() > 1 ? words[1] : "-";
    style.is_lossy = words.size() > 2 && words[2] == "lossy";
  }
  return styles;
}

std::string TwinTable(const std::vector<Rendering>& renderings, const std::map<std::string, Style>& styles) {
  std::map<std::string, const TwinVerdict*> references;
  for (const Rendering& one : renderings) {
    if (one.style == kReference) references[one.run] = &one.verdict;
  }
  std::map<std::string, StyleTally> tallies;
  StyleTally exact;
  StyleTally lossy;
  for (const Rendering& one : renderings) {
    const auto reference = references.find(one.run);
    if (reference == references.end() || one.style == kReference) continue;
    tallies[one.style].Add(one.verdict, *reference->second);
    const auto style = styles.find(one.style);
    (style != styles.end() && style->second.is_lossy ? lossy : exact).Add(one.verdict, *reference->second);
  }
  std::string table =
      Header({"style", "settings", "same verdict", "same errors", "same findings", "still silent", "not read"});
  table += RowOf("**all that lose nothing**", "", exact) + RowOf("**all that are lossy**", "", lossy);
  for (const auto& [name, tally] : tallies) {
    const auto style = styles.find(name);
    const bool is_known = style != styles.end();
    table += RowOf(Cell(name) + (is_known && style->second.is_lossy ? " (lossy)" : ""),
                   is_known ? Cell(style->second.config) : "-", tally);
  }
  int spoken = 0;
  for (const auto& [run, verdict] : references) spoken += verdict->findings.empty() ? 0 : 1;
  return fmt::format("\n{} runs, {} of them with a finding as JSON lines, each in {} other styles.\n\n",
                     references.size(), spoken, tallies.size()) +
         table + "\n";
}

Result<std::string> CompareTwins(const std::string& path, unsigned threads) {
  const std::string folder = platform::AbsolutePath(path);
  const auto list = platform::ReadWholeFile(folder + "/STYLES", kMostListBytes);
  if (!list) return Fail(list.error());
  const std::set<std::string> rendered = RenderedIn(folder);
  if (rendered.empty())
    return Fail(ErrorCode::kNotFound, folder, "no run/style folders in it: `make twins` writes them");
  std::vector<Rendering> renderings;
  for (const std::string& one : rendered) {
    const std::size_t slash = one.find('/');
    renderings.push_back({one.substr(0, slash), one.substr(slash + 1), {}});
  }
  scale::ForEachInParallel(renderings.size(), threads, [&](std::size_t i) {
    Rendering& one = renderings[i];
    one.verdict = TwinVerdictOf(Examine(folder + "/" + one.run + "/" + one.style));
  });
  return TwinTable(renderings, ParseStyles(*list));
}

}  // namespace vigil::accuracy
