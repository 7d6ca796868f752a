// A JSON document that holds metrics by name: {"lm loss": {"values": {"1": 10.9, ...}}} (Megatron's golden values),
// {"loss": {"1": 10.9}} or {"loss": [10.9, ...]} (Keras' history).
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseMetricJson(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenMetricJson(ingest::PartBuilder& builder);

}  // namespace vigil::formats
