#include "import/config_json/config_json.h"

#include <fmt/format.h>

#include <string>

#include "catalogue/catalogue.h"
#include "codec/codec.h"
#include "import/json/looks.h"

namespace vigil::import {
namespace {

using codec::JsonToken;

constexpr std::size_t kLongestValue = 512;
constexpr std::size_t kMostFacts = 10'000;

// What kind of file the top-level keys show. A model's configuration says little about the training: its dropout or
// temperature are not the run's.
struct Kind {
  bool is_adapter = false;
  bool is_model = false;
  bool is_training = false;

  void SeeKey(std::string_view key) {
    is_adapter |= key == "peft_type";
    is_model |= key == "model_type" || key == "architectures";
    is_training |= key == "learning_rate" || key == "lr" || key == "max_steps" || key == "num_train_epochs";
  }
};

std::string ValueText(JsonToken token, const codec::JsonScanner& scanner) {
  switch (token) {
    case JsonToken::kNumber:
      return FormatExact(scanner.number());
    case JsonToken::kTrue:
      return "true";
    case JsonToken::kFalse:
      return "false";
    case JsonToken::kString:
      return Printable(codec::UnescapeJson(scanner.text().substr(0, kLongestValue)));
    default:
      return {};
  }
}

class ConfigJsonReader : public Reader {
 public:
  explicit ConfigJsonReader(PartBuilder& builder) : builder_(builder) {}

  Growth growth() const override { return Growth::kWrittenAnew; }
  std::size_t Consume(std::string_view bytes, bool last) override {
    if (over_) return bytes.size();
    scanner_.Continue(bytes, last);
    for (;;) {
      const JsonToken token = scanner_.Next();
      if (token == JsonToken::kNeedMore) break;
      if (token > JsonToken::kNeedMore) {
        End(token);
        return bytes.size();
      }
      See(token);
    }
    taken_ += scanner_.consumed();
    return scanner_.consumed();
  }

 private:
  void See(JsonToken token) {
    if (scanner_.depth() != 1) return;  // settings of parts of the model, or lists
    if (token == JsonToken::kKey) {
      key_ = std::string(scanner_.text().substr(0, 256));
      kind_.SeeKey(key_);
      return;
    }
    std::string value = ValueText(token, scanner_);
    if (value.empty() || key_.empty() || facts_.size() >= kMostFacts) return;
    facts_.push_back({key_, std::move(value), {}, {0, scanner_.line()}});
    key_.clear();
  }

  void End(JsonToken token) {
    over_ = true;
    for (const model::Fact& fact : facts_) {
      const std::string_view known = catalogue::InterpretFact(fact.key);
      const bool wanted = kind_.is_training || kind_.is_adapter ? !known.empty() : known == "vocab_size";
      if (wanted) builder_.AddFact(fact.key, fact.value, fact.place.line);
    }
    if (token != JsonToken::kBroken) return;
    builder_.ReportDamage(
        fmt::format("line {} (byte {}): {}", scanner_.line(), taken_ + scanner_.consumed(), scanner_.problem()));
  }

  PartBuilder& builder_;
  codec::JsonScanner scanner_;
  std::uint64_t taken_ = 0;
  bool over_ = false;
  std::string key_;
  Kind kind_;
  std::vector<model::Fact> facts_;
};

}  // namespace

int RecogniseConfigJson(const Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (!text.starts_with('{')) return 0;
  codec::JsonScanner scanner;
  scanner.Continue(text, false);
  Kind kind;
  std::size_t known = 0;
  for (JsonToken token = scanner.Next(); token < JsonToken::kNeedMore; token = scanner.Next()) {
    if (token != JsonToken::kKey || scanner.depth() != 1) continue;
    kind.SeeKey(scanner.text());
    known += catalogue::InterpretFact(scanner.text()).empty() ? 0 : 1;
  }
  if (kind.is_adapter) return 60;
  if (kind.is_model) return known >= 1 ? 60 : 0;
  return kind.is_training && known >= 3 ? 40 : 0;
}

std::unique_ptr<Reader> OpenConfigJson(PartBuilder& builder) { return std::make_unique<ConfigJsonReader>(builder); }

}  // namespace vigil::import
