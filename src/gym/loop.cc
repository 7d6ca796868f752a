#include "gym/loop.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>

#include "gym/options.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/process.h"
#include "platform/terminal.h"

namespace vigil::gym {
namespace {

// Seconds since the last call.
class Stopwatch {
 public:
  double Lap() {
    const std::uint64_t now = platform::MonotonicNs();
    return static_cast<double>(now - std::exchange(last_, now)) * 1e-9;
  }

 private:
  std::uint64_t last_ = platform::MonotonicNs();
};

// Without the sign that some processors give a NaN.
double Plain(double value) { return std::isnan(value) ? std::abs(value) : value; }

float LargestMagnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

double Rms(std::span<const float> values) {
  return std::sqrt(SumOfSquares(values) / static_cast<double>(values.size()));
}

}  // namespace

Loop::Loop(const Options& options, const Corpus& corpus, Group& group,
           const std::function<void(const Progress&)>& progress)
    : options_(options),
      tuned_(Sabotage::ChangedOptions(options)),
      group_(group),
      progress_(progress),
      pool_(static_cast<int>(options.threads)),
      model_(tuned_.shape, static_cast<std::size_t>(options.batch), static_cast<std::uint64_t>(options.seed), pool_),
      adam_(model_, options.decay),
      loader_(corpus, options),
      sabotage_(options, group.rank()) {}

Status Loop::Say(std::string_view line) { return log_ ? log_->Write(fmt::format("{}\n", line)) : Status(); }

double Loop::TokensPerSecond(double seconds) const {
  return static_cast<double>(options_.batch * options_.accumulate * options_.shape.context * options_.ranks) / seconds;
}

Status Loop::OpenRecorder() {
  if (!options_.metrics) return {};
  const std::string rank = group_.ranks() == 1 ? "" : fmt::format("_rank{}", group_.rank());
  auto recorder = options_.journal ? RecordJournal(options_.out, group_.rank(), group_.ranks())
                                   : RecordJsonLines(fmt::format("{}/metrics{}.jsonl", options_.out, rank));
  if (!recorder) return Fail(recorder.error());
  recorder_ = std::move(*recorder);
  for (const auto& [key, value] : HyperparametersOf(tuned_)) recorder_->Hyperparameter(key, value);
  return {};
}

Status Loop::Open(const Stretch& stretch) {
  if (Status opened = OpenRecorder(); !opened) return opened;
  if (is_first()) {
    auto log = platform::LineFile::Append(options_.out + "/train.log");
    if (!log) return Fail(log.error());
    log_ = std::make_unique<platform::LineFile>(std::move(*log));
  }
  if (!options_.guard.empty()) overseer_ = std::make_unique<Overseer>(options_, group_);
  if (stretch.resume.empty()) {
    place_.loader = loader_.state();
    return Say(fmt::format("{} parameters in {} layers, {} samples of {} tokens a step on {} ranks",
                           FormatCount(model_.weights().size()), options_.shape.layers,
                           options_.batch * options_.accumulate * options_.ranks, options_.shape.context,
                           options_.ranks));
  }
  bool optimizer_found = false;
  auto place = LoadCheckpoint(stretch.resume, model_, adam_, optimizer_found);
  if (!place) return Fail(place.error());
  place_ = *place;
  if (stretch.restore_data) loader_.Restore(place_.loader);
  Tell(place_.step, {Happening::kResume, "", model::Severity::kInfo, "resumed from " + stretch.resume});
  return Say(fmt::format("resumed from {} at step {}{}", stretch.resume, place_.step,
                         optimizer_found ? "" : ", weights only"));
}

std::vector<Batch> Loop::LoadBatches(std::int64_t step) {
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < options_.accumulate; ++i) {
    batches.push_back(loader_.Next(group_.rank(), group_.ranks()));
    sabotage_.SpoilBatch(step, options_.shape.vocabulary, batches.back());
  }
  platform::SleepSeconds(sabotage_.LoadingDelay(step, usual_s_));
  return batches;
}

Status Loop::Pass(const std::vector<Batch>& batches, std::int64_t step, Measured& measured) {
  std::fill(model_.gradients().begin(), model_.gradients().end(), 0.0F);
  const float share = 1 / static_cast<float>(options_.accumulate);
  for (const Batch& batch : batches) {
    if (const std::string bad = model_.FindBadToken(batch); !bad.empty())
      return Fail(ErrorCode::kInvalid, fmt::format("{} (step {})", bad, step));
    for (int i = 0; i < sabotage_.NeedlessPasses(step); ++i) {
      static_cast<void>(model_.Forward(batch));
      model_.Backward(batch, 0);
    }
    measured.loss += model_.Forward(batch) * static_cast<double>(share);
    model_.Backward(batch, share);
    measured.fingerprint ^= batch.fingerprint;
  }
  return {};
}

