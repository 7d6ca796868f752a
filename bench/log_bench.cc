// Reading of log text, against finding its newlines: metric lines of a plain loop, dictionaries between progress bars,
// and logs in which nothing but error messages is looked for, without and with the words that those are made of.
#include <random>

#include "ingest/ingest.h"
#include "support.h"
#include "textlog/log_reader.h"
#include "textlog/textlog.h"

namespace vigil::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20U;

// Loss and norm of a step, noisy and falling.
struct Noise {
  std::mt19937 random{7};
  double operator()() { return static_cast<double>(random() % 1000) * 1e-3; }
};

std::string PlainLoop() {
  std::string text;
  Noise noise;
  for (int step = 1; text.size() < kBytes; ++step)
    text += fmt::format("step {} | loss {:.4f} | grad_norm {:.2f} | lr {:.1e} | {} tok/s\n", step, 2 + noise(),
                        0.5 + noise(), 3e-4, 20000 + step % 777);
  return text;
}

std::string Megatron() {
  std::string text;
  Noise noise;
  for (int step = 1; text.size() < kBytes; ++step)
    text += fmt::format(
        " [2026-08-22 15:22:22] iteration {:8d}/  250000 | consumed samples: {:12d} | elapsed time per iteration (ms): "
        "{:.1f} | learning rate: {:.6E} | global batch size:     8 | lm loss: {:.6E} | loss scale: 1.0 | grad norm: "
        "{:.3f} "
        "| number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        step, step * 8, 4000 + 100 * noise(), 3e-4, 2 + noise(), 0.5 + noise());
  return text;
}

std::string HfTrainer() {
  std::string text;
  Noise noise;
  constexpr int kTotal = 1000000;
  for (int step = 1; text.size() < kBytes && step < kTotal; ++step) {
    const std::string bar = fmt::format("\r {:2d}%|\u2588\u2588\u258c       | {}/{} [25:49<45:20,  4.62it/s]",
                                        step * 100 / kTotal, step, kTotal);
    text += bar;
    if (step % 10 != 0) continue;
    text += "\r                                                  \r";
    text += fmt::format("{{'loss': '{:.4g}', 'grad_norm': '{:.4g}', 'learning_rate': '{:.4g}', 'epoch': '{:.4g}'}}\n",
                        2 + noise(), 0.5 + noise(), 5e-5, step * 1e-4);
    text += bar;
  }
  return text;
}

// Coloured, as on a terminal, and of several ranks in turns.
std::string Torchtitan() {
  std::string text;
  Noise noise;
  for (int i = 8; text.size() < kBytes; ++i)
    text += fmt::format(
        "[rank{}]:[titan] 2026-05-22 18:51:59,{:03d} - root - INFO - \x1b[31mstep: {:2d}  \x1b[32mloss: {:7.4f}  "
        "\x1b[38;2;180;60;0mgrad_norm: {:7.4f}  \x1b[38;2;54;234;195mmemory: {:5.2f}GiB(64.99%)  \x1b[34mtps: "
        "{},{:03d}  "
        "\x1b[36mtflops: {:.2f}  \x1b[35mmfu: {:.2f}%\x1b[39m\n",
        i % 4, i % 1000, i / 4, 2 + noise(), 0.5 + noise(), 9 + noise(), 7, i % 1000, 42 + noise(), 13 + noise());
  return text;
}

std::string RankLogs() {
  std::string text;
  for (int i = 0; text.size() < kBytes; ++i) {
    text += fmt::format(
        "[rank{}]:[titan] 2026-05-22 18:51:59,{:03d} - root - INFO - Swapped layers.{}.weight to "
        "MXFP8TrainingWeightWrapperTensor\n",
        i % 8, i % 1000, i % 48);
    text += fmt::format("node{:03d}:4945:5221 [{}] NCCL INFO Channel {:02d}/32 : {}[0] -> {}[0] via P2P/IPC\n", i % 128,
                        i % 8, i % 32, i % 8, (i + 1) % 8);
    if (i % 20000 == 19999) text += "RuntimeError: NCCL communicator was aborted on rank 3.\n";
  }
  return text;
}

// Lines of a healthy cluster, every one with words that error messages are made of.
std::string Warnings() {
  std::string text;
  for (int i = 0; text.size() < kBytes; ++i) {
    text += fmt::format("WARNING: request {} failed, connection to worker {} had error {}, timeout in {} s\n", i,
                        i % 64, i % 17, i % 30);
    text += fmt::format("[W{:04d} socket.cpp:663] peer {} is not ready: invalid state, should exit after signal {}\n",
                        i % 1231, i % 64, i % 31);
    text += fmt::format("error {} of shard {}\n", i % 1000, i % 256);
    if (i % 20000 == 19999) text += "RuntimeError: NCCL communicator was aborted on rank 3.\n";
  }
  return text;
}

std::size_t CountNewlines(std::string_view text) {
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end &&
         (at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) != nullptr) {
    ++at;
    ++count;
  }
  return count;
}

void Measure(std::string_view what, const std::string& text) {
  std::size_t lines = 0;
  const double newlines = BestSeconds(5, [&] { lines = CountNewlines(text); });
  std::size_t points = 0;
  std::size_t events = 0;
  const double reading = BestSeconds(5, [&] {
    ingest::PartBuilder builder("train.log", "log-text");
    textlog::LogReader reader(builder);
    constexpr std::size_t kPiece = std::size_t{512} << 10U;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::string_view piece = std::string_view(text).substr(begin, kPiece);
      begin += reader.Consume(piece, begin + piece.size() == text.size());
    }
    points = 0;
    for (const model::Series& series : builder.part().series) points += series.size();
    events = builder.part().events.size();
  });
  fmt::print("{}: {} lines, {} points, {} events\n", what, FormatCount(lines), FormatCount(points),
             FormatCount(events));
  PrintRate("vigil", text.size(), reading, lines, "line");
  PrintRate("finding newlines (memchr)", text.size(), newlines, lines, "line");
  fmt::print("  {:<44} {:>9.1f} times the time of finding newlines\n", "", reading / newlines);
}

}  // namespace
}  // namespace vigil::bench

int main() {
  using namespace vigil::bench;
  Measure("plain loop, a metric line per step", PlainLoop());
  Measure("Megatron lines", Megatron());
  Measure("torchtitan, coloured lines of four ranks", Torchtitan());
  Measure("HF Trainer, dictionaries between bars", HfTrainer());
  Measure("rank logs without metrics", RankLogs());
  Measure("warnings of error messages' words", Warnings());
  return 0;
}
