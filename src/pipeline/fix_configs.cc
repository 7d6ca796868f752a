#include <algorithm>
#include <iterator>
#include <utility>

#include "catalogue/advice.h"
#include "configfile/configfile.h"
#include "diagnose/diagnose.h"
#include "fix/fix.h"
#include "pipeline/pipeline.h"
#include "platform/files.h"

namespace vigil::pipeline {
namespace {

// A config that a fix may change, as it stands on disk.
struct Config {
  std::string path;
  configfile::File file;
};

Result<Config> ReadConfig(const std::string& path) {
  auto text = platform::ReadWholeFile(path, configfile::kMostBytes);
  if (!text) return Fail(text.error());
  const auto notation = configfile::NotationOf(path, *text);
  if (!notation || *notation == configfile::Notation::kPickle)
    return Fail(ErrorCode::kUnsupported, path, "not a config that can be changed: YAML, JSON, TOML or a command line");
  return Config{path, configfile::Parse(path, std::move(*text), *notation)};
}

// The configs that were named, else those among the files of the run; one that is missing or in an archive is passed
// over.
std::vector<Config> ConfigsOf(const model::Run& run, const FixOptions& options, std::vector<Error>& problems) {
  std::vector<Config> configs;
  for (const std::string& path : options.configs) {
    auto config = ReadConfig(path);
    if (config) {
      configs.push_back(std::move(*config));
    } else {
      problems.push_back(config.error());
    }
  }
  if (!options.configs.empty()) return configs;
  for (const model::Source& source : run.sources) {
    if (!source.is_config) continue;
    if (auto config = ReadConfig(source.path)) configs.push_back(std::move(*config));
  }
  return configs;
}

// What is offered for a cause that is left open is to be tried by hand: no config is changed by a guess.
bool IsDecided(const model::RunReport& run) {
  return !run.diagnoses.empty() && run.diagnoses.front().cause != diagnose::kUnknownCause;
}

// The remedies of the first diagnosis that are settings, as many as were asked for.
std::vector<model::Remedy> SettingsOf(const model::RunReport& run, FixWhich which) {
  std::vector<model::Remedy> remedies;
  if (!IsDecided(run)) return remedies;
  for (const model::Remedy& remedy : run.diagnoses.front().remedies) {
    const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id);
    const bool is_setting = row != nullptr && row->kind == catalogue::RemedyKind::kSetting;
    if (!is_setting || remedy.setting.empty() || remedy.proposed.empty()) continue;
    remedies.push_back(remedy);
    if (which == FixWhich::kFirst) break;
  }
  return remedies;
}

// Where a setting stands in no file, it is added to the one with most settings of the training.
const Config* PlaceForNew(const std::vector<Config>& configs) {
  const auto at = std::max_element(configs.begin(), configs.end(), [](const Config& a, const Config& b) {
    return fix::CountSettings(a.file) < fix::CountSettings(b.file);
  });
  return at == configs.end() ? nullptr : &*at;
}

// Writes under the first name that no file has.
Result<std::string> WriteBeside(const std::string& path, std::string_view part, const std::string& text, bool dry) {
  constexpr int kMostNames = 1000;
  for (int number = 1; number <= kMostNames; ++number) {
    std::string name = fix::FixedName(path, part, number);
    if (!platform::IsAbsent(name)) continue;
    if (dry) return name;
    const std::string temporary = platform::TemporaryNameFor(name);
    if (const Status written = platform::WriteFileAtomically(temporary, text, platform::PathFrom::kProgram); !written)
      return Fail(written.error());
    const Status moved = platform::MoveToFreeName(temporary, name);
    if (moved) return name;
    platform::RemoveFile(temporary);
    if (platform::IsAbsent(name)) return Fail(moved.error());
  }
  return Fail(ErrorCode::kLimit, path, "no free name beside it for the changed config");
}

std::vector<model::FixedSetting> Stated(std::vector<fix::Change> changes) {
  std::vector<model::FixedSetting> settings;
  settings.reserve(changes.size());
  for (fix::Change& change : changes)
    settings.push_back({std::move(change.remedy), std::move(change.setting), std::move(change.current),
                        std::move(change.proposed), std::move(change.problem)});
  return settings;
}

class Fixer {
 public:
  Fixer(const FixOptions& options, model::Report& report, std::vector<Error>& problems)
      : options_(options), report_(report), problems_(problems) {}

  void FixRun(const model::RunReport& run) {
    const std::vector<model::Remedy> remedies = SettingsOf(run, options_.which);
    const std::vector<Config> configs = ConfigsOf(run.run, options_, problems_);
    if (configs.empty() || remedies.empty()) return AddSnippet(run, remedies);
    if (options_.which != FixWhich::kEach) return FixAll(run.run.name, configs, remedies, {});
    for (const model::Remedy& remedy : remedies) FixAll(run.run.name, configs, std::span(&remedy, 1), remedy.id);
  }

 private:
  void AddSnippet(const model::RunReport& run, const std::vector<model::Remedy>& remedies) {
    if (run.diagnoses.empty()) return;
    model::Fix fix;
    fix.run = run.run.name;
    fix.is_dry = true;
    if (IsDecided(run)) fix.snippet = fix::Snippet(remedies.empty() ? run.diagnoses.front().remedies : remedies);
    report_.fixes.push_back(std::move(fix));
  }

  // Every file that holds a setting is changed: two that disagree would stop the framework.
  void FixAll(const std::string& run, const std::vector<Config>& configs, std::span<const model::Remedy> remedies,
              std::string_view part) {
    const Config* place = PlaceForNew(configs);
    for (const Config& config : configs) {
      std::vector<model::Remedy> wanted;
      for (const model::Remedy& remedy : remedies) {
        const bool held = fix::HoldsSetting(config.file, remedy);
        const bool anywhere = std::any_of(configs.begin(), configs.end(),
                                          [&](const Config& other) { return fix::HoldsSetting(other.file, remedy); });
        if (held || (!anywhere && &config == place)) wanted.push_back(remedy);
      }
      if (!wanted.empty()) FixOne(run, config, wanted, part);
    }
  }

  void FixOne(const std::string& run, const Config& config, std::span<const model::Remedy> remedies,
              std::string_view part) {
    fix::Fixed fixed = fix::Apply(config.file, remedies, true);
    model::Fix fix;
    fix.run = run;
    fix.config = config.path;
    fix.is_dry = options_.dry;
    if (fixed.Any()) {
      auto name = WriteBeside(config.path, part, fixed.text, options_.dry);
      if (!name) problems_.push_back(name.error());
      fix.written = name ? *name : std::string();
      const std::string shown = name ? *name : fix::FixedName(config.path, part);
      fix.diff = fix::UnifiedDiff(config.path, config.file.text, shown, fixed.text);
    } else {
      fix.snippet = fix::Snippet(remedies);
    }
    fix.settings = Stated(std::move(fixed.changes));
    report_.fixes.push_back(std::move(fix));
  }

  const FixOptions& options_;
  model::Report& report_;
  std::vector<Error>& problems_;
};

}  // namespace

std::vector<Error> FixConfigs(model::Report& report, const FixOptions& options) {
  std::vector<Error> problems;
  Fixer fixer(options, report, problems);
  for (const model::RunReport& run : report.runs) fixer.FixRun(run);
  return problems;
}

}  // namespace vigil::pipeline
