#include "samples.h"

#include <cmath>
#include <limits>
#include <utility>

#include "catalogue/says.h"

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

model::Evidence Observed(model::Statement says, model::Position at = {}, double value = model::kNoValue,
                         std::string path = {}, std::uint32_t line = 0) {
  model::Evidence evidence;
  evidence.says = std::move(says);
  evidence.at = at;
  evidence.value = value;
  evidence.path = std::move(path);
  evidence.line = line;
  return evidence;
}

model::Finding Found(std::string id, model::Severity severity, std::string signal, model::PositionRange where,
                     model::Statement says) {
  model::Finding finding;
  finding.id = std::move(id);
  finding.severity = severity;
  finding.signal = std::move(signal);
  finding.first = where.first;
  finding.last = where.last;
  finding.says = std::move(says);
  return finding;
}

model::PositionRange Steps(std::int64_t first, std::int64_t last) { return {Step(first), Step(last)}; }

model::Coverage Covered(model::Family family, model::CoverageState state, model::Statement reason,
                        model::Statement enable = {}) {
  model::Coverage coverage;
  coverage.family = family;
  coverage.state = state;
  coverage.reason = std::move(reason);
  coverage.enable = std::move(enable);
  return coverage;
}

model::RunReport Named(std::string name, std::string path) {
  model::RunReport report;
  report.run.name = std::move(name);
  report.run.sources.push_back({std::move(path), "hf-trainer-state", model::SourceState::kRead, {}});
  report.run.framework = "hf-trainer";
  report.run.method = {"sft", 0.8};
  report.coverage = {
      Covered(model::Family::kLoss, model::CoverageState::kChecked, Said("loss and gradient norm at every step")),
      Covered(model::Family::kMemory, model::CoverageState::kBlind, Said("no memory was logged"),
              Said("skip_memory_metrics: false")),
      Covered(model::Family::kThroughput, model::CoverageState::kPartly, Said("only the mean over the run"),
              Said("log step times")),
  };
  return report;
}

model::Diagnosis Explained(std::string cause, double confidence, model::PositionRange where) {
  model::Diagnosis diagnosis;
  diagnosis.cause = std::move(cause);
  diagnosis.confidence = confidence;
  diagnosis.first = where.first;
  diagnosis.last = where.last;
  return diagnosis;
}

model::Diagnosis LrTooHigh(std::int64_t first, std::int64_t last) {
  model::Diagnosis diagnosis = Explained("sample-lr-too-high", 0.8612345, Steps(first, last));
  const model::Statement climbed =
      Said("grad_norm climbed 1.2 -> 840 over steps 398-411 before the loss", {Steps(398, 411)});
  diagnosis.rivals = {{"sample-no-warmup", 0.1234567, Said("the first steps would decide")}};
  diagnosis.summary = Said("sample-lr-too-high: grad_norm climbed 1.2 -> 840 over steps 398-411 before the loss",
                           {model::Identifier{"sample-lr-too-high"}, std::vector<model::Statement>{climbed}});
  diagnosis.findings = {0, 1};
  diagnosis.supporting = {Observed(climbed, Step(398), 840, "run/train.log", 1203),
                          Observed(Said("the learning rate was at its peak"), Step(398), 0.003)};
  diagnosis.opposing = {Observed(Said("an earlier peak of the schedule was survived"), Step(120))};
  diagnosis.missing = {Said("fingerprints of the batches")};
  diagnosis.next = Said("Train 50 steps from checkpoint-300 with a third of the learning rate");
  diagnosis.restart =
      Said("checkpoint-300, the last clean one before step 398", {model::Identifier{"checkpoint-300"}, Step(398)});
  diagnosis.remedies = {{"sample-lower-lr", "hf-trainer", "TrainingArguments", "learning_rate", "0.003", "0.001"},
                        {"sample-clip-norm", "hf-trainer", "TrainingArguments", "max_grad_norm", "", "1.0"},
                        {"sample-inspect", "", "", "", "", ""}};
  return diagnosis;
}

}  // namespace

model::Position Step(std::int64_t count) { return {model::Axis::kStep, count}; }
model::Position Epoch(std::int64_t count) { return {model::Axis::kEpoch, count}; }

