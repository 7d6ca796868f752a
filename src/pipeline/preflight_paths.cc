#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "pipeline/preflight.h"
#include "platform/files.h"
#include "preflight/preflight.h"

namespace vigil::pipeline {
namespace {

using configfile::File;

constexpr std::size_t kMostFiles = 20'000;
constexpr std::size_t kMostConfigs = 2'000;

struct Config {
  std::unique_ptr<File> file;
  std::string role;
  bool is_named = false;  // by the user, not found in a folder
  bool is_used = false;   // beside a training
};

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Files of these names are large or of other programs, whatever their ending.
bool IsNeverConfig(std::string_view path) {
  const std::string_view name = FileName(path);
  constexpr std::string_view kNames[] = {"tokenizer.json",     "vocab.json",        "package.json",
                                         "trainer_state.json", "package-lock.json", "special_tokens_map.json",
                                         "pyproject.toml",     "Cargo.toml",        "generation_config.json",
                                         "docker-compose.yml", "mkdocs.yml",        ".pre-commit-config.yaml"};
  if (name.ends_with(".index.json") || name.starts_with("events.out.tfevents")) return true;
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool MayBeConfig(std::string_view path) {
  if (IsNeverConfig(path)) return false;
  return configfile::NotationOf(path, {}).has_value() || FileName(path) == "training_args.bin";
}

class Collection {
 public:
  explicit Collection(model::PreflightReport& report) : report_(report) {}

  void Take(const std::string& path) {
    const auto entry = platform::Stat(path);
    if (!entry) return Complain(path, entry.error().message);
    if (entry->kind == platform::EntryKind::kFolder) return TakeFolder(path);
    if (Config* config = Load(path); config != nullptr) {
      config->is_named = true;
      if (config->role.empty()) TakeUnrecognised(*config);
    }
  }

  // The configuration at a path, read once; null when it cannot be read.
  Config* Load(const std::string& path) {
    const std::string real = platform::AbsolutePath(path);
    if (const auto known = configs_.find(real); known != configs_.end()) return &known->second;
    auto text = platform::ReadWholeFile(path, configfile::kMostBytes);
    if (!text) {
      Complain(path, text.error().message);
      return nullptr;
    }
    const auto notation = configfile::NotationOf(path, text->substr(0, 4096));
    if (!notation) {
      Complain(path, "is no YAML, JSON, TOML, shell script or training_args.bin by its name and content");
      return nullptr;
    }
    Config config;
    config.file = std::make_unique<File>(configfile::Parse(path, std::move(*text), *notation));
    config.role = std::string(preflight::RoleOf(*config.file));
    order_.push_back(real);
    return &configs_.emplace(real, std::move(config)).first->second;
  }

  std::vector<Config*> All() {
    std::vector<Config*> all;
    all.reserve(order_.size());
    for (const std::string& real : order_) all.push_back(&configs_.at(real));
    return all;
  }

 private:
  // A file that is broken before its first setting is judged as a training's, so that the damage is named.
  void TakeUnrecognised(Config& config) {
    const std::vector<configfile::Remark>& remarks = config.file->remarks;
    const auto broken = std::find_if(remarks.begin(), remarks.end(), [](const configfile::Remark& remark) {
      return remark.kind == configfile::RemarkKind::kBroken;
    });
    if (broken != remarks.end() && !config.file->entries.empty()) {
      config.role = "training";
      return;
    }
    Complain(config.file->path, "has no settings of a training that are known");
    if (broken != remarks.end()) report_.unread.back().notes.push_back(broken->says);
  }

  void TakeFolder(const std::string& folder) {
    std::vector<Error> unreadable;
    for (const platform::Entry& entry : platform::ListFiles(folder, kMostFiles, unreadable)) {
      if (!MayBeConfig(entry.path) || entry.size_bytes > configfile::kMostBytes || configs_.size() >= kMostConfigs) {
        ++report_.ignored;
        continue;
      }
      const Config* config = Load(entry.path);
      if (config != nullptr && config->role.empty()) ++report_.ignored;
    }
    for (const Error& problem : unreadable) Complain(problem.path, problem.message);
  }

  void Complain(const std::string& path, const std::string& reason) {
    model::Unread unread;
    unread.path = path;
    unread.reason = reason;
    report_.unread.push_back(std::move(unread));
  }

  model::PreflightReport& report_;
  std::map<std::string, Config> configs_;  // by their real paths
  std::vector<std::string> order_;
};

// Where a file that a configuration names may be: from the working directory, beside the configuration, above it.
std::string FindReferenced(const std::string& from, const std::string& named) {
  std::vector<std::string> folders = {""};
  std::string folder = platform::FolderOf(from);
  for (int up = 0; up < 4; ++up) {
    folders.push_back(folder + "/");
    const std::string above = platform::FolderOf(folder);
    if (above == folder || above == ".") break;
    folder = above;
  }
  if (named.starts_with('/')) folders = {""};
  for (const std::string& base : folders) {
    const auto entry = platform::Stat(base + named);
    if (entry && entry->kind == platform::EntryKind::kFile) return base + named;
  }
  return {};
}

bool IsBeside(std::string_view role) { return !role.empty() && !preflight::IsTraining(role); }

class Grouping {
 public:
  explicit Grouping(Collection& collection) : collection_(collection) {}

  preflight::Group GroupOf(Config& training, const std::string& model) {
    preflight::Group group;
    group.training = training.file.get();
    std::set<std::string> roles;
    const auto add = [&](Config& config) {
      if (&config == &training || !IsBeside(config.role) || !roles.insert(config.role).second) return;
      config.is_used = true;
      group.beside.push_back(config.file.get());
    };
    AddReferenced(*training.file, group, add);
    AddRan(training, group);
    if (!model.empty()) {
      if (Config* config = collection_.Load(model)) add(*config);
    }
    const std::vector<Config*> all = collection_.All();
    for (Config* config : all) {
      if (config->is_named) add(*config);
    }
    // What lies in the same folder goes with the only training there.
    const std::string folder = platform::FolderOf(training.file->path);
    const auto beside = [&](const Config* config) { return platform::FolderOf(config->file->path) == folder; };
    const auto trainings = std::count_if(all.begin(), all.end(), [&](const Config* config) {
      return beside(config) && preflight::IsTraining(config->role);
    });
    for (Config* config : all) {
      const bool is_of_model = config->role == "model" || config->role == "tokenizer";
      if (beside(config) && (trainings == 1 || is_of_model)) add(*config);
    }
    return group;
  }

 private:
  // What a run of a configuration left in its folder, or was given beside it.
  void AddRan(const Config& training, preflight::Group& group) {
    if (training.file->notation == configfile::Notation::kPickle) return;
    const std::string folder = platform::FolderOf(training.file->path);
    for (Config* config : collection_.All()) {
      const bool is_near = config->is_named || platform::FolderOf(config->file->path) == folder;
      if (config->file->notation != configfile::Notation::kPickle || config->role.empty() || !is_near) continue;
      config->is_used = true;
      group.ran = config->file.get();
      return;
    }
  }

  template <class Add>
  void AddReferenced(const File& file, preflight::Group& group, const Add& add) {
    for (const preflight::Reference& reference : preflight::ReferencesOf(file)) {
      const std::string path = FindReferenced(file.path, reference.path);
      Config* config = path.empty() ? nullptr : collection_.Load(path);
      if (config == nullptr) {
        group.missing.push_back(reference);
        continue;
      }
      add(*config);
      if (config->role != "accelerate") continue;
      for (const preflight::Reference& further : preflight::ReferencesOf(*config->file)) {
        const std::string deeper = FindReferenced(config->file->path, further.path);
        if (Config* next = deeper.empty() ? nullptr : collection_.Load(deeper)) add(*next);
      }
    }
  }

  Collection& collection_;
};

std::string ModelFile(const std::string& path) {
  const auto entry = platform::Stat(path);
  return entry && entry->kind == platform::EntryKind::kFolder ? path + "/config.json" : path;
}

}  // namespace

model::PreflightReport PreflightPaths(const PreflightRequest& request, const catalogue::Thresholds& thresholds) {
  model::PreflightReport report;
  Collection collection(report);
  for (const std::string& path : request.paths) collection.Take(path);
  const std::string model = request.model.empty() ? std::string() : ModelFile(request.model);
  Grouping grouping(collection);
  std::vector<preflight::Group> groups;
  // What a run wrote down of its own goes with the configuration of that run, where there is one.
  for (const bool pickles : {false, true}) {
    for (Config* config : collection.All()) {
      const bool is_pickle = config->file->notation == configfile::Notation::kPickle;
      const bool is_wanted =
          preflight::IsTraining(config->role) && is_pickle == pickles && !(is_pickle && config->is_used);
      if (is_wanted) groups.push_back(grouping.GroupOf(*config, model));
    }
  }
  // What no training uses is checked by itself; the configuration of a model says nothing then.
  for (Config* config : collection.All()) {
    const bool is_alone = IsBeside(config->role) && !config->is_used;
    if (is_alone && config->role != "model" && config->role != "tokenizer")
      groups.push_back({config->file.get(), {}, nullptr, {}});
  }
  report.runs.reserve(groups.size());
  for (const preflight::Group& group : groups)
    report.runs.push_back(preflight::Check(group, thresholds, request.options));
  return report;
}

}  // namespace vigil::pipeline
