#include "gym/gym.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "command.h"
#include "platform/clock.h"
#include "platform/terminal.h"

namespace vigil::app {
namespace {

constexpr int kStderr = 2;
constexpr int kInterruptedCode = 130;  // as shells say it of a program that SIGINT ended

constexpr std::string_view kExamples = R"(
examples:
  vigil gym                                           a sound run of 300 steps, in gym-runs/healthy-s1
  vigil gym --fault lr-too-high --out bad-run         the same with a learning rate 1,000 times as high
  vigil diagnose bad-run                              what vigil says about it
  vigil gym --fault slow-data --onset 100 --strength 3
  vigil gym --ranks 2 --fault dead-rank               ranks are processes
  vigil gym --fault bit-flip --guard rollback         the guard sets the run back to before the accident
  vigil gym --resume bad-run --steps 600              goes on from the last checkpoint
  vigil gym --list --json                             the faults, with the findings and causes that are right

Ctrl-C saves a checkpoint first; --resume goes on from it.
exit codes: 0 trained to the end, 1 the run died, 2 wrong usage or nothing could be written, 130 interrupted)";

struct GymOptions {
  gym::Options run;
  bool list = false;
  bool json = false;
  bool quiet = false;
};

// The true cause first.
std::string CausesOf(const gym::Fault& fault) {
  const bool both = !fault.cause.empty() && !fault.alike.empty();
  return fmt::format("{}{}{}", fault.cause, both ? "," : "", fault.alike);
}

std::string JsonList(std::string_view words) {
  std::vector<std::string> quoted;
  for (const std::string_view word : Split(words, ',')) quoted.push_back(fmt::format("\"{}\"", word));
  return "[" + Join(quoted, ", ") + "]";
}

std::string FaultsAsJson() {
  std::vector<std::string> rows;
  for (const gym::Fault& fault : gym::Faults()) {
    rows.push_back(
        fmt::format("  {{\"name\": \"{}\", \"what\": \"{}\", \"findings\": {}, \"cause\": \"{}\", \"causes\": {}, "
                    "\"strength\": {}, \"unit\": \"{}\", \"ranks\": {}, \"from_start\": {}}}",
                    fault.name, fault.what, JsonList(fault.findings), fault.cause, JsonList(CausesOf(fault)),
                    FormatExact(fault.strength), fault.unit, fault.ranks, fault.from_start));
  }
  return "[\n" + Join(rows, ",\n") + "\n]\n";
}

std::string FaultsAsText() {
  std::string text;
  for (const gym::Fault& fault : gym::Faults()) {
    text += fmt::format("{}\n    {}\n    --strength {} {}{}\n    findings: {}\n    causes: {}\n", fault.name,
                        fault.what, FormatNumber(fault.strength), fault.unit,
                        fault.ranks > 1 ? fmt::format(", --ranks {} or more", fault.ranks) : "", fault.findings,
                        CausesOf(fault));
  }
  return text;
}

std::vector<std::string> FaultNames() {
  std::vector<std::string> names;
  for (const gym::Fault& fault : gym::Faults()) names.emplace_back(fault.name);
  return names;
}

// One line on the terminal that is drawn over and over.
class StepLine {
 public:
  explicit StepLine(bool wanted) : active_(wanted && platform::IsTerminal(kStderr)) {}

  void Show(const gym::Progress& progress) {
    constexpr std::uint64_t kPauseNs = 50'000'000;
    const std::uint64_t now = platform::MonotonicNs();
    if (!active_ || (now - drawn_at_ < kPauseNs && progress.step != progress.steps)) return;
    drawn_at_ = now;
    static_cast<void>(platform::WriteText(
        kStderr, fmt::format("\r\x1b[Kstep {} of {}   loss {:.4f}   {} tokens/s", FormatCount(AsCount(progress.step)),
                             FormatCount(AsCount(progress.steps)), progress.loss,
                             FormatCount(static_cast<std::uint64_t>(progress.tokens_per_s)))));
  }
  void Clear() const {
    if (active_) static_cast<void>(platform::WriteText(kStderr, "\r\x1b[K"));
  }

