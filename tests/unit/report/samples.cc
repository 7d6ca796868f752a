#include "samples.h"

#include <cmath>
#include <limits>

namespace vigil::report::samples {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Repeatable noise in -1..1 that is the same with every compiler.
double Noise(std::int64_t step) {
  const auto mixed = static_cast<std::uint32_t>(step) * 2654435761U;
  return static_cast<double>((mixed >> 8U) & 0xFFFFU) / 32767.5 - 1.0;
}

template <class Value>
model::Series MakeSeries(std::string signal, std::string raw, std::int64_t last, Value value, std::int64_t every = 1) {
  model::Series series;
  series.signal = std::move(signal);
  series.raw = std::move(raw);
  for (std::int64_t step = every; step <= last; step += every) series.Append(step, value(step));
  return series;
}

double HealthyLoss(std::int64_t step) {
  return 1.1 + 2.1 * std::exp(-static_cast<double>(step) / 80) + 0.05 * Noise(step);
}
double HealthyNorm(std::int64_t step) { return 1.0 + 0.3 * Noise(step + 7); }

model::Evidence Observed(std::string text, std::int64_t step = model::kNoStep, double value = model::kNoValue,
                         std::string path = {}, std::uint32_t line = 0) {
  return {std::move(text), step, value, std::move(path), line};
}

model::Finding Found(std::string id, model::Severity severity, std::string signal, std::int64_t first,
                     std::int64_t last, std::string message) {
  model::Finding finding;
  finding.id = std::move(id);
  finding.severity = severity;
  finding.signal = std::move(signal);
  finding.first_step = first;
  finding.last_step = last;
  finding.message = std::move(message);
  return finding;
}

model::RunReport Named(std::string name, std::string path) {
  model::RunReport report;
  report.run.name = std::move(name);
  report.run.sources.push_back({std::move(path), "hf-trainer-state", model::SourceState::kRead, {}});
  report.run.framework = "hf-trainer";
  report.run.regime = {"sft", 0.8};
  report.coverage = {
      {model::Family::kLoss, model::CoverageState::kChecked, "loss and gradient norm at every step", {}},
      {model::Family::kMemory, model::CoverageState::kBlind, "no memory was logged", "skip_memory_metrics: false"},
      {model::Family::kThroughput, model::CoverageState::kPartly, "only the mean over the run", "log step times"},
  };
  return report;
}

model::Diagnosis LrTooHigh(std::int64_t first, std::int64_t last) {
  model::Diagnosis diagnosis;
  diagnosis.cause = "sample-lr-too-high";
  diagnosis.confidence = 0.8612345;
  diagnosis.summary =
      "sample-lr-too-high: grad_norm climbed 1.2 -> 840 over steps 398-411 before the loss. Cannot be told apart for "
      "sure "
      "from \"there is no warm-up\"; the first steps would tell";
  diagnosis.first_step = first;
  diagnosis.last_step = last;
  diagnosis.findings = {0, 1};
  diagnosis.supporting = {
      Observed("grad_norm climbed 1.2 -> 840 over steps 398-411 before the loss", 398, 840, "run/train.log", 1203),
      Observed("the learning rate was at its peak", 398, 0.003)};
  diagnosis.opposing = {Observed("an earlier peak of the schedule was survived", 120)};
  diagnosis.missing = {"fingerprints of the batches"};
  diagnosis.next = "Train 50 steps from checkpoint-300 with a third of the learning rate";
  diagnosis.restart = "checkpoint-300, the last clean one before step 398";
  diagnosis.remedies = {{"sample-lower-lr", "Lower the learning rate", "hf-trainer", "TrainingArguments",
                         "learning_rate", "0.003", "0.001"},
                        {"sample-clip-norm", "Clip the global gradient norm", "hf-trainer", "TrainingArguments",
                         "max_grad_norm", "", "1.0"},
                        {"sample-inspect", "Look at the data of steps 398 to 411", "", "", "", "", ""}};
  return diagnosis;
}

}  // namespace

