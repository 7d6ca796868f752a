// A JSON document that holds metrics by name: {"lm loss": {"values": {"1": 10.9, ...}}} (Megatron's golden values),
// {"loss": {"1": 10.9}}, {"loss": [10.9, ...]} (Keras' history) or {"loss": {"steps": [1, ...], "values": [10.9, ...]}}
// (Sacred).
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseMetricJson(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenMetricJson(ingest::PartBuilder& builder);

}  // namespace vigil::formats
