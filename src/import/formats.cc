#include <array>

#include "import/config_json/config_json.h"
#include "import/config_text/config_text.h"
#include "import/csv/csv.h"
#include "import/import.h"
#include "import/journal/journal.h"
#include "import/jsonl/jsonl.h"
#include "import/log/log.h"
#include "import/metric_json/metric_json.h"
#include "import/mlflow_files/mlflow_files.h"
#include "import/sqlite/sqlite.h"
#include "import/tfevents/tfevents.h"
#include "import/titan_events/titan_events.h"
#include "import/trainer_state/trainer_state.h"
#include "import/training_args/training_args.h"
#include "import/wandb/wandb.h"

namespace vigil::import {
namespace {

// Every source format that vigil reads: id, title, how it is recognised, how it is read. A new reader is a folder
// beside this file and a row here. Where two are equally sure, the first one wins.
constexpr std::array kFormats = {
    Format{"journal", "journal of vigil", RecogniseJournal, OpenJournal},
    Format{"tfevents", "TensorBoard event file", RecogniseTfevents, OpenTfevents},
    Format{"wandb", "W&B transaction log", RecogniseWandb, OpenWandb},
    Format{"sqlite", "tracker database", RecogniseSqlite, OpenSqlite},
    Format{"mlflow-files", "MLflow run folder", RecogniseMlflowFiles, OpenMlflowFiles},
    Format{"trainer-state", "Hugging Face trainer state", RecogniseTrainerState, OpenTrainerState},
    Format{"titan-events", "torchtitan events", RecogniseTitanEvents, OpenTitanEvents},
    Format{"jsonl", "JSON lines", RecogniseJsonLines, OpenJsonLines},
    Format{"metric-json", "JSON metrics by name", RecogniseMetricJson, OpenMetricJson},
    Format{"config-json", "JSON settings", RecogniseConfigJson, OpenConfigJson},
    Format{"config-yaml", "YAML settings", RecogniseConfigYaml, OpenConfigYaml},
    Format{"config-toml", "TOML settings", RecogniseConfigToml, OpenConfigToml},
    Format{"training-args", "pickled training arguments", RecogniseTrainingArgs, OpenTrainingArgs},
    Format{"csv", "table of metrics", RecogniseCsv, OpenCsv},
    Format{"log-text", "log text", RecogniseLogText, OpenLogText},
};

}  // namespace

std::span<const Format> Formats() { return kFormats; }

const Format* Recognise(const Probe& probe) {
  const Format* best = nullptr;
  int best_sureness = 0;
  for (const Format& format : Formats()) {
    const int sureness = format.recognise(probe);
    if (sureness <= best_sureness) continue;
    best_sureness = sureness;
    best = &format;
  }
  return best;
}

}  // namespace vigil::import