 private:
  static std::uint64_t AsCount(std::int64_t value) { return static_cast<std::uint64_t>(value); }
  bool active_;
  std::uint64_t drawn_at_ = 0;
};

int PrintSummary(const gym::Options& options, const gym::Summary& summary, bool quiet) {
  const bool died = summary.ending == gym::Ending::kDied;
  if (died) Complain(fmt::format("gym: the run died in step {}: {}", summary.last_step + 1, summary.message));
  const int code = died ? kFound : summary.ending == gym::Ending::kInterrupted ? kInterruptedCode : kFine;
  if (quiet) return code;
  std::string text = fmt::format("{} steps in {:.1f} s, loss {:.4f} to {:.4f}, in {}\n", summary.last_step,
                                 summary.seconds, summary.first_loss, summary.last_loss, options.out);
  if (summary.ending == gym::Ending::kInterrupted)
    text += fmt::format("interrupted; to go on: vigil gym --resume {}\n", options.out);
  return Print(text + fmt::format("next: vigil diagnose {}\n", options.out), code);
}

// A resumed run has the options of its checkpoint, and those that were given now.
Status TakeOptionsOfCheckpoint(CLI::App& command, gym::Options& run) {
  auto saved = gym::OptionsOfCheckpoint(run.resume);
  if (!saved) return Fail(saved.error());
  saved->out = saved->resume.substr(0, saved->resume.rfind('/'));
  const std::string checkpoint = saved->resume;
  run = std::move(*saved);
  for (CLI::Option* option : command.get_options()) {
    if (option->count() > 0) option->run_callback();
  }
  run.resume = checkpoint;
  return {};
}

// Zero stands for an option that was not given: who writes it means something else.
std::string_view ZeroThatWasGiven(const CLI::App& command, const gym::Options& options) {
  const auto given = [&](const char* name) { return command.get_option(name)->count() > 0; };
  if (options.ranks == 0 && given("--ranks")) return "--ranks";
  if (options.onset == 0 && given("--onset")) return "--onset";
  if (options.threads == 0 && given("--threads")) return "--threads";
  return {};
}

int RunGym(CLI::App& command, GymOptions& given) {
  if (given.list) return Print(given.json ? FaultsAsJson() : FaultsAsText(), kFine);
  gym::Options& options = given.run;
  if (const std::string_view zero = ZeroThatWasGiven(command, options); !zero.empty())
    return Refuse(fmt::format("gym: {} is 0, expected 1 or more", zero));
  if (!options.resume.empty()) {
    if (const Status taken = TakeOptionsOfCheckpoint(command, options); !taken)
      return Refuse("gym: " + taken.error().Text());
  }
  if (!options.fault.empty() && gym::FindFault(options.fault) == nullptr)
    return Refuse(fmt::format("gym: there is no fault '{}'{} (`vigil gym --list` shows all)", options.fault,
                              Offer(options.fault, FaultNames())));
  if (!options.fault.empty() && options.onset > options.steps)
    return Refuse(fmt::format("gym: --onset is {}, but the run has {} steps: nothing would go wrong", options.onset,
                              options.steps));
  if (options.out.empty())
    options.out = fmt::format("gym-runs/{}-s{}", options.fault.empty() ? "healthy" : options.fault, options.seed);
  StepLine line(!given.quiet);
  const auto summary = gym::Train(options, [&](const gym::Progress& progress) { line.Show(progress); });
  line.Clear();
  if (!summary) return Refuse("gym: " + summary.error().Text());
  return PrintSummary(options, *summary, given.quiet);
}

void AddModelOptions(CLI::App& command, gym::Options& run) {
  command.add_option("--layers", run.shape.layers, "blocks of the model (4)")->type_name("N");
  command.add_option("--width", run.shape.width, "numbers a token is (64)")->type_name("N");
  command.add_option("--heads", run.shape.heads, "attention heads (4)")->type_name("N");
  command.add_option("--context", run.shape.context, "tokens of a sample (64)")->type_name("N");
  command.add_flag("--post-norm", run.shape.post_norm, "norms behind the sums, as in the first Transformers");
  command.add_option("--batch", run.batch, "samples a rank takes at once (8)")->type_name("N");
  command.add_option("--accumulate", run.accumulate, "batches before a step (1)")->type_name("N");
  command.add_option("--lr", run.lr, "peak learning rate (0.003)")->type_name("X");
  command.add_option("--warmup", run.warmup, "steps of warm-up (a tenth of the run)")->type_name("N");
  command.add_option("--clip", run.clip, "limit of the gradient norm, 0 for none (1)")->type_name("X");
  command.add_option("--decay", run.decay, "weight decay (0.01)")->type_name("X");
}

void AddRunOptions(CLI::App& command, gym::Options& run) {
  command.add_option("--fault", run.fault, "what goes wrong; none when not given")->type_name("NAME");
  command.add_option("--onset", run.onset, "step at which it begins (half of the run)")->type_name("N");
  command.add_option("--strength", run.strength, "how much, in the unit of the fault")->type_name("X");
  command.add_option("--steps", run.steps, "steps to train (300)")->type_name("N");
  command.add_option("--seed", run.seed, "decides weights, data order and fault (1)")->type_name("N");
  command.add_option("--ranks", run.ranks, "processes that share the work (1)")->type_name("N");
  command.add_option("--threads", run.threads, "threads of a rank; changes no bit of the result")->type_name("N");
  command.add_option("--timeout", run.timeout_s, "seconds a rank waits for the others (10)")->type_name("X");
  command.add_option("--data", run.data, "text to train on (default: stories that come along)")->type_name("FILE");
  command.add_option("--out", run.out, "folder of the run (gym-runs/<fault>-s<seed>)")->type_name("DIR");
  command.add_option("--guard", run.guard, "what to do about a bad step: observe, warn, skip, raise, rollback")
      ->type_name("POLICY");
  command
      .add_option("--guard-control", run.guard_control, "file that changes the guard while it runs (DIR/guard.toml)")
      ->type_name("FILE");
  command.add_flag("--journal", run.journal, "record into journals (rank-<n>.vigil) instead of metrics.jsonl");
  command.add_flag_callback(
      "--no-metrics", [&run] { run.metrics = false; }, "train.log alone: neither journals nor metrics.jsonl");
  command.add_option("--save-every", run.save_every, "steps between checkpoints (only at the end)")->type_name("N");
  command.add_option("--eval-every", run.eval_every, "steps between evaluations, 0 for none (50)")->type_name("N");
  command.add_option("--stats-every", run.stats_every, "steps between per-layer statistics, 0 for none (10)")
      ->type_name("N");
}

}  // namespace

Command AddGym(CLI::App& program) {
  CLI::App* command = program.add_subcommand("gym", "train a small model, sound or with a fault by name");
  auto options = std::make_shared<GymOptions>();
  command->add_flag("--list", options->list, "the faults: mechanism, findings, causes");
  command->add_flag("--json", options->json, "JSON, with --list");
  command->add_flag("-q,--quiet", options->quiet, "no progress and no summary");
  command->add_option("--resume", options->run.resume, "run directory or checkpoint to go on from")->type_name("DIR");
  AddRunOptions(*command, options->run);
  AddModelOptions(*command, options->run);
  command->footer(std::string(kExamples));
  return {command, [command, options] { return RunGym(*command, *options); }};
}

}  // namespace vigil::app
