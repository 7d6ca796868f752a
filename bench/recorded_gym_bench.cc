// What recording costs a training: steps of the gym with and without its recorder, in turns, in the processor time of
// the whole process (the recorder's own thread counts), and the recording alone against the time of a step.
#include <filesystem>
#include <vector>

#include "gym/data.h"
#include "gym/optimizer.h"
#include "support.h"

namespace vigil::bench {
namespace {

double ProcessCpuSeconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// One training step, as often as is asked for.
class Training {
 public:
  Training(const gym::Options& options, const gym::Corpus& corpus)
      : pool_(1),
        model_(options.shape, static_cast<std::size_t>(options.batch), 1, pool_),
        adam_(model_, 0.01),
        loader_(corpus, options) {}

  void Step() {
    const gym::Batch batch = loader_.Next(0, 1);
    std::fill(model_.gradients().begin(), model_.gradients().end(), 0.0F);
    loss_ = model_.Forward(batch);
    model_.Backward(batch, 1);
    adam_.Step(model_, pool_, 1e-4, 1);
  }
  // As much as the gym tells of a step: ten numbers and a fingerprint, and every tenth step three for each tensor.
  void Record(gym::Recorder& recorder, std::int64_t step) const {
    for (const char* name : {"loss", "lr", "grad_norm", "tokens_per_s", "step_time_s", "data_wait_s", "compute_s",
                             "comm_wait_s", "clipped_steps", "host_memory_mb"})
      recorder.Scalar(name, step, loss_ + static_cast<double>(step));
    if (step % 10 == 0) {
      for (const gym::Tensor& tensor : model_.tensors()) {
        for (const char* kind : {"grad_norm/", "param_norm/", "update_ratio/"})
          recorder.Scalar(kind + tensor.name, step, loss_ * static_cast<double>(tensor.offset + 1));
      }
    }
    recorder.Batch(step, static_cast<std::uint64_t>(step));
    recorder.StepDone(step);
  }

 private:
  platform::ThreadPool pool_;
  gym::Model model_;
  gym::AdamW adam_;
  gym::Loader loader_;
  double loss_ = 0;
};

template <class Work>
double ProcessSeconds(Work work) {
  const double before = ProcessCpuSeconds();
  work();
  return ProcessCpuSeconds() - before;
}

int Main() {
  gym::Options options;
  const auto corpus = gym::LoadCorpus("", options.shape.context);
  if (!corpus) return 1;
  options.shape.vocabulary = corpus->vocabulary;
  const std::string folder = fmt::format("/tmp/vigil_bench_gym_{}", ::getpid());
  auto recorder = gym::RecordJournal(folder, 0, 1);
  if (!recorder) {
    fmt::print("  FAILED: {}\n", recorder.error().message);
    return 1;
  }
  Training training(options, *corpus);
  constexpr int kTurns = 60;
  constexpr int kSteps = 10;
  std::vector<double> plain;
  std::vector<double> recorded;
  std::int64_t step = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    plain.push_back(ProcessSeconds([&] {
      for (int i = 0; i < kSteps; ++i) training.Step();
    }));
    recorded.push_back(ProcessSeconds([&] {
      for (int i = 0; i < kSteps; ++i) {
        training.Step();
        training.Record(**recorder, ++step);
      }
    }));
  }
  constexpr int kRecordings = 3000;  // what the ring holds: all of it is packed and written
  const double recording = ProcessSeconds([&] {
    for (int i = 0; i < kRecordings; ++i) training.Record(**recorder, ++step);
    recorder->reset();  // written and closed
  });
  std::filesystem::remove_all(folder);
  const double step_s = Median(plain) / kSteps;
  const double record_s = recording / kRecordings;
  fmt::print("the default model of the gym, one thread; all that it records of a step (budget 0.5%)\n");
  fmt::print("  {:<52} {:>9.1f} us\n", "a step", step_s * 1e6);
  fmt::print("  {:<52} {:>9.2f} us\n", "recording it, packing and writing included", record_s * 1e6);
  fmt::print("  recording adds {:.3f}% to a step\n", 100 * record_s / step_s);
  fmt::print("  in turns with and without: {:+.2f}% (as exact as the machine is quiet)\n",
             100 * (Median(recorded) / Median(plain) - 1));
  return 0;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
