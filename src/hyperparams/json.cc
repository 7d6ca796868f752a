#include <fmt/format.h>

#include "catalogue/says.h"
#include "codec/codec.h"
#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

using codec::JsonToken;

constexpr std::size_t kDeepest = 8;
constexpr std::size_t kLongestKey = 256;
constexpr std::size_t kMostItems = 1000;

// Walks the tokens of one document and keeps where it is.
class Walk {
 public:
  explicit Walk(std::string_view text) : scanner_(text) {}

  std::vector<Hyperparameter> Run(model::Statement* damage) {
    for (;;) {
      const JsonToken token = scanner_.Next();
      if (token >= JsonToken::kNeedMore) {
        if (token != JsonToken::kEnd && damage != nullptr)
          *damage = says::DamageErrorInLine{.line = scanner_.line(), .message = scanner_.problem()};
        return std::move(hyperparameters_);
      }
      See(token);
      if (hyperparameters_.size() >= kMostHyperparameters) return std::move(hyperparameters_);
    }
  }

 private:
  void See(JsonToken token) {
    switch (token) {
      case JsonToken::kKey:
        key_ = Printable(codec::UnescapeJson(scanner_.text().substr(0, kLongestKey)));
        break;
      case JsonToken::kObjectBegin:
        Enter();
        break;
      case JsonToken::kArrayBegin:
        if (in_list_) {
          scanner_.SkipTo(scanner_.depth() - 1);
        } else {
          in_list_ = true;
          items_.clear();
        }
        break;
      case JsonToken::kArrayEnd:
        in_list_ = false;
        Add({}, std::move(items_));
        items_.clear();
        break;
      case JsonToken::kObjectEnd:
        if (!path_.empty()) path_.pop_back();
        break;
      default:
        TakeValue(token);
    }
  }

  // Objects in lists are data, not hyperparameters; what is too deep is passed over.
  void Enter() {
    if (in_list_ || path_.size() >= kDeepest) {
      scanner_.SkipTo(scanner_.depth() - 1);
      return;
    }
    path_.push_back(path_.empty() ? std::string() : Path());
    key_.clear();
  }

  void TakeValue(JsonToken token) {
    std::string value = ValueText(token);
    if (!in_list_) return Add(std::move(value));
    if (!value.empty() && items_.size() < kMostItems) items_.push_back(std::move(value));
  }

  std::string ValueText(JsonToken token) const {
    if (token == JsonToken::kNumber) return FormatExact(scanner_.number());
    if (token == JsonToken::kTrue) return "true";
    if (token == JsonToken::kFalse) return "false";
    if (token == JsonToken::kString)
      return Printable(codec::UnescapeJson(scanner_.text().substr(0, kLongestHyperparameter)));
    return {};
  }

  std::string Path() const {
    const std::string& above = path_.empty() ? key_ : path_.back();
    return path_.empty() || above.empty() ? key_ : above + "." + key_;
  }

  void Add(std::string value, std::vector<std::string> items = {}) {
    if (!items.empty()) value = Join(items, ", ").substr(0, kLongestHyperparameter);
    if (value.empty() || key_.empty() || path_.empty()) return;
    hyperparameters_.push_back({Path(), std::move(value), scanner_.line(), std::move(items)});
  }

  codec::JsonScanner scanner_;
  std::vector<std::string> path_;  // of each open object
  std::string key_;
  bool in_list_ = false;
  std::vector<std::string> items_;
  std::vector<Hyperparameter> hyperparameters_;
};

}  // namespace

std::vector<Hyperparameter> JsonHyperparameters(std::string_view text, model::Statement* damage) {
  return Walk(text).Run(damage);
}

void AddJsonHyperparameters(std::string_view text, ingest::PartBuilder& builder, std::string_view above) {
  for (Hyperparameter& hyperparameter : JsonHyperparameters(text)) {
    if (!above.empty())
      hyperparameter.path = fmt::format("{}.{}", Printable(above.substr(0, kLongestKey)), hyperparameter.path);
    const std::string_view known = KeyOfHyperparameter(hyperparameter.path);
    builder.AddFact(hyperparameter.path, hyperparameter.value, hyperparameter.line);
    if (!known.empty()) builder.part().facts.back().key = std::string(known);
  }
}

}  // namespace vigil::hyperparams
