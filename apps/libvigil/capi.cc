// The C ABI: arguments checked, one call each. No exception crosses it.
#include <vigil/vigil.h>

#include <algorithm>
#include <cstring>

#include "record/record.h"
#include "support.h"

namespace vigil::capi {
namespace {

// Handles of tensors are those of their first series, turned over: so neither is taken for the other.
std::uint64_t Turned(std::uint64_t handle) { return handle == 0 ? 0 : ~handle; }

// A thread's own, so that nobody's is overwritten.
constexpr std::size_t kErrorBytes = 512;
thread_local char last_error[kErrorBytes] = {};

}  // namespace

void KeepError(std::string_view message) {
  const std::size_t size = std::min(message.size(), kErrorBytes - 1);
  std::copy_n(message.begin(), size, last_error);
  last_error[size] = '\0';
}

int Explained(int code) {
  if (code != VIGIL_OK && last_error[0] == '\0') KeepError(record::Describe(static_cast<Code>(code)));
  return code;
}

}  // namespace vigil::capi

using namespace vigil::capi;
using vigil::journal::Definition;

namespace {

bool FillDefinition(const vigil_series_options& options, Definition& definition) {
  namespace model = vigil::model;
  const bool known = IsWithin(options.axis, model::Axis::kTime) && IsWithin(options.value, model::Aggregation::kMean) &&
                     IsWithin(options.clipping, model::Clipping::kAfter);
  if (!known || (options.label_count > 0 && options.labels == nullptr)) return false;
  definition.axis = static_cast<model::Axis>(options.axis);
  definition.aggregation = static_cast<model::Aggregation>(options.value);
  definition.clipping = static_cast<model::Clipping>(options.clipping);
  definition.unit = OrEmpty(options.unit);
  for (std::uint32_t i = 0; i < options.label_count; ++i) {
    const vigil_label& label = options.labels[i];
    if (label.key == nullptr || label.value == nullptr) return false;
    definition.labels.emplace_back(label.key, label.value);
  }
  return true;
}

}  // namespace

const char* vigil_version(void) { return VIGIL_VERSION; }

const char* vigil_error_text(int code) {
  return vigil::record::Describe(static_cast<Code>(code)).data();  // literals: they end in NUL
}

const char* vigil_last_error(void) { return last_error; }

int vigil_run_open(const vigil_run_options* options, vigil_run* run) {
  return Explained(Guarded([&] {
    KeepError({});
    if (run == nullptr) return Code::kInvalid;
    run->id = 0;
    vigil_run_options given = VIGIL_RUN_OPTIONS_INIT;
    if (!CopyGiven(options, given)) return Code::kInvalid;
    vigil::record::Options made;
    made.folder = OrEmpty(given.folder);
    made.run = OrEmpty(given.run_id);
    made.name = OrEmpty(given.name);
    made.rank = given.rank;
    // Zero, as fields are that an initialiser does not name, is no choice.
    if (given.world_size != 0) made.world = given.world_size;
    if (given.flush_interval_ms != 0) made.flush_interval_ms = given.flush_interval_ms;
    if (given.lane_kib != 0) made.lane_bytes = std::uint64_t{given.lane_kib} << 10U;
    made.shared_ring = given.private_ring == 0;
    made.sync_interval_ms = given.sync_interval_ms;
    std::string message;
    const Code code = vigil::record::Open(made, run->id, message);
    KeepError(message);
    return code;
  }));
}

int vigil_run_close(vigil_run run, int64_t status) { return ToInt(vigil::record::Close(run.id, status)); }
int vigil_run_flush(vigil_run run, uint32_t timeout_ms) { return ToInt(vigil::record::Flush(run.id, timeout_ms)); }

int vigil_run_get_status(vigil_run run, vigil_run_status* status) {
  return Guarded([&] {
    if (status == nullptr || status->size < sizeof(status->size)) return Code::kInvalid;
    vigil::record::RunStatus got;
    const Code code = vigil::record::GetStatus(run.id, got);
    if (code != Code::kOk) return code;
    vigil_run_status filled = {status->size,
                               got.problem,
                               got.written_bytes,
                               got.records,
                               got.dropped_records,
                               got.survives_kill ? 1U : 0U,
                               static_cast<std::uint32_t>(got.shared_bytes >> 10U),
                               static_cast<std::uint32_t>(got.lane_bytes >> 10U),
                               0};
    std::memcpy(status, &filled, std::min<std::size_t>(status->size, sizeof(filled)));
    return code;
  });
}

