#include "formats/formats.h"

#include <algorithm>
#include <array>

#include "formats/config_json/config_json.h"
#include "formats/config_text/config_text.h"
#include "formats/csv/csv.h"
#include "formats/journal/journal.h"
#include "formats/jsonl/jsonl.h"
#include "formats/keras_history/keras_history.h"
#include "formats/metric_json/metric_json.h"
#include "formats/mlflow_files/mlflow_files.h"
#include "formats/notebook/notebook.h"
#include "formats/sqlite/sqlite.h"
#include "formats/tfevents/tfevents.h"
#include "formats/titan_events/titan_events.h"
#include "formats/trainer_state/trainer_state.h"
#include "formats/training_args/training_args.h"
#include "formats/wandb/wandb.h"
#include "textlog/textlog.h"

namespace vigil::formats {
namespace {

using ingest::RunFiles;

// A tracker's database says which tracker's it is.
constexpr std::array<std::string_view, 2> kDatabases = {"mlflow-db", "trackio-db"};

// Rows in a list may be anybody's.
constexpr std::array<std::string_view, 1> kRowsOnly = {"json-rows"};

// Every source format that vigil reads: id, title, how it is recognised, how it is read, what others must know of it. A
// new reader is a folder beside this file and a row here. Where two are equally sure, the first one wins.
constexpr std::array kFormats = {
    ingest::Format{"journal",
                   "journal of vigil",
                   RecogniseJournal,
                   OpenJournal,
                   {.digits = 18, .files = RunFiles::kNumberedParts}},
    ingest::Format{"tfevents",
                   "TensorBoard event file",
                   RecogniseTfevents,
                   OpenTfevents,
                   {.digits = 7, .files = RunFiles::kOnePerStart}},
    ingest::Format{"wandb",
                   "W&B transaction log",
                   RecogniseWandb,
                   OpenWandb,
                   {.digits = 16, .files = RunFiles::kTracker, .names_runs = true}},
    ingest::Format{"sqlite", "tracker database", RecogniseSqlite, OpenSqlite, {.digits = 16, .variants = kDatabases}},
    ingest::Format{"mlflow-files",
                   "MLflow run directory",
                   RecogniseMlflowFiles,
                   OpenMlflowFiles,
                   {.digits = 16, .files = RunFiles::kOnePerMetric, .names_runs = true}},
    ingest::Format{"trainer-state",
                   "Hugging Face trainer state",
                   RecogniseTrainerState,
                   OpenTrainerState,
                   {.digits = 17, .files = RunFiles::kWholeHistory, .variants = kRowsOnly}},
    ingest::Format{"titan-events", "torchtitan events", RecogniseTitanEvents, OpenTitanEvents},
    ingest::Format{"jsonl", "JSON lines", RecogniseJsonLines, OpenJsonLines, {.digits = 16}},
    ingest::Format{"notebook", "Jupyter notebook", RecogniseNotebook, OpenNotebook, {.has_messages = true}},
    ingest::Format{"keras-history", "Keras history", RecogniseKerasHistory, OpenKerasHistory, {.digits = 16}},
    ingest::Format{"metric-json", "JSON metrics by name", RecogniseMetricJson, OpenMetricJson, {.digits = 15}},
    ingest::Format{"config-json", "JSON settings", RecogniseConfigJson, OpenConfigJson, {.is_config = true}},
    ingest::Format{"config-yaml", "YAML settings", RecogniseConfigYaml, OpenConfigYaml, {.is_config = true}},
    ingest::Format{"config-toml", "TOML settings", RecogniseConfigToml, OpenConfigToml, {.is_config = true}},
    ingest::Format{"training-args", "pickled training arguments", RecogniseTrainingArgs, OpenTrainingArgs},
    ingest::Format{"csv", "table of metrics", RecogniseCsv, OpenCsv, {.digits = 14}},
    ingest::Format{"log-text", "log text", textlog::RecogniseLogText, textlog::OpenLogText, {.has_messages = true}},
};

}  // namespace

ingest::FormatTable Formats() { return kFormats; }

const ingest::Format* Find(std::string_view id) {
  const auto* const at =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const ingest::Format& format) { return format.id == id; });
  return at == kFormats.end() ? nullptr : at;
}

}  // namespace vigil::formats
