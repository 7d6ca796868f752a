// How often the verdict is right. Reads labelled runs, diagnoses them as the program would, and writes doc/accuracy.md.
//
// usage: accuracy [--check | --runs FOLDER]
//   --check         writes nothing; fails when the page is not what is computed now
//   --runs FOLDER   writes nothing; prints the tables of the runs that FOLDER/LABELS.tsv lists (as the gym writes it)
// VIGIL_CORPUS names the folder of other people's files (otherwise ../shared/corpus beside the project). Without it
// that part of the page stays as it is, and what is printed says so.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "accuracy/tables.h"
#include "platform/files.h"

namespace vigil::accuracy {
namespace {

constexpr std::uint64_t kMostListBytes = 16U << 20U;

std::string CorpusFolder(const std::string& root) {
  const char* named = std::getenv("VIGIL_CORPUS");
  return named != nullptr ? std::string(named) : root + "/../shared/corpus";
}

std::vector<Outcome> JudgeAll(const std::vector<Case>& cases, const std::string& folder) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(cases.size());
  for (const Case& labelled : cases) outcomes.push_back(Judge(labelled, Examine(folder + "/" + labelled.path)));
  return outcomes;
}

// The runs that FOLDER/LABELS.tsv lists, as `tables` shows them.
Result<std::string> ComputeRuns(const std::string& folder, std::string (*tables)(const std::vector<Outcome>&)) {
  const std::string list = folder + "/LABELS.tsv";
  const auto text = platform::ReadWholeFile(list, kMostListBytes);
  if (!text) return Fail(text.error());
  const auto cases = ParseFixtureLabels(*text, list);
  if (!cases) return Fail(cases.error());
  return "\n" + tables(JudgeAll(*cases, folder));
}

Result<std::string> ComputeCorpus(const std::string& root, const std::string& folder) {
  const auto text = platform::ReadWholeFile(folder + "/MANIFEST.tsv", kMostListBytes);
  if (!text) return Fail(text.error());
  const auto cases = ParseCorpusManifest(*text, folder + "/MANIFEST.tsv");
  if (!cases) return Fail(cases.error());
  const std::string readings_path = root + "/tests/corpus_readings.tsv";
  const auto readings_text = platform::ReadWholeFile(readings_path, kMostListBytes);
  if (!readings_text) return Fail(readings_text.error());
  const auto readings = ParseReadings(*readings_text, readings_path);
  if (!readings) return Fail(readings.error());
  return "\n" + CorpusTables(JudgeAll(*cases, folder), *readings);
}

int Complain(const std::string& message) {
  fmt::print(stderr, "accuracy: {}\n", message);
  return 2;
}

int Check(const std::string& old_page, const std::string& new_page) {
  for (const char* part : {"fixtures", "gym", "corpus"}) {
    if (PartOf(old_page, part) == PartOf(new_page, part)) continue;
    fmt::print("accuracy: the part '{}' of doc/accuracy.md is not what is computed now; `make accuracy` rewrites it\n",
               part);
    fmt::print("{}", PartOf(new_page, part));
    return 1;
  }
  fmt::print("accuracy: doc/accuracy.md is up to date\n");
  return 0;
}

int PrintRuns(const std::string& folder) {
  const auto tables = ComputeRuns(folder, FixtureTables);
  if (!tables) return Complain(tables.error().Text());
  fmt::print("{}", *tables);
  return 0;
}

constexpr std::string_view kCorpusAbsent =
    "\nNot run now: other people's files are absent (VIGIL_CORPUS names their folder). The tables below are those of\n"
    "the last run that had them.\n";

int Main(bool check) {
  const std::string root = VIGIL_SOURCE_DIR;
  const std::string page_path = root + "/doc/accuracy.md";
  const std::string old_page = platform::ReadWholeFile(page_path, kMostListBytes).value_or("");
  const auto fixtures = ComputeRuns(root + "/tests/fixtures", FixtureTables);
  if (!fixtures) return Complain(fixtures.error().Text());
  const auto gym = ComputeRuns(root + "/tests/fixtures/gym", GymTables);
  if (!gym) return Complain(gym.error().Text());
  std::string page = ReplacePart(ReplacePart(EmptyPage(), "fixtures", *fixtures), "gym", *gym);
  const std::string corpus_folder = CorpusFolder(root);
  const bool corpus_there = platform::Stat(corpus_folder + "/MANIFEST.tsv").has_value();
  if (corpus_there) {
    const auto corpus = ComputeCorpus(root, corpus_folder);
    if (!corpus) return Complain(corpus.error().Text());
    page = ReplacePart(page, "corpus", *corpus);
  } else {
    if (const std::string kept = PartOf(old_page, "corpus"); !kept.empty()) page = ReplacePart(page, "corpus", kept);
    fmt::print(stderr, "accuracy: not run on other people's files: corpus absent (VIGIL_CORPUS names it)\n");
  }
  if (check) return Check(old_page, page);
  const Status written = platform::WriteFileAtomically(page_path, page);
  if (!written) return Complain(written.error().Text());
  if (!corpus_there) page = ReplacePart(page, "corpus", std::string(kCorpusAbsent) + PartOf(page, "corpus"));
  fmt::print("{}", page);
  return 0;
}

}  // namespace
}  // namespace vigil::accuracy

int main(int count, char** arguments) {
  const std::string_view option = count > 1 ? arguments[1] : "";
  if (count == 3 && option == "--runs") return vigil::accuracy::PrintRuns(arguments[2]);
  if (count == 1 || (count == 2 && option == "--check")) return vigil::accuracy::Main(count == 2);
  return vigil::accuracy::Complain("usage: accuracy [--check | --runs FOLDER]");
}
