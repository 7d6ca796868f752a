#include "formats/formats.h"

#include <algorithm>
#include <array>

#include "formats/config_json/config_json.h"
#include "formats/config_text/config_text.h"
#include "formats/csv/csv.h"
#include "formats/journal/journal.h"
#include "formats/jsonl/jsonl.h"
#include "formats/metric_json/metric_json.h"
#include "formats/mlflow_files/mlflow_files.h"
#include "formats/sqlite/sqlite.h"
#include "formats/tfevents/tfevents.h"
#include "formats/titan_events/titan_events.h"
#include "formats/trainer_state/trainer_state.h"
#include "formats/training_args/training_args.h"
#include "formats/wandb/wandb.h"
#include "textlog/textlog.h"

namespace vigil::formats {
namespace {

// Every source format that vigil reads: id, title, how it is recognised, how it is read. A new reader is a folder
// beside this file and a row here. Where two are equally sure, the first one wins.
constexpr std::array kFormats = {
    ingest::Format{"journal", "journal of vigil", RecogniseJournal, OpenJournal},
    ingest::Format{"tfevents", "TensorBoard event file", RecogniseTfevents, OpenTfevents},
    ingest::Format{"wandb", "W&B transaction log", RecogniseWandb, OpenWandb},
    ingest::Format{"sqlite", "tracker database", RecogniseSqlite, OpenSqlite},
    ingest::Format{"mlflow-files", "MLflow run folder", RecogniseMlflowFiles, OpenMlflowFiles},
    ingest::Format{"trainer-state", "Hugging Face trainer state", RecogniseTrainerState, OpenTrainerState},
    ingest::Format{"titan-events", "torchtitan events", RecogniseTitanEvents, OpenTitanEvents},
    ingest::Format{"jsonl", "JSON lines", RecogniseJsonLines, OpenJsonLines},
    ingest::Format{"metric-json", "JSON metrics by name", RecogniseMetricJson, OpenMetricJson},
    ingest::Format{"config-json", "JSON settings", RecogniseConfigJson, OpenConfigJson},
    ingest::Format{"config-yaml", "YAML settings", RecogniseConfigYaml, OpenConfigYaml},
    ingest::Format{"config-toml", "TOML settings", RecogniseConfigToml, OpenConfigToml},
    ingest::Format{"training-args", "pickled training arguments", RecogniseTrainingArgs, OpenTrainingArgs},
    ingest::Format{"csv", "table of metrics", RecogniseCsv, OpenCsv},
    ingest::Format{"log-text", "log text", textlog::RecogniseLogText, textlog::OpenLogText},
};

}  // namespace

ingest::FormatTable Formats() { return kFormats; }

const ingest::Format* Find(std::string_view id) {
  const auto* const at =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const ingest::Format& format) { return format.id == id; });
  return at == kFormats.end() ? nullptr : at;
}

}  // namespace vigil::formats