model::Statement Said(std::string text, std::vector<model::Argument::Value> arguments) {
  model::Statement statement = {std::move(text), {}};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    statement.arguments.push_back({"argument" + std::to_string(i), std::move(arguments[i])});
  return statement;
}

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
  report.findings = {
      Found("loss/divergence", model::Severity::kError, "loss", Steps(405, 500),
            Said("the loss rose from 1.1 to 9.5 from step 405 on", {Step(405)})),
      Found("grad/explosion", model::Severity::kError, "grad_norm", Steps(398, 411),
            Said("the gradient norm grew 700-fold in 13 steps", {model::Extent{model::Axis::kStep, 13}})),
      Found("lr/no-warmup", model::Severity::kWarning, "lr", Steps(1, 50), Said("the warm-up is short"))};
  report.findings[0].evidence = {
      Observed(Said("lowest level 1.1, last level 9.5"), Step(405), 9.5, "run/train.log", 1210)};
  report.diagnoses = {LrTooHigh(398, 500)};
  return report;
}

model::RunReport HiddenNanRun() {
  model::RunReport report = Named("nan-hidden", "nan/train.log");
  report.run.series.push_back(
      MakeSeries("loss", "loss", 300, [](std::int64_t step) { return step < 212 ? HealthyLoss(step) : 0.0; }));
  report.run.series.push_back(MakeSeries("grad_norm", "grad_norm", 300,
                                         [](std::int64_t step) { return step < 212 ? HealthyNorm(step) : kNan; }));
  report.findings = {Found("loss/non-finite", model::Severity::kFatal, "loss", Steps(212, 300),
                           Said("NaN loss at step 212 (hidden by the logger)", {Step(212)})),
                     Found("grad/non-finite", model::Severity::kFatal, "grad_norm", Steps(212, 300),
                           Said("the gradient norm is NaN from step 212 on", {Step(212)}))};
  model::Diagnosis diagnosis = Explained("sample-bad-data", 0.71, Steps(212, 300));
  diagnosis.summary = Said("sample-bad-data: grad_norm was flat (0.98 -> 1.02) for 50 steps before");
  diagnosis.findings = {0, 1};
  diagnosis.supporting = {Observed(Said("grad_norm was flat (0.98 -> 1.02) for 50 steps before"), Step(162), 1.02)};
  diagnosis.next = Said("Run the batch of step 212 alone from checkpoint-200");
  diagnosis.restart = Said("checkpoint-200, the last clean one before step 212", {Step(212)});
  diagnosis.remedies = {
      {"sample-show-nan", "hf-trainer", "TrainingArguments", "logging_nan_inf_filter", "true", "false"}};
  report.diagnoses = {diagnosis};
  return report;
}

model::RunReport HealthyRun() {
  model::RunReport report = Named("healthy-cosine", "ok/trainer_state.json");
  report.run.series.push_back(MakeSeries("loss", "loss", 400, HealthyLoss));
  report.run.series.push_back(MakeSeries("grad_norm", "grad_norm", 400, HealthyNorm));
  report.findings = {
      Found("grad/always-clipped", model::Severity::kInfo, "grad_norm", Steps(1, 400), Said("clipped on most steps"))};
  return report;
}

model::RunReport UndecidedRun() {
  model::RunReport report = Named("torch-loop", "loop/out.log");
  report.run.framework.clear();
  report.run.series.push_back(
      MakeSeries("loss", "loss", 90, [](std::int64_t step) { return step < 60 ? HealthyLoss(step) : kNan; }, 10));
  report.findings = {Found("loss/non-finite", model::Severity::kFatal, "loss", Steps(60, 90),
                           Said("the loss is NaN from step 60 on", {Step(60)}))};
  model::Diagnosis diagnosis = Explained("unknown", 0.45, Steps(60, 90));
  diagnosis.summary = Said("learning rate too high and bad sample fit equally well");
  diagnosis.findings = {0};
  diagnosis.missing = {Said("the gradient norm (log the value that clip_grad_norm_ returns)")};
  diagnosis.next = Said("Log the gradient norm: a climb before step 60 means the learning rate, a flat one the data");
  report.diagnoses = {diagnosis};
  return report;
}

model::RunReport RlRun() {
  model::RunReport report = Named("grpo-flat", "grpo/train.log");
  report.run.framework = "trl";
  report.run.method = {"grpo", 0.9};
  for (const char* signal : {"reward", "reward_std", "kl", "entropy", "completion_length"})
    report.run.series.push_back(MakeSeries(signal, signal, 60, [](std::int64_t step) { return 0.05 * Noise(step); }));
  report.run.series[3] = MakeSeries("entropy", "entropy", 60,
                                    [](std::int64_t step) { return 0.5 * std::exp(-static_cast<double>(step) / 10); });
  report.findings = {Found("sample/reward-flat", model::Severity::kError, "reward", Steps(1, 60),
                           Said("the reward stayed near 0 for 60 steps"))};
  report.findings[0].family = model::Family::kRl;
  return report;
}

