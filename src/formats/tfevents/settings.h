// Settings of a run that stand in its event file: hyperparameters, and configs written as text summaries.
#pragma once

#include <string_view>

#include "ingest/ingest.h"

namespace vigil::formats::tfevents {

// Every hyperparameter in the content of an `hparams` summary, when it is the one that starts a session.
void AddHparams(std::string_view plugin_content, ingest::PartBuilder& builder);

// The settings in a text summary: a JSON object (what the Hugging Face Trainer writes as "args" and "model_config") or
// a Markdown table of two columns. False when it is other text.
bool AddTextSettings(std::string_view text, ingest::PartBuilder& builder);

}  // namespace vigil::formats::tfevents
