// Files of other people's runs that are no log text, where they are at hand: what is read from each is what the table
// says. VIGIL_REWRITE=1 writes the table; tests/python/check_corpus_files.py checks it with readers of others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support/paths.h"

namespace vigil::formats {
namespace {

constexpr std::array<const char*, 6> kFolders = {
    "csv_metrics",           "hf_trainer_state", "llamafactory_trainer_log",
    "megatron_golden_curve", "tfevents",         "wandb_offline"};
constexpr std::string_view kHead =
    "path\tformat\tseries\tpoints\tlongest\tits_points\tfirst_step\tlast_step\tfirst_value\tlast_value\n";

std::filesystem::path Corpus() {
  const char* const named = std::getenv("VIGIL_CORPUS");
  return named != nullptr ? std::filesystem::path(named)
                          : std::filesystem::path(testing_support::kSourceDir) / "../shared/corpus";
}

// The series with most points; of several the one whose name comes first.
const model::Series* LongestOf(const model::Run& run) {
  const model::Series* longest = nullptr;
  for (const model::Series& series : run.series) {
    if (series.axis == model::Axis::kTime || series.raw.starts_with("histogram/")) continue;
    const bool better = longest == nullptr || series.size() > longest->size() ||
                        (series.size() == longest->size() && series.raw < longest->raw);
    if (better) longest = &series;
  }
  return longest;
}

std::string RowOf(const std::string& name, const std::filesystem::path& path) {
  const auto run = ReadFile(path.string());
  if (!run) return fmt::format("{}\tunread\n", name);
  std::size_t points = 0;
  for (const model::Series& series : run->series) points += series.size();
  const model::Series* const longest = LongestOf(*run);
  std::string row = fmt::format("{}\t{}\t{}\t{}", name, run->sources[0].format, run->series.size(), points);
  if (longest == nullptr) return row + "\t-\t0\t-\t-\t-\t-\n";
  return row + fmt::format("\t{}\t{}\t{}\t{}\t{}\t{}\n", longest->raw, longest->size(), longest->steps.front(),
                           longest->steps.back(), FormatExact(longest->values.front()),
                           FormatExact(longest->values.back()));
}

TEST(CorpusFiles, AreReadAsTheTableSays) {
  std::set<std::string> names;
  for (const char* folder : kFolders) {
    if (!std::filesystem::exists(Corpus() / folder)) GTEST_SKIP() << "not run: corpus absent";
    for (const auto& entry : std::filesystem::directory_iterator(Corpus() / folder))
      names.insert(std::string(folder) + "/" + entry.path().filename().string());
  }
  std::string table(kHead);
  for (const std::string& name : names) table += RowOf(name, Corpus() / name);
  const std::string path = std::string(testing_support::kSourceDir) + "/tests/corpus_files.tsv";
  if (std::getenv("VIGIL_REWRITE") != nullptr) std::ofstream(path) << table;
  std::ifstream file(path);
  const std::string kept((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(table, kept) << "VIGIL_REWRITE=1 writes it again; the diff is the review";
}

}  // namespace
}  // namespace vigil::formats