Status Loop::Exchange(std::int64_t step, Measured& measured) {
  sabotage_.MeetOthers(step);
  const bool asked = platform::WasInterrupted() || group_.board().interrupted.load();
  float shared[] = {static_cast<float>(measured.loss), asked ? 1.0F : 0.0F};
  if (Status met = group_.Mean(shared); !met) return met;
  if (group_.ranks() > 1) measured.loss = static_cast<double>(shared[0]);
  stop_ = shared[1] > 0;
  return group_.Mean(model_.gradients());
}

Result<Verdict> Loop::Ask(std::int64_t step, const Measured& measured) {
  if (overseer_ == nullptr) return Verdict();
  auto verdict = overseer_->Judge(step, measured.loss, measured.grad_norm);
  if (!verdict) return verdict;
  for (const Note& note : verdict->notes) {
    Tell(step, note);
    if (const Status said = Say("guard: " + note.text); !said) return Fail(said.error());
  }
  return verdict;
}

// The place in the data stays: what made the step bad is passed over.
Status Loop::SetBack(std::int64_t step, std::int64_t to) {
  const std::string folder = CheckpointFolder(options_.out, to);
  bool optimizer_found = false;
  auto place = LoadCheckpoint(folder, model_, adam_, optimizer_found);
  if (!place) return Fail(place.error());
  place->loader = loader_.state();
  place_ = *place;
  sabotage_.MovePast(step);
  overseer_->NoteRollback(to);
  Tell(to, {Happening::kResume, "", model::Severity::kInfo, "resumed from " + folder});
  return Say(fmt::format("resumed from {} at step {}", folder, to));
}

void Loop::Update(const Measured& measured) {
  const bool clips = tuned_.clip > 0 && measured.grad_norm > tuned_.clip;
  clipped_ += clips ? 1 : 0;
  // A norm that is not finite makes the weights so too, as in other trainers.
  const bool broken = !std::isfinite(measured.grad_norm) && tuned_.clip > 0;
  const double scale = clips || broken ? tuned_.clip / (measured.grad_norm + 1e-6) : 1;
  adam_.Step(model_, pool_, measured.rate, scale);
}

Status Loop::MakeStep(std::int64_t step) {
  Stopwatch whole;
  Stopwatch part;
  Measured measured;
  group_.board().seats[group_.rank()].step.store(step);
  sabotage_.SpoilModel(step, model_, adam_);
  const std::vector<Batch> batches = LoadBatches(step);
  measured.data_s = part.Lap();
  if (Status passed = Pass(batches, step, measured); !passed) return passed;
  measured.compute_s = part.Lap();
  if (Status exchanged = Exchange(step, measured); !exchanged) return exchanged;
  measured.exchange_s = part.Lap();
  place_.step = step;
  measured.rate = RateAt(++place_.schedule_step, tuned_.steps, tuned_.warmup, tuned_.lr);
  measured.grad_norm = std::sqrt(SumOfSquares(model_.gradients()));
  const auto verdict = Ask(step, measured);
  if (!verdict) return Fail(verdict.error());
  if (verdict->action == guard::Action::kGo) {
    Update(measured);
  } else {
    adam_.Rest();
  }
  place_.loader = loader_.state();
  sabotage_.Leak(step);
  measured.step_s = whole.Lap();
  const double busy_s = measured.step_s - measured.data_s;
  usual_s_ = usual_s_ == 0 ? busy_s : 0.9 * usual_s_ + 0.1 * busy_s;
  const bool evaluates = options_.eval_every > 0 && step % options_.eval_every == 0;
  const bool records_layers = recorder_ && options_.stats_every > 0 && step % options_.stats_every == 0;
  if (records_layers) RecordLayers(step);
  if (records_layers) RecordActivations(step);
  if (evaluates) measured.eval_loss = model_.Forward(loader_.HeldOut());
  if (Status reported = Report(step, measured); !reported) return reported;
  if (verdict->action == guard::Action::kStop)
    return Fail(ErrorCode::kInvalid,
                "stopped by the guard" + (verdict->notes.empty() ? "" : ": " + verdict->notes.back().text));
  return verdict->action == guard::Action::kRollback ? SetBack(step, verdict->rollback_to) : Status();
}

