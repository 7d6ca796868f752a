#include <fmt/format.h>

#include <memory>
#include <unordered_map>

#include "catalogue/says.h"
#include "codec/codec.h"
#include "formats/sqlite/trackers.h"
#include "hyperparams/hyperparams.h"
#include "ingest/ingest.h"
#include "tabular/json_rows.h"
#include "tabular/json_table.h"
#include "tabular/row.h"

namespace vigil::formats::sqlite {
namespace {

using codec::JsonToken;

// A run, its metrics and those of its machine.
struct TrackedRun {
  explicit TrackedRun(ingest::PartBuilder& part) : builder(part), metrics(part), system_reader(system_columns) {}
  TrackedRun(const TrackedRun&) = delete;
  TrackedRun& operator=(const TrackedRun&) = delete;
  TrackedRun(TrackedRun&&) = delete;
  TrackedRun& operator=(TrackedRun&&) = delete;
  ~TrackedRun() = default;

  ingest::PartBuilder& builder;
  tabular::JsonTable metrics;
  tabular::Columns system_columns;
  tabular::RowReader system_reader;
  std::uint64_t broken_rows = 0;
};

class Project {
 public:
  Project(Database& database, ingest::PartBuilder& builder) : database_(database), builder_(builder) {}

  void Read() {
    ReadMetrics();
    ReadSystemMetrics();
    ReadConfigs();
    ReadAlerts();
    for (auto& [id, run] : runs_) {
      run->metrics.Finish();
      if (run->broken_rows != 0) run->builder.ReportDamage(says::DamageRowsWithoutJson{.count = run->broken_rows});
    }
  }

 private:
  // Databases of the first versions know runs by name only.
  TrackedRun* Find(std::string_view id, std::string_view name) {
    const std::string key(id.empty() ? name : id);
    if (const auto at = runs_.find(key); at != runs_.end()) return at->second.get();
    if (runs_.size() >= kMostRuns) return nullptr;
    auto run = std::make_unique<TrackedRun>(builder_.OpenRun(key, name));
    return runs_.emplace(key, std::move(run)).first->second.get();
  }

  static bool ReadCells(TrackedRun& run, tabular::RowReader& reader, std::string_view json) {
    codec::JsonScanner scanner(json);
    if (scanner.Next() == JsonToken::kObjectBegin) {
      reader.Begin();
      if (reader.Read(scanner) == JsonToken::kObjectEnd) return true;
    }
    ++run.broken_rows;
    return false;
  }

  void ReadMetrics() {
    Rows rows = database_.Select("metrics", {"?run_id", "run_name", "step", "timestamp", "metrics"});
    while (rows.Next()) {
      TrackedRun* const run = Find(rows.Text(0), rows.Text(1));
      if (run == nullptr || !ReadCells(*run, run->metrics.reader(), rows.Text(4))) continue;
      // The tracker counts log calls, or what the user gave it; a step inside the row is the trainer's own.
      run->metrics.reader().AddNumber("_step", static_cast<double>(rows.Integer(2)));
      run->metrics.reader().AddNumber("_timestamp", ingest::ParseUnixTime(rows.Text(3)));
      run->metrics.AddRow();
    }
    ReportProblem(rows, "metrics", builder_);
  }

  void ReadSystemMetrics() {
    if (!database_.Has("system_metrics", {"run_name", "timestamp", "metrics"})) return;
    Rows rows = database_.Select("system_metrics", {"?run_id", "run_name", "timestamp", "metrics"});
    while (rows.Next()) {
      const double time = ingest::ParseUnixTime(rows.Text(2));
      TrackedRun* const run = Find(rows.Text(0), rows.Text(1));
      if (run == nullptr || time != time || !ReadCells(*run, run->system_reader, rows.Text(3))) continue;
      for (const tabular::Cell& cell : run->system_reader.cells()) {
        if (cell.is_null) continue;
        const auto series = run->builder.OpenSeries("system/" + run->system_columns.name(cell.column));
        run->builder.series(series).axis = model::Axis::kTime;
        run->builder.Add(series, static_cast<std::int64_t>(time), cell.value, time);
      }
    }
    ReportProblem(rows, "system_metrics", builder_);
  }

  void ReadConfigs() {
    if (!database_.Has("configs", {"run_name", "config"})) return;
    Rows rows = database_.Select("configs", {"?run_id", "run_name", "config"});
    while (rows.Next()) {
      if (TrackedRun* const run = Find(rows.Text(0), rows.Text(1)))
        hyperparams::AddJsonHyperparameters(rows.Text(2), run->builder);
    }
    ReportProblem(rows, "configs", builder_);
  }

  void ReadAlerts() {
    if (!database_.Has("alerts", {"run_name", "timestamp", "title", "text", "step"})) return;
    Rows rows = database_.Select("alerts", {"?run_id", "run_name", "timestamp", "title", "text", "step"});
    while (rows.Next()) {
      TrackedRun* const run = Find(rows.Text(0), rows.Text(1));
      if (run == nullptr) continue;
      model::Event event;
      event.text = Printable(fmt::format("alert: {}: {}", rows.Text(3), rows.Text(4)));
      event.time = ingest::ParseUnixTime(rows.Text(2));
      if (!rows.IsNull(5) && rows.Integer(5) >= 0) event.at = model::StepAt(rows.Integer(5));
      run->builder.AddEvent(std::move(event));
    }
    ReportProblem(rows, "alerts", builder_);
  }

  Database& database_;
  ingest::PartBuilder& builder_;
  std::unordered_map<std::string, std::unique_ptr<TrackedRun>> runs_;
};

}  // namespace

bool IsTrackio(Database& database) { return database.Has("metrics", {"run_name", "step", "timestamp", "metrics"}); }

void ReadTrackio(Database& database, ingest::PartBuilder& builder) { Project(database, builder).Read(); }

}  // namespace vigil::formats::sqlite
