// YAML and TOML documents: the settings of configfile, without their types.
#include <set>

#include "base/base.h"
#include "catalogue/says.h"
#include "configfile/configfile.h"
#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

using configfile::Entry;
using configfile::File;
using configfile::Kind;

constexpr std::size_t kMostItems = 1000;

std::string TextOf(const Entry& entry, configfile::Notation notation) {
  if (entry.kind == Kind::kTruth && notation == configfile::Notation::kToml) return entry.truth ? "true" : "false";
  if (entry.kind == Kind::kNumber && notation == configfile::Notation::kToml) return FormatExact(entry.number);
  return entry.text;
}

// The list that an entry stands in, directly or deeper; empty when in none.
std::string_view ListAbove(const std::set<std::string, std::less<>>& lists, std::string_view path) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    if (lists.contains(path.substr(0, dot))) return path.substr(0, dot);
  }
  return {};
}

class Flat {
 public:
  explicit Flat(const File& file) : file_(file) {}

  std::vector<Hyperparameter> Run() {
    for (const Entry& entry : file_.entries) {
      if (hyperparameters_.size() >= kMostHyperparameters) break;
      Take(entry);
    }
    std::erase_if(hyperparameters_, [](const Hyperparameter& each) { return each.value.empty(); });
    return std::move(hyperparameters_);
  }

 private:
  void Take(const Entry& entry) {
    const std::string_view list = ListAbove(lists_, entry.path);
    if (entry.kind == Kind::kList) {
      lists_.insert(entry.path);
      // Its value is filled in by its items.
      if (list.empty()) hyperparameters_.push_back({entry.path, {}, entry.line});
    } else if (!list.empty()) {
      TakeItem(entry, list);
    } else if (entry.kind != Kind::kMap && entry.kind != Kind::kNull) {
      hyperparameters_.push_back({entry.path, TextOf(entry, file_.notation), entry.line});
    }
  }

  // Maps in lists are data, not hyperparameters.
  void TakeItem(const Entry& entry, std::string_view list) {
    const bool is_direct = entry.path.find('.', list.size() + 1) == std::string::npos;
    if (!is_direct || entry.kind == Kind::kMap || entry.kind == Kind::kNull || hyperparameters_.empty()) return;
    Hyperparameter& whole = hyperparameters_.back();
    if (whole.path != list || whole.items.size() >= kMostItems) return;
    whole.items.push_back(TextOf(entry, file_.notation));
    if (whole.value.size() < kLongestHyperparameter)
      whole.value = (whole.value.empty() ? "" : whole.value + ", ") + whole.items.back();
    whole.value.resize(std::min(whole.value.size(), kLongestHyperparameter));
  }

  const File& file_;
  std::set<std::string, std::less<>> lists_;
  std::vector<Hyperparameter> hyperparameters_;
};

// The message of a remark with the line that it is about.
model::Statement DamageOf(const configfile::Remark& remark) {
  const model::Argument* message = remark.says.Find("message");
  const auto* text = message == nullptr ? nullptr : std::get_if<model::Identifier>(&message->value);
  if (text == nullptr) return remark.says;
  if (remark.line == 0) return says::DamageError{.message = text->text};
  return says::DamageErrorInLine{.line = static_cast<double>(remark.line), .message = text->text};
}

std::vector<Hyperparameter> Read(std::string_view text, configfile::Notation notation, model::Statement* damage) {
  const File file = configfile::Parse({}, std::string(text), notation);
  for (const configfile::Remark& remark : file.remarks) {
    if (remark.kind != configfile::RemarkKind::kBroken || damage == nullptr) continue;
    *damage = DamageOf(remark);
    break;
  }
  return Flat(file).Run();
}

}  // namespace

std::vector<Hyperparameter> YamlHyperparameters(std::string_view text, model::Statement* damage) {
  return Read(text, configfile::Notation::kYaml, damage);
}

std::vector<Hyperparameter> TomlHyperparameters(std::string_view text, model::Statement* damage) {
  return Read(text, configfile::Notation::kToml, damage);
}

}  // namespace vigil::hyperparams