model::RunReport RestartedRun() {
  model::RunReport report = Named("resumed", "resumed/trainer_state.json");
  model::Series loss = MakeSeries("loss", "loss", 200, HealthyLoss);
  for (std::int64_t step = 101; step <= 300; ++step) loss.Append(step, HealthyLoss(step) + 0.6);
  report.run.series.push_back(std::move(loss));
  report.findings = {Found("sample/resume-jump", model::Severity::kWarning, "loss", Steps(101, 101),
                           Said("the loss jumped from 1.7 to 2.3 at the restart from step 100", {Step(100)}))};
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
  report.findings = {Found("sample/non-finite", model::Severity::kFatal, "loss", Steps(1, 40),
                           Said("the loss is NaN at all 40 logged steps", {Steps(1, 40)}))};
  return report;
}

model::RunReport ConstantRun() {
  model::RunReport report = Named("constant", "constant.csv");
  report.run.series.push_back(MakeSeries("loss", "loss", 40, [](std::int64_t) { return 0.6931; }));
  report.run.series.push_back(MakeSeries("grad_norm", "grad_norm", 40, [](std::int64_t step) {
    return step == 20 ? kInf : step == 21 ? -kInf : 0.0;
  }));
  report.findings = {
      Found("sample/collapse", model::Severity::kError, "loss", Steps(1, 40), Said("the loss is the constant 0.6931"))};
  return report;
}

model::RunReport EmptyRun() {
  model::RunReport report = Named("only-a-config", "config.json");
  report.coverage[0] =
      Covered(model::Family::kLoss, model::CoverageState::kBlind, Said("no loss was logged"), Said("logging_steps: 1"));
  return report;
}

model::RunReport HostileRun() {
  const std::string terminal = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u202E\u200Btxt.exe\xff\xfe\nnext\rline\ttab";
  const std::string page = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;";
  model::RunReport report = Named(page + terminal, terminal + page);
  report.run.framework = page;
  report.run.method.name = page;
  report.run.sources[0].state = model::SourceState::kPartial;
  report.run.sources[0].notes = {says::DamageError{.message = terminal}};
  report.run.facts.push_back({"lr", page, page, {}});
  report.run.series.push_back(MakeSeries("loss", page, 20, HealthyLoss));
  report.run.series[0].labels = {{"rank", page + terminal}};
  report.run.series[0].unit = page;
  report.run.series.push_back(MakeSeries(page, terminal, 20, HealthyLoss));
  report.findings = {Found(page, model::Severity::kFatal, page, Steps(3, 7),
                           Said(terminal + page, {model::Identifier{page}, model::Quote{terminal, page, 3}}))};
  report.findings[0].evidence = {Observed(Said(page), Step(3), kInf, terminal + page, 4)};
  report.diagnoses = {LrTooHigh(3, 7)};
  report.diagnoses[0].cause = page;
  report.diagnoses[0].summary = Said(page + terminal);
  report.diagnoses[0].restart = Said(terminal + page);
  report.diagnoses[0].rivals = {{page, 0.3, Said(terminal + page)}};
  report.diagnoses[0].findings = {0, 4000000000U};
  report.diagnoses[0].remedies = {{page, page, page, page, terminal, page}};
  report.diagnoses[0].missing = {Said(page)};
  report.coverage = {Covered(model::Family::kHang, model::CoverageState::kBlind, Said(page), Said(terminal))};
  return report;
}

model::RunReport EpochRun() {
  model::RunReport report = Named("by-epochs", "history.csv");
  report.run.planned_steps = model::StepAt(100000);
  for (const char* metric : {"loss", "grad_norm"}) {
    report.run.series.push_back(MakeSeries(metric, metric, 60, HealthyLoss));
    report.run.series.back().axis = model::Axis::kEpoch;
  }
  const model::PositionRange where = {Epoch(57), Epoch(60)};
  report.findings = {Found("sample/divergence", model::Severity::kError, "loss", where, Said("the loss turned up"))};
  report.diagnoses = {Explained("sample-lr-too-high", 0.6, where)};
  report.diagnoses[0].findings = {0};
  report.diagnoses[0].supporting = {Observed(Said("the gradient norm climbed"), Epoch(56), 9)};
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
  for (std::size_t i = 0; i < count; ++i) {
    series.steps.push_back(static_cast<std::int64_t>(i));
    series.values.push_back(i == spike_at ? 50 : i == nan_at ? kNan : 2 + 0.1 * Noise(static_cast<std::int64_t>(i)));
  }
  series.segment_starts = {0};
  return series;
}

}  // namespace vigil::report::samples
