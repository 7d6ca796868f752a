// A JSON document that holds metrics by name: {"lm loss": {"values": {"1": 10.9, ...}}} (Megatron's golden values),
// {"loss": {"1": 10.9}} or {"loss": [10.9, ...]} (Keras' history).
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseMetricJson(const Probe& probe);
std::unique_ptr<Reader> OpenMetricJson(PartBuilder& builder);

}  // namespace vigil::import