void Loop::Record(std::int64_t step, const Measured& measured, double tokens_per_s) {
  const std::pair<const char*, double> scalars[] = {
      {"loss", measured.loss},
      {"lr", measured.rate},
      {"grad_norm", measured.grad_norm},
      {"tokens_per_s", tokens_per_s},
      {"step_time_s", measured.step_s},
      {"data_wait_s", measured.data_s},
      {"compute_s", measured.compute_s},
      {"comm_wait_s", measured.exchange_s},
      {"clipped_steps", static_cast<double>(clipped_)},
      {"host_memory_mb", static_cast<double>(platform::ResidentBytes()) * 1e-6}};
  for (const auto& [name, value] : scalars) recorder_->Scalar(name, step, value);
  if (!(measured.eval_loss < 0)) recorder_->Scalar("val_loss", step, measured.eval_loss);  // NaN too
  recorder_->Batch(step, measured.fingerprint);
  recorder_->StepDone(step);
}

Status Loop::Report(std::int64_t step, const Measured& measured) {
  const double tokens_per_s = TokensPerSecond(measured.step_s);
  if (recorder_) Record(step, measured, tokens_per_s);
  if (!is_first()) return {};
  Board& board = group_.board();
  if (board.last_step.exchange(step) == 0) board.first_loss.store(measured.loss);
  board.last_loss.store(measured.loss);
  board.tokens_per_s.store(tokens_per_s);
  if (progress_) progress_({step, options_.steps, measured.loss, tokens_per_s});
  const std::string eval = measured.eval_loss < 0 ? "" : fmt::format(" | val_loss {:.4f}", Plain(measured.eval_loss));
  return Say(fmt::format(
      "step {} | loss {:.4f} | lr {:.3e} | grad_norm {:.4f}{} | {:.0f} tok/s | step_time {:.4f} | data_wait {:.4f}",
      step, Plain(measured.loss), measured.rate, Plain(measured.grad_norm), eval, tokens_per_s, measured.step_s,
      measured.data_s));
}

void Loop::RecordLayers(std::int64_t step) {
  double all = 0;
  for (std::size_t i = 0; i < model_.tensors().size(); ++i) {
    const Tensor& tensor = model_.tensors()[i];
    const double norm = std::sqrt(SumOfSquares(model_.PartOf(model_.weights(), tensor)));
    all += norm * norm;
    recorder_->Scalar("grad_norm/" + tensor.name, step,
                      std::sqrt(SumOfSquares(model_.PartOf(model_.gradients(), tensor))));
    recorder_->Scalar("param_norm/" + tensor.name, step, norm);
    recorder_->Scalar("update_ratio/" + tensor.name, step, adam_.UpdateNorms()[i] / norm);
  }
  recorder_->Scalar("param_norm", step, std::sqrt(all));
}

void Loop::RecordActivations(std::int64_t step) {
  for (int layer = 0; layer < options_.shape.layers; ++layer) {
    const std::span<const float> out = model_.OutputOf(layer);
    recorder_->Scalar(fmt::format("activation_rms/blocks.{}", layer), step, Rms(out));
    recorder_->Scalar(fmt::format("activation_max/blocks.{}", layer), step, static_cast<double>(LargestMagnitude(out)));
  }
}

Status Loop::Save(std::int64_t step, bool with_optimizer) {
  if (!is_first()) return {};
  const auto folder = SaveCheckpoint(options_.out, options_, place_, model_, adam_, with_optimizer);
  if (!folder) return Fail(folder.error());
  Tell(step, {Happening::kCheckpoint, *folder, model::Severity::kInfo, "saved " + *folder});
  if (overseer_ && with_optimizer) overseer_->NoteCheckpoint(step);
  return Say(fmt::format("saved {}", *folder));
}

Status Loop::Run(const Stretch& stretch) {
  if (Status opened = Open(stretch); !opened) return opened;
  while (place_.step < options_.steps) {
    const std::int64_t step = place_.step + 1;
    if (Status made = MakeStep(step); !made) {
      Tell(step, {Happening::kFailure, "", model::Severity::kError, made.error().Text()});
      static_cast<void>(Say("error: " + made.error().Text()));
      return made;
    }
    if (place_.step != step) continue;  // set back
    const bool regular = options_.save_every > 0 && step % options_.save_every == 0;
    if (step == stretch.save_at || regular || step == options_.steps || stop_) {
      const bool with_optimizer = step != stretch.save_at || stretch.save_optimizer;
      if (Status saved = Save(step, with_optimizer); !saved) return saved;
    }
    if (stop_) {
      group_.board().interrupted.store(true);
      return Say(fmt::format("interrupted in step {}", step));
    }
    // Nothing is closed and nobody is notified: what stands in files and in shared memory is all that there is.
    if (step == stretch.killed_after) platform::EndThisProcess(SIGKILL);
  }
  return Say(fmt::format("done after {} steps", options_.steps));
}

}  // namespace vigil::gym
