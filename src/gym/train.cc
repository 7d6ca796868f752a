// A run from its options to its summary: one process, or a launcher and its ranks.
#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <map>

#include "gym/loop.h"
#include "gym/options.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/process.h"
#include "platform/terminal.h"

namespace vigil::gym {
namespace {

struct Job {
  Options options;  // resolved, as checkpoints keep them
  Corpus corpus;
  std::function<void(const Progress&)> progress;
};

std::vector<Stretch> StretchesOf(const Options& options) {
  if (!Sabotage::IsResume(options) || !options.resume.empty() || options.onset >= options.steps) {
    Stretch whole;
    whole.resume = options.resume;
    return {whole};
  }
  Stretch before;
  before.save_at = options.onset;
  before.save_optimizer = Sabotage::SavesOptimizer(options);
  before.killed_after = std::min(options.steps, options.onset + std::max<std::int64_t>(1, options.steps / 20));
  Stretch after;
  after.resume = CheckpointFolder(options.out, options.onset);
  after.restore_data = Sabotage::RestoresData(options);
  return {before, after};
}

// What a rank's process does. Its error stands on the board when it fails.
int RunRank(const Job& job, Group& group, int rank, const Stretch& stretch) {
  group.Join(rank);
  const Status ran = Loop(job.options, job.corpus, group, job.progress).Run(stretch);
  if (ran) return 0;
  Board::Seat& seat = group.board().seats[rank];
  std::strncpy(seat.message, ran.error().Text().c_str(), sizeof seat.message - 1);
  seat.failed.store(true);
  return 1;
}

// Starts the ranks, waits for them, and ends those that are left when one has died. Of processes that the stretch kills
// it says nothing: whoever kills a job kills its launcher too.
class Launcher {
 public:
  Launcher(const Job& job, Group& group) : job_(job), group_(group) {}

  Status Run(const Stretch& stretch) {
    killed_after_ = stretch.killed_after;
    for (int rank = 0; rank < group_.ranks(); ++rank) {
      const auto process = platform::ForkChild([&] { return RunRank(job_, group_, rank, stretch); });
      if (!process) {
        EndOthers();
        return Fail(process.error());
      }
      rank_of_[*process] = rank;
    }
    while (!rank_of_.empty()) Watch();
    return {};
  }

  const std::string& death() const { return death_; }

 private:
  static constexpr double kNapSeconds = 2e-3;
  static constexpr double kGraceSeconds = 1;

  void Watch() {
    if (platform::WasInterrupted()) group_.board().interrupted.store(true);
    const platform::ChildEnd end = platform::PollChildren();
    if (const auto found = rank_of_.find(end.process); end.process != 0 && found != rank_of_.end()) {
      NoteEnd(found->second, end);
      rank_of_.erase(found);
    } else {
      platform::SleepSeconds(kNapSeconds);
    }
    const double waited = static_cast<double>(platform::MonotonicNs() - died_at_) * 1e-9;
    if (died_at_ != 0 && waited > kGraceSeconds) EndOthers();
  }

  void NoteEnd(int rank, const platform::ChildEnd& end) {
    const Board::Seat& seat = group_.board().seats[rank];
    const bool as_planned = end.signal == SIGKILL && seat.step.load() == killed_after_;
    if (as_planned || (end.code == 0 && end.signal == 0)) return;
    if (died_at_ == 0) died_at_ = platform::MonotonicNs();
    const std::string how = end.signal != 0      ? fmt::format("was killed by signal {}", end.signal)
                            : seat.failed.load() ? fmt::format("failed: {}", seat.message)
                                                 : fmt::format("ended with exit code {}", end.code);
    const std::string line = fmt::format("rank {} {}", rank, how);
    if (death_.empty()) death_ = line;
    Say(fmt::format("error: {} (process {}, step {})", line, end.process, seat.step.load()));
    group_.board().abandoned.store(true);
  }

  void EndOthers() {
    for (const auto& [process, rank] : rank_of_) platform::EndChild(process, SIGKILL);
    if (!rank_of_.empty() && !ended_others_)
      Say(fmt::format("launcher: ended the {} ranks that were left", rank_of_.size()));
    ended_others_ = true;
  }

  void Say(const std::string& line) const {
    auto log = platform::LineFile::Append(job_.options.out + "/train.log");
    if (log) static_cast<void>(log->Write(line + "\n"));
  }

  const Job& job_;
  Group& group_;
  std::map<int, int> rank_of_;  // by process
  std::uint64_t died_at_ = 0;   // first death
  std::int64_t killed_after_ = 0;
  bool ended_others_ = false;
  std::string death_;
};

Result<std::string> RunStretch(const Job& job, Group& group, const Stretch& stretch) {
  if (group.ranks() == 1 && stretch.killed_after == 0)
    return RunRank(job, group, 0, stretch) == 0 ? "" : std::string(group.board().seats[0].message);
  Launcher launcher(job, group);
  if (const Status ran = launcher.Run(stretch); !ran) return Fail(ran.error());
  return launcher.death();
}

// A folder with another run in it would mix two runs.
Status PrepareFolder(const Options& options) {
  if (options.out.empty()) return Fail(ErrorCode::kInvalid, "no folder to write to (--out)");
  if (platform::Stat(options.out + "/train.log") && options.resume.empty())
    return Fail(ErrorCode::kInvalid, options.out,
                fmt::format("there is a run in it already; give another --out, or --resume {}", options.out));
  if (Status made = platform::MakeFolders(options.out); !made) return made;
  return platform::WriteFileAtomically(options.out + "/config.json", ConfigJson(Sabotage::ChangedOptions(options)));
}

Result<Job> Prepare(const Options& asked) {
  auto options = Resolve(asked);
  if (!options) return Fail(options.error());
  auto corpus = LoadCorpus(options->data, options->shape.context);
  if (!corpus) return Fail(corpus.error());
  options->shape.vocabulary = corpus->vocabulary;
  return Job{std::move(*options), std::move(*corpus), {}};
}

}  // namespace

Result<Summary> Train(const Options& asked, const std::function<void(const Progress&)>& progress) {
  auto job = Prepare(asked);
  if (!job) return Fail(job.error());
  job->progress = progress;
  if (const Status prepared = PrepareFolder(job->options); !prepared) return Fail(prepared.error());
  const std::vector<Tensor> tensors = TensorsOf(job->options.shape);
  auto group = Group::Create(static_cast<int>(job->options.ranks), tensors.back().offset + tensors.back().size(),
                             job->options.timeout_s);
  if (!group) return Fail(group.error());
  const std::uint64_t began = platform::MonotonicNs();
  platform::CatchInterrupts();
  Summary summary;
  for (const Stretch& stretch : StretchesOf(job->options)) {
    const auto death = RunStretch(*job, *group, stretch);
    if (!death) return Fail(death.error());
    summary.message = *death;
    if (!death->empty() || group->board().interrupted.load()) break;
  }
  const Board& board = group->board();
  summary.ending = !summary.message.empty()   ? Ending::kDied
                   : board.interrupted.load() ? Ending::kInterrupted
                                              : Ending::kDone;
  summary.last_step = board.last_step.load();
  summary.first_loss = board.first_loss.load();
  summary.last_loss = board.last_loss.load();
  summary.tokens_per_s = board.tokens_per_s.load();
  summary.seconds = static_cast<double>(platform::MonotonicNs() - began) * 1e-9;
  return summary;
}

}  // namespace vigil::gym
