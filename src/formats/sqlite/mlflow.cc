#include <array>
#include <cfloat>
#include <unordered_map>

#include "catalogue/says.h"
#include "formats/sqlite/trackers.h"

namespace vigil::formats::sqlite {
namespace {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// MLflow has no infinity: it stores the largest number instead.
double ValueOf(const Rows& rows, int value, int is_nan) {
  if (rows.Integer(is_nan) != 0) return std::numeric_limits<double>::quiet_NaN();
  const double number = rows.Number(value);
  if (number >= DBL_MAX) return std::numeric_limits<double>::infinity();
  return number <= -DBL_MAX ? -std::numeric_limits<double>::infinity() : number;
}

// The runs of the database, each with its builder.
class Store {
 public:
  Store(Database& database, ingest::PartBuilder& builder) : database_(database), builder_(builder) {}

  void Read() {
    ReadRuns();
    ReadParameters();
    ReadMetrics();
    for (auto& [id, run] : runs_) run->CountRowsIfNeverStepped();
  }

 private:
  void ReadRuns() {
    Rows rows = database_.Select("runs", {"run_uuid", "?name", "?status", "?lifecycle_stage", "?end_time"});
    while (rows.Next()) {
      if (rows.Text(3) == "deleted") {
        ++deleted_;
      } else if (runs_.size() < kMostRuns) {
        ingest::PartBuilder& run = builder_.OpenRun(rows.Text(0), rows.IsNull(1) ? rows.Text(0) : rows.Text(1));
        runs_.emplace(rows.Text(0), &run);
        StateEnd(run, rows.Text(2), rows.Number(4));
      }
    }
    ReportProblem(rows, "runs", builder_);
    if (deleted_ != 0) builder_.AddNote(says::NoteDeletedRuns{.count = deleted_});
    if (runs_.size() == kMostRuns) builder_.AddNote(says::NoteTooManyRuns{.limit = kMostRuns});
  }

  static void StateEnd(ingest::PartBuilder& run, std::string_view status, double end_ms) {
    if (status != "FINISHED" && status != "FAILED" && status != "KILLED") return;
    model::Event event;
    // Why it failed is not in the database, so that a failure alone is a remark.
    event.kind = status == "FINISHED" ? model::EventKind::kExit : model::EventKind::kMessage;
    event.name = status == "FINISHED" ? "finished" : "";
    event.says = says::EventMlflowStatus{.status = status};
    if (end_ms > 0) event.time = end_ms / 1000;
    run.AddEvent(std::move(event));
  }

  ingest::PartBuilder* Find(std::string_view id) {
    const auto at = runs_.find(id);
    return at == runs_.end() ? nullptr : at->second;
  }

  void ReadParameters() {
    if (!database_.Has("params", {"run_uuid", "key", "value"})) return;
    Rows rows = database_.Select("params", {"run_uuid", "key", "value"});
    while (rows.Next()) {
      if (ingest::PartBuilder* const run = Find(rows.Text(0))) run->AddFact(rows.Text(1), Printable(rows.Text(2)));
    }
    ReportProblem(rows, "params", builder_);
  }

  void ReadMetrics() {
    Rows rows = database_.Select("metrics", {"run_uuid", "key", "value", "timestamp", "step", "?is_nan"});
    while (rows.Next()) {
      ingest::PartBuilder* const run = Find(rows.Text(0));
      if (run == nullptr) continue;
      const std::string_view key = rows.Text(1);
      const auto series = run->OpenSeries(key);
      const double time = rows.Number(3) / 1000;
      const bool system = key.starts_with("system/");
      if (system) run->series(series).axis = model::Axis::kTime;
      // Samples of the machine are numbered on their own: they are placed by the clock.
      run->Add(series, system ? static_cast<std::int64_t>(time) : rows.Integer(4), ValueOf(rows, 2, 5), time);
    }
    ReportProblem(rows, "metrics", builder_);
  }

  Database& database_;
  ingest::PartBuilder& builder_;
  std::unordered_map<std::string, ingest::PartBuilder*, StringHash, std::equal_to<>> runs_;
  std::uint64_t deleted_ = 0;
};

}  // namespace

bool IsMlflow(Database& database) {
  return database.Has("metrics", {"run_uuid", "key", "value", "timestamp", "step"}) &&
         database.Has("runs", {"run_uuid"});
}

void ReadMlflow(Database& database, ingest::PartBuilder& builder) { Store(database, builder).Read(); }

}  // namespace vigil::formats::sqlite
