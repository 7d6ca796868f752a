// ingest/secrets: keys, tokens and passwords in what files say. They are of no use to a diagnosis, and reports are sent
// around: what has the known shape of one is masked where it comes in, so that no output can show it.
#pragma once

#include <string>
#include <string_view>

#include "model/run.h"

namespace vigil::ingest {

inline constexpr std::string_view kMasked = "[masked]";

// The text with every secret of a known shape masked: tokens by the prefixes of those who issue them, private keys,
// passwords in URLs, and what is assigned to a name like api_key or password.
std::string WithoutSecrets(std::string text);
// The value of a setting; all of it is masked where its key names a secret.
std::string WithoutSecrets(std::string_view key, std::string value);
// The same for texts and names inside a statement.
void MaskSecrets(model::Statement& statement);
void MaskSecrets(model::Event& event);
void MaskSecrets(model::Labels& labels);

// For the whole process, set before anything is read: whether secrets are kept as they are (false at first).
void KeepSecrets(bool keep);

}  // namespace vigil::ingest
