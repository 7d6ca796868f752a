// preflight: configuration files as the plans of runs, and what is wrong with them. Pure: files come in parsed,
// findings and numbers go out as data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "configfile/configfile.h"
#include "model/preflight.h"

namespace vigil::preflight {

// What a configuration file is, by the names in it: the id of a framework (axolotl, trl, hf-trainer, llama-factory,
// torchtitan, kempnerforge, lightning, verl), "training" for one of no known framework, a file that a training is used
// with (deepspeed, accelerate, model, tokenizer), or empty when it configures no training.
std::string_view RoleOf(const configfile::File& file);
bool IsTraining(std::string_view role);

// A path to another configuration file that a setting names.
struct Reference {
  std::string setting;
  std::string path;
  std::uint32_t line = 0;
};
std::vector<Reference> ReferencesOf(const configfile::File& file);

struct Options {
  std::optional<double> ranks = {};         // processes, in the place of what the files say
  std::optional<double> device_bytes = {};  // memory of one device
};

// A training's file and those it is used with.
struct Group {
  const configfile::File* training = nullptr;  // or, alone, one that a training would be used with
  std::vector<const configfile::File*> beside = {};
  const configfile::File* ran = nullptr;  // what a run of it wrote down of its own, to compare with; or null
  std::vector<Reference> missing = {};    // named, and not there
};
model::PlannedRun Check(const Group& group, const catalogue::Thresholds& thresholds, const Options& options);

// The names of the code that rows may refer to (config_rules.toml `check`), beside those of diagnose.
std::vector<std::string_view> TextCheckNames();

}  // namespace vigil::preflight
