// model/preflight: what was found in the configuration files of runs that have not begun, as data. Sentences are made
// of it in report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/finding.h"

namespace vigil::model {

// A rule that is broken: the finding, whose evidence has the places, and what to set.
struct ConfigBreach {
  Finding finding;
  Remedy fix;
};

// A setting where it stands.
struct SettingPlace {
  std::string path;
  std::uint32_t line = 0;
  std::string setting;
};

// A number that follows from the settings.
struct DerivedValue {
  std::string name;  // "global_batch", "tokens_per_step": frozen, for programs
  double value = kNoValue;
  Statement says;  // in words, also why it is not known
  std::vector<SettingPlace> from;
};

// Something that no rule could look at: a template, a variable, a part that was not read.
struct NotChecked {
  std::string path;
  std::uint32_t line = 0;
  Statement says;
};

struct PlannedFile {
  std::string path;
  std::string role;  // axolotl, trl, deepspeed, model, ...
};

// One training that was planned, with the files that it is used with; the training's own file first.
struct PlannedRun {
  std::string name;
  std::vector<PlannedFile> files;
  std::string framework;
  TrainingMethod method;
  std::vector<DerivedValue> values;
  std::vector<ConfigBreach> breaches;  // worst first
  std::vector<NotChecked> not_checked;
};

struct PreflightReport {
  std::vector<PlannedRun> runs;
  std::vector<Unread> unread;  // asked for by name and no configuration, or not to be read
  std::size_t ignored = 0;     // files of folders that are no configuration
};

// The worst finding; nothing when there is none.
std::optional<Severity> WorstSeverity(const PreflightReport& report);

}  // namespace vigil::model
