// Memory that the reading of one log takes, however long the log is: the peak of the process over ten gigabytes of
// metric lines, which come as they are made and are never on the disk.
#include <sys/resource.h>

#include <cstdint>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support.h"
#include "textlog/log_reader.h"

namespace vigil::bench {
namespace {

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

void Main(Bench& bench) {
  const std::uint64_t wanted = bench.Size<std::uint64_t>(10'000'000'000, 20'000'000);
  ingest::PartBuilder builder("train.log", "log-text");
  textlog::LogReader reader(builder);
  std::uint64_t bytes = 0;
  std::int64_t step = 1;
  std::string text;
  while (bytes < wanted) {
    const std::size_t before = text.size();
    MakePiece(step, text);
    bytes += text.size() - before;
    const std::size_t taken = reader.Consume(text, bytes >= wanted);
    text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  std::size_t points = 0;
  for (const model::Series& series : builder.part().series) {
    points += series.size();
    // Thinning may drop points, never the end of the log.
    const std::int64_t stride = (step - 1) / static_cast<std::int64_t>(std::max<std::size_t>(series.size(), 1)) + 1;
    bench.Check(series.size() > 0 && series.steps.back() + 2 * stride >= step - 1, "{} ends before the log does",
                series.raw);
  }
  const double peak = PeakMegabytes();
  bench.Print("log of {:.1f} GB, {} lines: {} points kept\n", static_cast<double>(bytes) * 1e-9,
              FormatCount(static_cast<std::uint64_t>(step - 1)), FormatCount(points));
  bench.Print("  {:<44} {:>9.0f} MB   limit {:.0f} MB\n", "peak memory of the process", peak, kLimitMegabytes);
  bench.Check(points > 0, "no points in a log of {} lines", step - 1);
  bench.Check(peak <= kLimitMegabytes, "the process took {:.0f} MB, the limit is {:.0f}", peak, kLimitMegabytes);
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
