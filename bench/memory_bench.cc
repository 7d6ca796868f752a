// Memory that the reading of one log takes, however long the log is: the peak of the process over ten gigabytes of
// metric lines, which come as they are made and are never on the disk.
#include <sys/resource.h>

#include <cstdint>

#include "ingest/ingest.h"
#include "support.h"
#include "textlog/log_reader.h"
#include "textlog/textlog.h"

namespace vigil::bench {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{10'000} * 1'000'000;
constexpr double kLimitMegabytes = 300;

double PeakMegabytes() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024e-6;
}

// Lines of about 64 KiB, from `step` on.
void MakePiece(std::int64_t& step, std::string& text) {
  constexpr std::size_t kPiece = std::size_t{64} << 10U;
  for (; text.size() < kPiece; ++step) {
    fmt::format_to(std::back_inserter(text), "step {} | loss 2.{:04d} | grad_norm 0.{:02d} | lr 3.0e-04 | {} tok/s\n",
                   step, step * 7919 % 10'000, step % 97, 20'000 + step % 777);
  }
}

int Main() {
  ingest::PartBuilder builder("train.log", "log-text");
  textlog::LogReader reader(builder);
  std::uint64_t bytes = 0;
  std::int64_t step = 1;
  std::string text;
  while (bytes < kBytes) {
    const std::size_t before = text.size();
    MakePiece(step, text);
    bytes += text.size() - before;
    const std::size_t taken = reader.Consume(text, bytes >= kBytes);
    text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  std::size_t points = 0;
  for (const model::Series& series : builder.part().series) points += series.size();
  const double peak = PeakMegabytes();
  fmt::print("log of {:.1f} GB, {} lines: {} points kept\n", static_cast<double>(bytes) * 1e-9,
             FormatCount(static_cast<std::uint64_t>(step - 1)), FormatCount(points));
  fmt::print("  {:<44} {:>9.0f} MB   limit {:.0f} MB\n", "peak memory of the process", peak, kLimitMegabytes);
  return peak <= kLimitMegabytes ? 0 : 1;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
