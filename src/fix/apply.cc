#include <algorithm>

#include "base/base.h"
#include "catalogue/advice.h"
#include "fix/fix.h"
#include "hyperparams/hyperparams.h"

namespace vigil::fix {
namespace {

using configfile::Entry;
using configfile::File;
using configfile::NewValue;

bool IsLeftToFramework(const Entry& entry) { return entry.text == "auto"; }

bool IsPlain(const Entry& entry) {
  return entry.kind != configfile::Kind::kMap && entry.kind != configfile::Kind::kList;
}

// The canonical setting that the remedy changes; that of its name where the row has none.
std::string_view FactOf(const model::Remedy& remedy) {
  const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id);
  if (row != nullptr && !row->fact.empty()) return row->fact;
  return hyperparams::KeyOfHyperparameter(remedy.setting);
}

// Its own name in the file first, then any name that means the same.
const Entry* FindSetting(const File& file, std::string_view setting, std::string_view fact) {
  const Entry* exact = file.Find(setting);
  if (exact != nullptr && IsPlain(*exact)) return exact;
  if (fact.empty()) return nullptr;
  const auto at = std::find_if(file.entries.begin(), file.entries.end(), [&](const Entry& entry) {
    return IsPlain(entry) && entry.has_key && hyperparams::KeyOfHyperparameter(entry.path) == fact;
  });
  return at == file.entries.end() ? nullptr : &*at;
}

std::optional<bool> TruthOf(std::string_view text) {
  const std::string word = ToLower(text);
  if (word == "true") return true;
  if (word == "false") return false;
  return std::nullopt;
}

NewValue ValueOf(const std::string& text) {
  if (const auto truth = TruthOf(text)) return NewValue::Truth(*truth);
  if (const auto number = ParseNumber(text)) return NewValue::Number(*number);
  return NewValue::Text(text);
}

// A name that a config can hold: no words, no index, no option of a command line.
bool IsKey(std::string_view setting) {
  return !setting.empty() && setting.find_first_of(" ()[]'\"") == std::string_view::npos && !setting.starts_with('-');
}

class Editor {
 public:
  Editor(const File& file, bool add) : file_(file), add_(add) {}

  void Change(const std::string& remedy, std::string_view setting, std::string_view fact, const std::string& proposed) {
    fix::Change change{remedy, std::string(setting), {}, proposed, {}};
    const Entry* entry = FindSetting(file_, setting, fact);
    if (entry != nullptr) {
      change.setting = entry->path;
      change.current = entry->text;
    }
    Write(change, entry);
    fixed_.changes.push_back(std::move(change));
  }

  Fixed Take() {
    fixed_.text = file_.text;
    return std::move(fixed_);
  }

 private:
  void Write(fix::Change& change, const Entry* entry) {
    if (entry == nullptr && (!add_ || !IsKey(change.setting))) {
      change.problem = "the file does not hold it";
      return;
    }
    if (entry != nullptr && IsLeftToFramework(*entry)) {
      change.problem = "it is left to the framework (auto)";
      return;
    }
    auto text = configfile::SetValue(file_, change.setting, ValueOf(change.proposed));
    if (!text) {
      change.problem = text.error().Text();
      return;
    }
    file_ = configfile::Parse(file_.path, std::move(*text), file_.notation);
  }

  File file_;
  bool add_;
  Fixed fixed_;
};

}  // namespace

bool IsWritable(const model::Remedy& remedy) {
  return IsKey(remedy.setting) && !remedy.proposed.empty() && remedy.proposed.find(' ') == std::string::npos &&
         remedy.code.empty();
}

bool HoldsSetting(const File& file, const model::Remedy& remedy) {
  const Entry* entry = FindSetting(file, remedy.setting, FactOf(remedy));
  return entry != nullptr && !IsLeftToFramework(*entry);
}

std::size_t CountSettings(const File& file) {
  return static_cast<std::size_t>(std::count_if(file.entries.begin(), file.entries.end(), [](const Entry& entry) {
    return IsPlain(entry) && !hyperparams::KeyOfHyperparameter(entry.path).empty();
  }));
}

bool Fixed::Any() const {
  return std::any_of(changes.begin(), changes.end(), [](const Change& change) { return change.problem.empty(); });
}

Fixed Apply(const File& file, std::span<const model::Remedy> remedies, bool add) {
  Editor editor(file, add);
  for (const model::Remedy& remedy : remedies) {
    editor.Change(remedy.id, remedy.setting, FactOf(remedy), remedy.proposed);
    for (const model::SettingChange& also : remedy.also)
      editor.Change(remedy.id, also.setting, hyperparams::KeyOfHyperparameter(also.setting), also.proposed);
  }
  return editor.Take();
}

std::string FixedName(std::string_view path, std::string_view part, int number) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string_view::npos && dot > name;
  std::string fixed(path.substr(0, has_ending ? dot : path.size()));
  fixed += ".vigil-fix";
  if (!part.empty()) fixed.append(".").append(part);
  if (number > 1) fixed += "-" + std::to_string(number);
  return has_ending ? fixed.append(path.substr(dot)) : fixed;
}

std::string Snippet(std::span<const model::Remedy> remedies) {
  std::string text;
  const auto add = [&](const std::string& setting, const std::string& value) { text += setting + ": " + value + "\n"; };
  for (const model::Remedy& remedy : remedies) {
    if (!remedy.code.empty()) {
      text += remedy.code + "\n";
    } else if (!remedy.setting.empty() && !remedy.proposed.empty()) {
      add(remedy.setting, remedy.proposed);
    }
    for (const model::SettingChange& also : remedy.also) add(also.setting, also.proposed);
  }
  return text;
}

}  // namespace vigil::fix