int vigil_series_open(vigil_run run, const char* name, const vigil_series_options* options, vigil_series* series) {
  return Guarded([&] {
    if (series == nullptr) return Code::kInvalid;
    series->id = 0;
    vigil_series_options given = VIGIL_SERIES_OPTIONS_INIT;
    if (name == nullptr || (options != nullptr && !CopyGiven(options, given))) return Code::kInvalid;
    Definition definition;
    definition.name = name;
    if (!FillDefinition(given, definition)) return Code::kInvalid;
    return vigil::record::OpenSeries(run.id, definition, series->id);
  });
}

int vigil_series_add(vigil_series series, int64_t step, double value) {
  return ToInt(vigil::record::Add(series.id, step, value));
}

int vigil_step_begin(vigil_run run, int64_t step) { return ToInt(vigil::record::BeginStep(run.id, step)); }
int vigil_step_end(vigil_run run) { return ToInt(vigil::record::EndStep(run.id)); }
int vigil_phase_begin(vigil_run run, int phase) {
  return ToInt(vigil::record::BeginPhase(run.id, static_cast<vigil::record::Phase>(phase)));
}
int vigil_phase_end(vigil_run run, int phase) {
  return ToInt(vigil::record::EndPhase(run.id, static_cast<vigil::record::Phase>(phase)));
}

int vigil_tensor_open(vigil_run run, const char* what, const char* layer, vigil_tensor* tensor) {
  if (tensor == nullptr) return VIGIL_INVALID;
  tensor->id = 0;
  if (what == nullptr || layer == nullptr) return VIGIL_INVALID;
  const int code = ToInt(vigil::record::OpenTensor(run.id, what, layer, tensor->id));
  tensor->id = Turned(tensor->id);
  return code;
}

int vigil_tensor_add(vigil_tensor tensor, int64_t step, const vigil_tensor_stats* stats) {
  if (stats == nullptr) return VIGIL_INVALID;
  const vigil::record::TensorStatistics made = {stats->norm,
                                                stats->min,
                                                stats->max,
                                                stats->mean,
                                                stats->deviation,
                                                static_cast<double>(stats->elements),
                                                static_cast<double>(stats->non_finite),
                                                static_cast<double>(stats->zeros)};
  return ToInt(vigil::record::AddTensor(Turned(tensor.id), step, made));
}

int vigil_event_add(vigil_run run, const vigil_event* event) {
  return Guarded([&] {
    vigil_event given = VIGIL_EVENT_INIT;
    if (!CopyGiven(event, given)) return Code::kInvalid;
    const bool known = IsWithin(given.kind, vigil::journal::EventKind::kEpoch) &&
                       IsWithin(given.severity, vigil::model::Severity::kFatal);
    if (!known) return Code::kInvalid;
    vigil::journal::Event made;
    made.kind = static_cast<vigil::journal::EventKind>(given.kind);
    made.severity = static_cast<vigil::model::Severity>(given.severity);
    made.step = given.step;
    made.name = OrEmpty(given.name);
    made.text = OrEmpty(given.text);
    made.json = OrEmpty(given.json);
    return vigil::record::AddEvent(run.id, made);
  });
}

int vigil_config_set(vigil_run run, const char* key, const char* value) {
  return ToInt(vigil::record::AddHyperparameter(run.id, OrEmpty(key), OrEmpty(value)));
}

int vigil_artifact_add(vigil_run run, int64_t step, const char* kind, const char* path) {
  return ToInt(vigil::record::AddArtifact(run.id, step, OrEmpty(kind), OrEmpty(path)));
}

int vigil_batch_add(vigil_run run, int64_t step, uint64_t fingerprint) {
  return ToInt(vigil::record::AddBatch(run.id, step, fingerprint));
}

uint64_t vigil_fingerprint(const void* data, size_t size_bytes) {
  if (data == nullptr) return 0;
  return vigil::record::Fingerprint({static_cast<const char*>(data), size_bytes});
}
