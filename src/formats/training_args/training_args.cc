#include "formats/training_args/training_args.h"

#include <array>

#include "catalogue/says.h"
#include "codec/torch_archive.h"
#include "configfile/configfile.h"
#include "hyperparams/hyperparams.h"

namespace vigil::formats {
namespace {

// Settings are some kilobytes; what is larger holds weights.
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
// torch before 1.6: the magic number as a pickle of its own, then the protocol, the machine, and the object.
constexpr std::string_view kOldTorch("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);

std::string_view FrameworkOf(std::string_view class_name) {
  struct Package {
    std::string_view prefix;
    std::string_view framework;
  };
  constexpr std::array<Package, 4> kPackages = {
      {{"trl.", "trl"}, {"axolotl.", "axolotl"}, {"llamafactory.", "llama-factory"}, {"transformers.", "hf-trainer"}}};
  for (const Package& package : kPackages) {
    if (class_name.starts_with(package.prefix)) return package.framework;
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
    const configfile::File file = configfile::Parse({}, std::string(bytes), configfile::Notation::kPickle);
    std::vector<hyperparams::Hyperparameter> hyperparameters;
    hyperparameters.reserve(file.entries.size());
    for (const configfile::Entry& entry : file.entries) hyperparameters.push_back({entry.path, entry.text, 0});
    hyperparams::StateHyperparameters(hyperparameters, builder_);
    if (builder_.part().framework.empty()) builder_.part().framework = std::string(FrameworkOf(file.made_by));
    for (const configfile::Remark& remark : file.remarks) {
      if (remark.kind == configfile::RemarkKind::kBroken) builder_.ReportDamage(remark.says);
    }
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
