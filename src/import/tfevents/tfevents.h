// TensorBoard event files: TFRecord frames around Event messages.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseTfevents(const Probe& probe);
std::unique_ptr<Reader> OpenTfevents(PartBuilder& builder);

}  // namespace vigil::import
