// textlog: text that a training wrote to its terminal. Metric lines and dictionaries, progress bars, settings,
// tracebacks and known error messages, in one pass and bounded memory.
#pragma once

#include <memory>
#include <string_view>

#include "catalogue/catalogue.h"
#include "ingest/ingest.h"

namespace vigil::textlog {

int RecogniseLogText(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenLogText(ingest::PartBuilder& builder);

// The known error message that a text carries; null when it carries none. For single texts: logs are searched faster.
const catalogue::SignatureRow* FindSignature(std::string_view text);

}  // namespace vigil::textlog
