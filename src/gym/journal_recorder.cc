#include <map>

#include "gym/gym.h"
#include "record/record.h"

namespace vigil::gym {
namespace {

// What a training process tells, through the recorder that libvigil gives to every trainer. Codes are not looked at: a
// recorder that cannot keep up says so in its journal, and the training goes on.
class Journal : public Recorder {
 public:
  explicit Journal(record::RunHandle run) : run_(run) {}
  ~Journal() override { static_cast<void>(record::Close(run_, 0)); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&&) = delete;
  Journal& operator=(Journal&&) = delete;

  void Scalar(std::string_view name, std::int64_t step, double value) override {
    static_cast<void>(record::Add(SeriesOf(name), step, value));
  }

  void Event(std::int64_t step, std::string_view text) override {
    journal::Event event;
    event.step = step;
    event.text = std::string(text);
    if (text == "resumed") event.kind = journal::EventKind::kResume;
    if (text == "checkpoint") event.kind = journal::EventKind::kCheckpoint;
    static_cast<void>(record::AddEvent(run_, event));
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
  std::map<std::string, record::SeriesHandle, std::less<>> series_;
};

}  // namespace

Result<std::unique_ptr<Recorder>> RecordJournal(const std::string& folder, int rank, int ranks) {
  record::Options options;
  options.folder = folder;
  options.rank = rank;
  options.world = ranks;
  record::RunHandle run = 0;
  std::string message;
  if (record::Open(options, run, message) != record::Code::kOk) return Fail(message);
  return std::unique_ptr<Recorder>(std::make_unique<Journal>(run));
}

}  // namespace vigil::gym
