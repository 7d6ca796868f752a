#include <map>

#include "gym/gym.h"
#include "record/record.h"

namespace vigil::gym {
namespace {

// What a training process logs, through the recorder that libvigil gives to every trainer. Codes are not looked at: a
// recorder that cannot keep up says so in its journal, and the training goes on.
class Journal : public Recorder {
 public:
  explicit Journal(record::RunHandle run) : run_(run) {}
  ~Journal() override { static_cast<void>(record::Close(run_, status_)); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&&) = delete;
  Journal& operator=(Journal&&) = delete;

  void Scalar(std::string_view name, std::int64_t step, double value) override {
    static_cast<void>(record::Add(SeriesOf(name), step, value));
  }

  void Hyperparameter(std::string_view key, std::string_view value) override {
    static_cast<void>(record::AddHyperparameter(run_, key, value));
  }

  void Tell(std::int64_t step, const Note& note) override {
    constexpr journal::EventKind kKinds[] = {journal::EventKind::kResume, journal::EventKind::kCheckpoint,
                                             journal::EventKind::kMessage, journal::EventKind::kDecision};
    journal::Event event;
    event.kind = kKinds[static_cast<std::size_t>(note.kind)];
    event.step = step;
    event.severity = note.severity;
    event.name = note.name;
    event.text = note.text;
    static_cast<void>(record::AddEvent(run_, event));
    if (note.kind == Happening::kFailure) status_ = 1;
  }

  void Batch(std::int64_t step, std::uint64_t fingerprint) override {
    static_cast<void>(record::AddBatch(run_, step, fingerprint));
  }

  void StepDone(std::int64_t /*step*/) override {}

 private:
  record::SeriesHandle SeriesOf(std::string_view name) {
    const auto found = series_.find(name);
    if (found != series_.end()) return found->second;
    journal::Definition definition;
    definition.name = std::string(name);
    if (name == "grad_norm") definition.clipping = model::Clipping::kBefore;
    record::SeriesHandle handle = 0;
    static_cast<void>(record::OpenSeries(run_, definition, handle));
    return series_.emplace(name, handle).first->second;
  }

  record::RunHandle run_;
  std::int64_t status_ = 0;  // how the run ended
  std::map<std::string, record::SeriesHandle, std::less<>> series_;
};

}  // namespace

Result<std::unique_ptr<Recorder>> RecordJournal(const std::string& folder, int rank, int ranks) {
  record::Options options;
  options.folder = folder;
  options.name = folder.substr(folder.rfind('/') + 1);
  options.rank = rank;
  options.world = ranks;
  record::RunHandle run = 0;
  std::string message;
  if (record::Open(options, run, message) != record::Code::kOk) return Fail(ErrorCode::kInvalid, message);
  return std::unique_ptr<Recorder>(std::make_unique<Journal>(run));
}

}  // namespace vigil::gym
