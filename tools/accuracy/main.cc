// How often the verdict is right. Reads labelled runs, diagnoses them as the program would, and writes doc/accuracy.md.
//
// usage: accuracy [--check]
//   --check     writes nothing; fails when the page is not what is computed now
// VIGIL_CORPUS names the folder of other people's files (otherwise ../shared/corpus beside the project). Without it
// that part of the page stays as it is.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "accuracy/tables.h"
#include "platform/platform.h"

namespace vigil::accuracy {
namespace {

constexpr std::uint64_t kMostListBytes = 16U << 20U;

std::string CorpusFolder(const std::string& root) {
  const char* named = std::getenv("VIGIL_CORPUS");
  return named != nullptr ? std::string(named) : root + "/../shared/corpus";
}

std::vector<Outcome> JudgeAll(const std::vector<Case>& cases, const std::string& folder) {
  std::vector<Outcome> outcomes;
  for (const Case& labelled : cases) outcomes.push_back(Judge(labelled, Examine(folder + "/" + labelled.path)));
  return outcomes;
}

Result<std::string> ComputeFixtures(const std::string& root) {
  const std::string list = root + "/tests/fixtures/LABELS.tsv";
  const auto text = platform::ReadWholeFile(list, kMostListBytes);
  if (!text) return Fail(text.error().message);
  const auto cases = ParseFixtureLabels(*text, list);
  if (!cases) return Fail(cases.error().message);
  return "\n" + FixtureTables(JudgeAll(*cases, root + "/tests/fixtures"));
}

Result<std::string> ComputeCorpus(const std::string& root, const std::string& folder) {
  const auto text = platform::ReadWholeFile(folder + "/MANIFEST.tsv", kMostListBytes);
  if (!text) return Fail(text.error().message);
  const auto cases = ParseCorpusManifest(*text, folder + "/MANIFEST.tsv");
  if (!cases) return Fail(cases.error().message);
  const std::string readings_path = root + "/tests/corpus_readings.tsv";
  const auto readings_text = platform::ReadWholeFile(readings_path, kMostListBytes);
  if (!readings_text) return Fail(readings_text.error().message);
  const auto readings = ParseReadings(*readings_text, readings_path);
  if (!readings) return Fail(readings.error().message);
  return "\n" + CorpusTables(JudgeAll(*cases, folder), *readings);
}

int Complain(const std::string& message) {
  fmt::print(stderr, "accuracy: {}\n", message);
  return 2;
}

int Check(const std::string& old_page, const std::string& new_page) {
  for (const char* part : {"fixtures", "corpus"}) {
    if (PartOf(old_page, part) == PartOf(new_page, part)) continue;
    fmt::print("accuracy: the part '{}' of doc/accuracy.md is not what is computed now; `make accuracy` rewrites it\n",
               part);
    fmt::print("{}", PartOf(new_page, part));
    return 1;
  }
  fmt::print("accuracy: doc/accuracy.md is up to date\n");
  return 0;
}

int Main(bool check) {
  const std::string root = VIGIL_SOURCE_DIR;
  const std::string page_path = root + "/doc/accuracy.md";
  const std::string old_page = platform::ReadWholeFile(page_path, kMostListBytes).value_or("");
  const auto fixtures = ComputeFixtures(root);
  if (!fixtures) return Complain(fixtures.error().message);
  std::string page = ReplacePart(EmptyPage(), "fixtures", *fixtures);
  const std::string corpus_folder = CorpusFolder(root);
  const bool corpus_there = platform::Stat(corpus_folder + "/MANIFEST.tsv").has_value();
  if (corpus_there) {
    const auto corpus = ComputeCorpus(root, corpus_folder);
    if (!corpus) return Complain(corpus.error().message);
    page = ReplacePart(page, "corpus", *corpus);
  } else {
    if (const std::string kept = PartOf(old_page, "corpus"); !kept.empty()) page = ReplacePart(page, "corpus", kept);
    fmt::print(stderr, "accuracy: not run on other people's files: corpus absent (VIGIL_CORPUS names it)\n");
  }
  if (check) return Check(old_page, page);
  const Status written = platform::WriteFileAtomically(page_path, page);
  if (!written) return Complain(written.error().message);
  fmt::print("{}", page);
  return 0;
}

}  // namespace
}  // namespace vigil::accuracy

int main(int count, char** arguments) {
  const bool check = count == 2 && std::string_view(arguments[1]) == "--check";
  if (count > 2 || (count == 2 && !check)) return vigil::accuracy::Complain("usage: accuracy [--check]");
  return vigil::accuracy::Main(check);
}
