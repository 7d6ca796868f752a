// `vigil watch` on a log that grows: the time from a NaN in the file to its finding, for logs of 2,000 to 10,000,000
// rows; alone, and behind something that the joining has to decide about (a new metric, a new file). What a look costs
// is to depend on what is new, and not on what was there before.
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "support.h"

namespace vigil::bench {
namespace {

enum class Kind : std::uint8_t { kJsonLines, kCsv, kLogText, kDictionaries };

struct KindRow {
  Kind kind;
  const char* name;
  const char* file;
};
constexpr KindRow kKinds[] = {{Kind::kJsonLines, "jsonl", "watch.jsonl"},
                              {Kind::kCsv, "csv", "watch.csv"},
                              {Kind::kLogText, "log text", "watch.log"},
                              {Kind::kDictionaries, "dict log", "watch.out"}};

// What comes together with the NaN.
enum class News : std::uint8_t { kNothing, kMetric, kSettings, kLog };

struct NewsRow {
  News news;
  const char* name;
};
constexpr NewsRow kNews[] = {{News::kMetric, "a new metric"},
                             {News::kSettings, "a new file of settings"},
                             {News::kLog, "a new log of another metric"}};

// A log whose rows are written as a training would, from a small table of noise.
class GrowingLog {
 public:
  GrowingLog(std::string path, Kind kind) : path_(std::move(path)), kind_(kind), noise_(1 << 12U) {
    std::mt19937 random(1);
    std::normal_distribution<double> gauss(0, 0.03);
    for (double& one : noise_) one = std::exp(gauss(random));
    std::remove(path_.c_str());
    if (kind_ == Kind::kCsv) Write("step,loss,grad_norm,lr\n");
  }
  ~GrowingLog() { std::remove(path_.c_str()); }
  GrowingLog(const GrowingLog&) = delete;
  GrowingLog& operator=(const GrowingLog&) = delete;
  GrowingLog(GrowingLog&&) = delete;
  GrowingLog& operator=(GrowingLog&&) = delete;

  void Append(std::size_t rows) {
    constexpr std::size_t kPiece = std::size_t{4} << 20U;
    fmt::memory_buffer text;
    for (std::size_t i = 0; i < rows; ++i) {
      AppendRow(text, 2 + 6 / std::sqrt(static_cast<double>(step_)));
      if (text.size() < kPiece) continue;
      Write({text.data(), text.size()});
      text.clear();
    }
    Write({text.data(), text.size()});
  }
  void AppendNan() {
    fmt::memory_buffer text;
    AppendRow(text, std::nan(""));
    Write({text.data(), text.size()});
  }
  // A metric that the rows before do not have.
  void AppendEvaluation() { Write(fmt::format(R"({{"step": {}, "eval_loss": 2.25}})", step_) + "\n"); }
  const std::string& path() const { return path_; }

 private:
  void AppendRow(fmt::memory_buffer& text, double level) {
    const double noise = noise_[(step_ * 2654435761U >> 7U) % noise_.size()];
    const double loss = level * noise;
    const auto out = std::back_inserter(text);
    const std::size_t step = step_++;
    switch (kind_) {
      case Kind::kCsv:
        fmt::format_to(out, "{},{:.5f},{:.4f},0.0003\n", step, loss, noise);
        break;
      case Kind::kJsonLines:
        fmt::format_to(out, R"({{"step": {}, "loss": {}, "grad_norm": {:.4f}, "lr": 0.0003}})", step,
                       std::isfinite(loss) ? fmt::format("{:.5f}", loss) : "NaN", noise);
        text.push_back('\n');
        break;
      case Kind::kLogText:
        fmt::format_to(out, "step {} | loss {:.5f} | grad_norm {:.4f} | lr 3.00e-04\n", step, loss, noise);
        break;
      case Kind::kDictionaries:  // rows without a step, between bars
        fmt::format_to(out, "{{'loss': {:.5f}, 'grad_norm': {:.4f}, 'learning_rate': 0.0003, 'epoch': {:.4f}}}\n", loss,
                       noise, 1e-4 * static_cast<double>(step));
        fmt::format_to(out, "\r  1%|1         | {}/20000000 [00:10<99:59,  9.10it/s]", 10 * step);
        break;
    }
  }
  void Write(std::string_view text) const {
    std::ofstream(path_, std::ios::binary | std::ios::app)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
  }

  std::string path_;
  Kind kind_;
  std::vector<double> noise_;
  std::size_t step_ = 1;
};

bool HasAlarm(const model::Report& report) {
  for (const model::RunReport& run : report.runs) {
    for (const model::Finding& finding : run.findings) {
      if (finding.id == "loss/non-finite") return true;
    }
  }
  return false;
}

double PeakGibibytes() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20U);
}

struct Latency {
  double first_look_s = 0;
  double usual_look_s = 0;  // the longest of some looks at ten new rows each
  double alarm_s = 0;
  double peak_gib = 0;
  bool found = false;
};

