// Other people's logs, where they are at hand: what is read from each must be what the table in tests/corpus_logs.tsv
// says. VIGIL_CORPUS names their folder (otherwise ../shared/corpus beside the project); VIGIL_REWRITE=1 rewrites the
// table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/base.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "platform/files.h"
#include "support/paths.h"
#include "textlog/textlog.h"

namespace vigil::textlog {
namespace {

namespace fs = std::filesystem;

const std::string kTable = std::string(testing_support::kSourceDir) + "/tests/corpus_logs.tsv";

std::string CorpusFolder() {
  const char* const named = std::getenv("VIGIL_CORPUS");
  return named != nullptr ? std::string(named) : std::string(testing_support::kSourceDir) + "/../shared/corpus";
}

// The series that shows how the training went.
const model::Series* MainSeries(const model::Run& run) {
  for (const std::string_view signal : {"loss", "reward", "policy_loss", "eval_loss"}) {
    const model::Series* const series = run.Find(signal);
    if (series != nullptr) return series;
  }
  return nullptr;
}

// path, name of the series, points, first and last step, first and last value, number of series, number of errors.
std::string RowOf(const std::string& path, const model::Run& run) {
  const auto errors = std::count_if(run.events.begin(), run.events.end(), [](const model::Event& event) {
    return event.kind == model::EventKind::kSignature || event.kind == model::EventKind::kException;
  });
  const model::Series* const series = MainSeries(run);
  if (series == nullptr) return fmt::format("{}\t-\t0\t-\t-\t-\t-\t{}\t{}", path, run.series.size(), errors);
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", path, series->raw, series->size(), series->steps.front(),
                     series->steps.back(), FormatNumber(series->values.front()), FormatNumber(series->values.back()),
                     run.series.size(), errors);
}

std::vector<std::string> ReadAll(const fs::path& folder) {
  std::vector<std::string> rows;
  for (const auto& entry : fs::directory_iterator(folder / "stdout_log")) {
    const std::string path = "stdout_log/" + entry.path().filename().string();
    const auto run = formats::ReadFile(entry.path().string());
    rows.push_back(run ? RowOf(path, *run) : path + "\tnot read");
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(CorpusLogs, AreReadAsTheTableSays) {
  const fs::path folder = CorpusFolder();
  if (!fs::exists(folder / "stdout_log")) {
    std::cout << "not run: corpus absent\n";
    GTEST_SKIP() << "not run: corpus absent";
  }
  const std::vector<std::string> rows = ReadAll(folder);
  if (std::getenv("VIGIL_REWRITE") != nullptr) {
    std::ofstream table{std::string(kTable)};
    table << "path\tseries\tpoints\tfirst_step\tlast_step\tfirst\tlast\tseries_in_all\terrors\n";
    for (const std::string& row : rows) table << row << '\n';
    return;
  }
  const auto text = platform::ReadWholeFile(std::string(kTable), 1U << 20U);
  ASSERT_TRUE(text) << text.error().Text();
  std::vector<std::string> wanted;
  for (const std::string_view line : Split(*text, '\n')) {
    if (!line.empty() && !line.starts_with("path\t")) wanted.emplace_back(line);
  }
  ASSERT_EQ(rows.size(), wanted.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], wanted[i]);
}

}  // namespace
}  // namespace vigil::textlog
