// Options: defaults filled in, checked, and as text for checkpoints and the run's config.json.
#pragma once

#include <map>
#include <string>

#include "gym/gym.h"

namespace vigil::gym {

// Everything that was left open is decided, and what cannot be is refused.
Result<Options> Resolve(Options options);

// All options that decide what is computed, by name.
std::map<std::string, std::string> ToText(const Options& options);
Result<Options> FromText(const std::map<std::string, std::string>& text, const std::string& origin);

// What a trainer would keep as its configuration, by the names that trainers use; the second as JSON.
std::vector<std::pair<std::string, std::string>> HyperparametersOf(const Options& options);
std::string ConfigJson(const Options& options);

}  // namespace vigil::gym