// Beside the log, in its folder.
void Write(const GrowingLog& log, const char* name, std::string_view text) {
  const auto path = std::filesystem::path(log.path()).parent_path() / name;
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

void Bring(News news, GrowingLog& log) {
  if (news == News::kMetric) log.AppendEvaluation();
  if (news == News::kSettings)
    Write(log, "config.json", R"({"learning_rate": 0.0003, "per_device_train_batch_size": 8, "weight_decay": 0.1})");
  if (news == News::kLog)
    Write(log, "eval.jsonl", "{\"step\": 10, \"eval_loss\": 2.5}\n{\"step\": 20, \"eval_loss\": 2.4}\n");
}

Latency MeasureHere(std::size_t rows, const KindRow& kind, News news) {
  constexpr int kLooks = 20;
  const std::string folder = fmt::format("/tmp/vigil_bench_{}", ::getpid());
  std::filesystem::create_directory(folder);
  Latency latency;
  {
    GrowingLog log(folder + "/" + kind.file, kind.kind);
    log.Append(rows);
    pipeline::Monitor monitor({folder}, catalogue::Thresholds());
    const auto look = [&] {
      const double before = platform::SteadySeconds();
      monitor.Poll();
      return platform::SteadySeconds() - before;
    };
    latency.first_look_s = look();
    for (int i = 0; i < kLooks; ++i) {
      log.Append(10);
      latency.usual_look_s = std::max(latency.usual_look_s, look());
    }
    const bool before = HasAlarm(monitor.report());
    Bring(news, log);
    log.AppendNan();
    latency.alarm_s = look();
    if (!HasAlarm(monitor.report())) latency.alarm_s += look();  // a row may wait a look for the bar behind it
    latency.found = !before && HasAlarm(monitor.report());
    latency.peak_gib = PeakGibibytes();
  }
  std::filesystem::remove_all(folder);
  return latency;
}

// In a process of its own, so that its memory is its own.
Latency Measure(std::size_t rows, const KindRow& kind, News news = News::kNothing) {
  const auto shared = platform::FamilyMemory::Create(sizeof(Latency));
  if (!shared) return {};
  auto* const latency = static_cast<Latency*>(shared->data());
  std::fflush(stdout);
  const auto child = platform::ForkChild([&] {
    *latency = MeasureHere(rows, kind, news);
    return 0;
  });
  if (!child || ::waitpid(*child, nullptr, 0) != *child) return {};
  return *latency;
}

void MeasureFormat(Bench& bench, const KindRow& kind) {
  double at_first = 0;
  std::vector<std::size_t> sizes = {2'000, 1'000'000, 10'000'000};
  // Rows that name no step are all kept until it is sure, and a log may have a million of them.
  if (kind.kind == Kind::kDictionaries) sizes = {2'000, 100'000, 900'000};
  if (bench.is_short()) sizes = {500, 5'000};
  for (const std::size_t rows : sizes) {
    const Latency latency = Measure(rows, kind);
    if (rows == sizes.front()) at_first = latency.alarm_s;
    bench.Check(latency.found, "no alarm for a NaN behind {} rows", rows);
    bench.Print("  {:<8} {:>12} {:>14.2f} {:>14.2f} {:>12.2f} {:>12.1f} {:>10.2f}\n", kind.name, rows,
                latency.first_look_s, 1e3 * latency.usual_look_s, 1e3 * latency.alarm_s,
                1e3 * (latency.alarm_s - at_first), latency.peak_gib);
  }
}

void MeasureNews(Bench& bench, const NewsRow& news) {
  double at_first = 0;
  std::vector<std::size_t> sizes = {2'000, 1'000'000, 10'000'000};
  if (bench.is_short()) sizes = {500, 5'000};
  for (const std::size_t rows : sizes) {
    const Latency latency = Measure(rows, kKinds[0], news.news);
    if (rows == sizes.front()) at_first = latency.alarm_s;
    bench.Check(latency.found, "no alarm for a NaN behind {} rows and {}", rows, news.name);
    bench.Print("  {:<28} {:>12} {:>12.2f} {:>12.1f} {:>10.2f}\n", news.name, rows, 1e3 * latency.alarm_s,
                1e3 * (latency.alarm_s - at_first), latency.peak_gib);
  }
}

void Main(Bench& bench) {
  bench.Print("a log that grows, from a NaN in the file to its finding\n");
  bench.Print("  {:<8} {:>12} {:>14} {:>14} {:>12} {:>12} {:>10}\n", "format", "rows", "first look s", "a look ms",
              "alarm ms", "later by ms", "peak GiB");
  for (const KindRow& kind : kKinds) MeasureFormat(bench, kind);
  bench.Print("JSON lines that grow, from a NaN behind something new in the folder to its finding\n");
  bench.Print("  {:<28} {:>12} {:>12} {:>12} {:>10}\n", "new", "rows", "alarm ms", "later by ms", "peak GiB");
  for (const NewsRow& news : kNews) MeasureNews(bench, news);
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