model::RunReport DivergedRun() {
  model::RunReport report = Named("llama-sft/lr-3e-3", "run/checkpoint-500/trainer_state.json");
  report.run.series.push_back(MakeSeries("loss", "loss", 500, [](std::int64_t step) {
    return step < 405 ? HealthyLoss(step)
                      : std::min(9.5, 1.2 + 0.3 * static_cast<double>(step - 404) + 0.2 * Noise(step));
  }));
  report.run.series.push_back(MakeSeries("grad_norm", "grad_norm", 500, [](std::int64_t step) {
    return step < 398 ? HealthyNorm(step) : std::min(840.0, std::exp(0.52 * static_cast<double>(step - 398)) * 1.2);
  }));
  report.run.series.push_back(MakeSeries("lr", "learning_rate", 500, [](std::int64_t step) {
    return 0.003 * std::min(1.0, static_cast<double>(step) / 50);
  }));
  report.run.series.push_back(
      MakeSeries("eval_loss", "eval_loss", 500, [](std::int64_t step) { return HealthyLoss(step) + 0.1; }, 100));
  report.findings = {Found("loss/divergence", model::Severity::kError, "loss", 405, 500,
                           "the loss rose from 1.1 to 9.5 from step 405 on"),
                     Found("grad/explosion", model::Severity::kError, "grad_norm", 398, 411,
                           "the gradient norm grew 700-fold in 13 steps"),
                     Found("lr/no-warmup", model::Severity::kWarning, "lr", 1, 50, "the warm-up is short")};
  report.findings[0].evidence = {Observed("lowest level 1.1, last level 9.5", 405, 9.5, "run/train.log", 1210)};
  report.diagnoses = {LrTooHigh(398, 500)};
  return report;
}

model::RunReport HiddenNanRun() {
  model::RunReport report = Named("nan-hidden", "nan/train.log");
  report.run.series.push_back(
      MakeSeries("loss", "loss", 300, [](std::int64_t step) { return step < 212 ? HealthyLoss(step) : 0.0; }));
  report.run.series.push_back(MakeSeries("grad_norm", "grad_norm", 300,
                                         [](std::int64_t step) { return step < 212 ? HealthyNorm(step) : kNan; }));
  report.findings = {Found("loss/non-finite", model::Severity::kFatal, "loss", 212, 300,
                           "NaN loss at step 212 (hidden by the logger)"),
                     Found("grad/non-finite", model::Severity::kFatal, "grad_norm", 212, 300,
                           "the gradient norm is NaN from step 212 on")};
  model::Diagnosis diagnosis;
  diagnosis.cause = "sample-bad-data";
  diagnosis.confidence = 0.71;
  diagnosis.summary = "sample-bad-data: grad_norm was flat (0.98 -> 1.02) for 50 steps before";
  diagnosis.first_step = 212;
  diagnosis.last_step = 300;
  diagnosis.findings = {0, 1};
  diagnosis.supporting = {Observed("grad_norm was flat (0.98 -> 1.02) for 50 steps before", 162, 1.02)};
  diagnosis.next = "Run the batch of step 212 alone from checkpoint-200";
  diagnosis.restart = "checkpoint-200, the last clean one before step 212";
  diagnosis.remedies = {{"sample-show-nan", "Show NaN in the log", "hf-trainer", "TrainingArguments",
                         "logging_nan_inf_filter", "true", "false"}};
  report.diagnoses = {diagnosis};
  return report;
}

model::RunReport HealthyRun() {
  model::RunReport report = Named("healthy-cosine", "ok/trainer_state.json");
  report.run.series.push_back(MakeSeries("loss", "loss", 400, HealthyLoss));
  report.run.series.push_back(MakeSeries("grad_norm", "grad_norm", 400, HealthyNorm));
  report.findings = {
      Found("grad/always-clipped", model::Severity::kInfo, "grad_norm", 1, 400, "clipped on most steps")};
  return report;
}

model::RunReport UndecidedRun() {
  model::RunReport report = Named("torch-loop", "loop/out.log");
  report.run.framework.clear();
  report.run.series.push_back(
      MakeSeries("loss", "loss", 90, [](std::int64_t step) { return step < 60 ? HealthyLoss(step) : kNan; }, 10));
  report.findings = {
      Found("loss/non-finite", model::Severity::kFatal, "loss", 60, 90, "the loss is NaN from step 60 on")};
  model::Diagnosis diagnosis;
  diagnosis.cause = "unknown";
  diagnosis.confidence = 0.45;
  diagnosis.summary = "learning rate too high and bad sample fit equally well";
  diagnosis.first_step = 60;
  diagnosis.last_step = 90;
  diagnosis.findings = {0};
  diagnosis.missing = {"the gradient norm (log the value that clip_grad_norm_ returns)"};
  diagnosis.next = "Log the gradient norm: a climb before step 60 means the learning rate, a flat one the data";
  report.diagnoses = {diagnosis};
  return report;
}

model::RunReport RlRun() {
  model::RunReport report = Named("grpo-flat", "grpo/train.log");
  report.run.framework = "trl";
  report.run.regime = {"grpo", 0.9};
  for (const char* signal : {"reward", "reward_std", "kl", "entropy", "completion_length"})
    report.run.series.push_back(MakeSeries(signal, signal, 60, [](std::int64_t step) { return 0.05 * Noise(step); }));
  report.run.series[3] = MakeSeries("entropy", "entropy", 60,
                                    [](std::int64_t step) { return 0.5 * std::exp(-static_cast<double>(step) / 10); });
  report.findings = {
      Found("sample/reward-flat", model::Severity::kError, "reward", 1, 60, "the reward stayed near 0 for 60 steps")};
  report.findings[0].family = model::Family::kRl;
  return report;
}

