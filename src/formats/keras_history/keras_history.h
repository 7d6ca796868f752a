// What Keras's fit() returns, written by hand as everybody does: json.dump(history.history, file). An object of
// metrics, each a list with a value per epoch.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseKerasHistory(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenKerasHistory(ingest::PartBuilder& builder);

}  // namespace vigil::formats
