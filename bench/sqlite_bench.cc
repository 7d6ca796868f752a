// Reading of an MLflow database, from file to series, against SQLite itself taking the same rows one by one.
#include <sqlite3.h>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr int kRuns = 20;
constexpr int kSteps = 10'000;

void Execute(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) std::abort();
}

std::string MakeDatabase() {
  sqlite3* database = nullptr;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) std::abort();
  Execute(database, "CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT)");
  Execute(database,
          "CREATE TABLE metrics (key TEXT, value REAL, timestamp INT, step INT, is_nan INT, run_uuid TEXT, PRIMARY KEY "
          "(key, timestamp, step, run_uuid, value, is_nan))");
  Execute(database, "BEGIN");
  for (int run = 0; run < kRuns; ++run) {
    const std::string id = fmt::format("{:032x}", run);
    Execute(database, fmt::format("INSERT INTO runs VALUES ('{}', 'run-{}')", id, run));
    Execute(database, fmt::format("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {}) INSERT "
                                  "INTO metrics SELECT 'train/loss', 3.0 / x, 1763200000000 + x, x, 0, '{}' FROM n",
                                  kSteps, id));
  }
  Execute(database, "COMMIT");
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(database, "main", &size, 0);
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(database);
  return image;
}

// The same rows, one by one, with nothing done with them.
std::size_t RowsBySqlite(const std::string& path) {
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) std::abort();
  sqlite3_stmt* rows = nullptr;
  const char* const sql = "SELECT run_uuid, key, value, timestamp, step, is_nan FROM metrics NOT INDEXED";
  if (sqlite3_prepare_v2(database, sql, -1, &rows, nullptr) != SQLITE_OK) std::abort();
  std::size_t count = 0;
  double sum = 0;
  while (sqlite3_step(rows) == SQLITE_ROW) {
    count += sqlite3_column_text(rows, 0) != nullptr && sqlite3_column_text(rows, 1) != nullptr ? 1 : 0;
    sum += sqlite3_column_double(rows, 2) + static_cast<double>(sqlite3_column_int64(rows, 4));
  }
  sqlite3_finalize(rows);
  sqlite3_close(database);
  return sum > 0 ? count : 0;
}

}  // namespace
}  // namespace vigil::bench

int main() {
  using namespace vigil::bench;
  const std::string image = MakeDatabase();
  const TemporaryFile file("mlflow.db", image);
  std::size_t points = 0;
  const double ours = BestSeconds(5, [&] {
    points = 0;
    const auto runs = vigil::formats::ReadRuns(file.path());
    if (!runs) std::abort();
    for (const auto& run : *runs) points += run.series.front().size();
  });
  std::size_t rows = 0;
  const double peer = BestSeconds(5, [&] { rows = RowsBySqlite(file.path()); });
  if (points != rows) std::abort();
  fmt::print("MLflow database, {} points, {:.1f} MB: {:.2f} M points/s; SQLite alone {:.2f} M rows/s; ratio {:.2f}\n",
             points, Megabytes(image.size()), static_cast<double>(points) / ours * 1e-6,
             static_cast<double>(rows) / peer * 1e-6, ours / peer);
  return 0;
}
