#include "formats/training_args/training_args.h"

#include <fmt/format.h>

#include <array>

#include "catalogue/says.h"
#include "codec/pickle.h"
#include "codec/torch_archive.h"
#include "hyperparams/hyperparams.h"

namespace vigil::formats {
namespace {

using codec::pickle::Document;
using codec::pickle::Index;
using codec::pickle::Kind;
using codec::pickle::Value;

constexpr std::size_t kDeepest = 4;
// Settings are some kilobytes; what is larger holds weights.
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
// torch before 1.6: the magic number as a pickle of its own, then the protocol, the machine, and the object.
constexpr std::string_view kOldTorch("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
constexpr std::size_t kPicklesBeforeOldObject = 3;

// A plain value as text; an enumeration by the value it is made of. Empty for what has parts.
std::string TextOf(const Document& document, const Value& value) {
  switch (value.kind) {
    case Kind::kTruth:
      return value.truth ? "true" : "false";
    case Kind::kWhole:
      return fmt::format("{}", value.whole);
    case Kind::kNumber:
      return FormatExact(value.number);
    case Kind::kText:
      return Printable(std::string_view(value.text).substr(0, hyperparams::kLongestHyperparameter));
    case Kind::kObject: {
      if (value.items.size() != 1) return {};
      const Value& inner = document.values[value.items.front()];
      return inner.kind == Kind::kText
                 ? Printable(std::string_view(inner.text).substr(0, hyperparams::kLongestHyperparameter))
                 : std::string();
    }
    default:
      return {};
  }
}

// The pairs of a dictionary, or of the state that is set on an object.
const std::vector<Index>* PairsOf(const Document& document, Index at) {
  for (int hops = 0; hops < 3 && at < document.values.size(); ++hops) {
    const Value& value = document.values[at];
    if (value.kind == Kind::kDict) return &value.items;
    if (value.kind != Kind::kObject) return nullptr;
    // Some objects state their settings as the one argument of the class.
    at = value.state != codec::pickle::kNone ? value.state
         : value.items.empty()               ? codec::pickle::kNone
                                             : value.items.front();
  }
  return nullptr;
}

struct Pending {
  Index value;
  std::string path;
  std::size_t depth;
};

std::vector<hyperparams::Hyperparameter> SettingsOf(const Document& document) {
  std::vector<hyperparams::Hyperparameter> hyperparameters;
  std::vector<Pending> pending = {{document.root, {}, 0}};
  std::size_t visited = 0;
  while (!pending.empty() && hyperparameters.size() < hyperparams::kMostHyperparameters &&
         ++visited < hyperparams::kMostHyperparameters) {
    const Pending next = std::move(pending.back());
    pending.pop_back();
    const std::vector<Index>* const pairs = PairsOf(document, next.value);
    if (pairs == nullptr) continue;
    for (std::size_t i = 0; i + 1 < pairs->size() && hyperparameters.size() < hyperparams::kMostHyperparameters;
         i += 2) {
      const Value& key = document.values[(*pairs)[i]];
      const Value& value = document.values[(*pairs)[i + 1]];
      if (key.kind != Kind::kText || key.text.size() > 256 || key.text.starts_with('_')) continue;
      std::string path = next.path.empty() ? Printable(key.text) : next.path + "." + Printable(key.text);
      std::string text = TextOf(document, value);
      if (!text.empty()) {
        hyperparameters.push_back({std::move(path), std::move(text), 0});
      } else if (next.depth < kDeepest && pending.size() < hyperparams::kMostHyperparameters) {
        pending.push_back({(*pairs)[i + 1], std::move(path), next.depth + 1});
      }
    }
  }
  return hyperparameters;
}

std::string_view FrameworkOf(const Document& document) {
  if (document.root == codec::pickle::kNone) return {};
  const std::string_view name = document.values[document.root].text;
  struct Package {
    std::string_view prefix;
    std::string_view framework;
  };
  constexpr std::array<Package, 4> kPackages = {
      {{"trl.", "trl"}, {"axolotl.", "axolotl"}, {"llamafactory.", "llama-factory"}, {"transformers.", "hf-trainer"}}};
  for (const Package& package : kPackages) {
    if (name.starts_with(package.prefix)) return package.framework;
  }
  return {};
}

class TrainingArgsReader : public ingest::Reader {
 public:
  explicit TrainingArgsReader(ingest::PartBuilder& builder) : builder_(builder) {}

  bool NeedsWholeFile() const override { return true; }
  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (!last) return 0;
    if (bytes.size() > kMostBytes) {
      builder_.ReportDamage(says::DamageLargerThanSettings{});
    } else {
      Read(bytes);
    }
    return bytes.size();
  }

 private:
  void Read(std::string_view bytes) {
    std::string_view rest = bytes;
    if (codec::pickle::IsArchive(bytes)) {
      const auto member = codec::pickle::FindMember(bytes, "/data.pkl");
      if (!member) return builder_.ReportDamage(says::DamageNoPickle{});
      rest = *member;
    } else if (bytes.starts_with(kOldTorch)) {
      for (std::size_t i = 0; i < kPicklesBeforeOldObject; ++i)
        rest.remove_prefix(codec::pickle::Parse(rest).size_bytes);
    }
    State(codec::pickle::Parse(rest));
  }

  void State(const Document& document) {
    for (const std::string& name : document.names) {
      if (!codec::pickle::IsDangerous(name)) continue;
      // Nothing that such a file says is believed.
      return builder_.ReportDamage(says::DamageDangerousPickle{.name = Printable(name.substr(0, 100))});
    }
    const std::vector<hyperparams::Hyperparameter> hyperparameters = SettingsOf(document);
    hyperparams::StateHyperparameters(hyperparameters, builder_);
    if (builder_.part().framework.empty()) builder_.part().framework = std::string(FrameworkOf(document));
    if (!document.problem.empty()) builder_.ReportDamage(says::DamageError{.message = document.problem});
  }

  ingest::PartBuilder& builder_;
};

}  // namespace

int RecogniseTrainingArgs(const ingest::Probe& probe) {
  if (probe.size_bytes > kMostBytes) return 0;
  const bool archive = codec::pickle::IsArchive(probe.head) && probe.head.find("/data.pkl") != std::string_view::npos;
  const bool pickled = probe.head.size() > 2 && probe.head[0] == '\x80' && probe.head[1] >= 2 && probe.head[1] <= 5;
  // Many things are pickled: the name must say that it is settings, or torch that it saved it.
  const bool named = probe.path.substr(probe.path.rfind('/') + 1).find("args") != std::string_view::npos;
  return archive || (pickled && named) || probe.head.starts_with(kOldTorch) ? 60 : 0;
}

std::unique_ptr<ingest::Reader> OpenTrainingArgs(ingest::PartBuilder& builder) {
  return std::make_unique<TrainingArgsReader>(builder);
}

}  // namespace vigil::formats