model::RunReport RestartedRun() {
  model::RunReport report = Named("resumed", "resumed/trainer_state.json");
  model::Series loss = MakeSeries("loss", "loss", 200, HealthyLoss);
  for (std::int64_t step = 101; step <= 300; ++step) loss.Append(step, HealthyLoss(step) + 0.6);
  report.run.series.push_back(std::move(loss));
  report.findings = {Found("sample/resume-jump", model::Severity::kWarning, "loss", 101, 101,
                           "the loss jumped from 1.7 to 2.3 at the restart from step 100")};
  return report;
}

model::RunReport OnePointRun() {
  model::RunReport report = Named("one-point", "one.jsonl");
  report.run.series.push_back(MakeSeries("loss", "loss", 1, [](std::int64_t) { return 2.5; }));
  return report;
}

model::RunReport AllNanRun() {
  model::RunReport report = Named("all-nan", "nan.csv");
  report.run.series.push_back(MakeSeries("loss", "loss", 40, [](std::int64_t) { return kNan; }));
  report.findings = {
      Found("sample/non-finite", model::Severity::kFatal, "loss", 1, 40, "the loss is NaN at all 40 logged steps")};
  return report;
}

model::RunReport ConstantRun() {
  model::RunReport report = Named("constant", "constant.csv");
  report.run.series.push_back(MakeSeries("loss", "loss", 40, [](std::int64_t) { return 0.6931; }));
  report.run.series.push_back(MakeSeries("grad_norm", "grad_norm", 40, [](std::int64_t step) {
    return step == 20 ? kInf : step == 21 ? -kInf : 0.0;
  }));
  report.findings = {
      Found("sample/collapse", model::Severity::kError, "loss", 1, 40, "the loss is the constant 0.6931")};
  return report;
}

model::RunReport EmptyRun() {
  model::RunReport report = Named("only-a-config", "config.json");
  report.coverage[0] = {model::Family::kLoss, model::CoverageState::kBlind, "no loss was logged", "logging_steps: 1"};
  return report;
}

model::RunReport HostileRun() {
  const std::string terminal = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u202Etxt.exe\xff\xfe\nnext\rline\ttab";
  const std::string page = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;";
  model::RunReport report = Named(page + terminal, terminal + page);
  report.run.framework = page;
  report.run.regime.name = page;
  report.run.sources[0].state = model::SourceState::kPartial;
  report.run.sources[0].note = terminal;
  report.run.facts.push_back({"lr", page, page, {}});
  report.run.series.push_back(MakeSeries("loss", page, 20, HealthyLoss));
  report.run.series[0].labels = {{"rank", page + terminal}};
  report.run.series[0].unit = page;
  report.run.series.push_back(MakeSeries(page, terminal, 20, HealthyLoss));
  report.findings = {Found(page, model::Severity::kFatal, page, 3, 7, terminal + page)};
  report.findings[0].evidence = {Observed(page, 3, kInf, terminal + page, 4)};
  report.diagnoses = {LrTooHigh(3, 7)};
  report.diagnoses[0].cause = page;
  report.diagnoses[0].summary = page + terminal;
  report.diagnoses[0].restart = terminal + page;
  report.diagnoses[0].findings = {0, 4000000000U};
  report.diagnoses[0].remedies = {{page, terminal, page, page, page, terminal, page}};
  report.diagnoses[0].missing = {page};
  report.coverage = {{model::Family::kHang, model::CoverageState::kBlind, page, terminal}};
  return report;
}

model::Report One(model::RunReport run) {
  model::Report report;
  report.runs.push_back(std::move(run));
  return report;
}

model::Report Several() {
  model::Report report;
  report.runs = {HealthyRun(), RestartedRun(), DivergedRun(), OnePointRun(), UndecidedRun(), HiddenNanRun()};
  report.unread = {{"broken/events.out.tfevents.1", "byte 0: no record has a right checksum"}};
  return report;
}

model::Series LongSeries(std::size_t count, std::size_t spike_at, std::size_t nan_at) {
  model::Series series;
  series.signal = series.raw = "loss";
  series.steps.resize(count);
  series.values.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    series.steps[i] = static_cast<std::int64_t>(i);
    series.values[i] = i == spike_at ? 50 : i == nan_at ? kNan : 2 + 0.1 * Noise(static_cast<std::int64_t>(i));
  }
  series.segment_starts = {0};
  return series;
}

}  // namespace vigil::report::samples
