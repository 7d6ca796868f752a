// Reading of trainer states and JSON lines, from file to series, against reading the file alone, against RapidJSON and
// simdjson that only take the same text apart, and against Python's json module.
#include <rapidjson/reader.h>
#include <simdjson.h>

#include <random>

#include "codec/codec.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr double kBudgetBytesPerSecond = 500e6;

class Values {
 public:
  std::string Next() { return FormatExact(spread_(random_)); }
  std::string Rounded() { return fmt::format("{:.4f}", spread_(random_)); }

 private:
  std::mt19937 random_{1};
  std::uniform_real_distribution<double> spread_{0, 3};
};

// Epochs rise, as those of a training do: a row whose epoch falls is another start.
std::string EpochAt(std::size_t row) { return FormatExact(static_cast<double>(row) / 937); }

// As HF Trainer writes it: two spaces a level, keys sorted, all digits.
std::string MakeState(std::size_t entries) {
  Values values;
  std::string text = "{\n  \"best_metric\": null,\n  \"global_step\": 1,\n  \"log_history\": [";
  for (std::size_t i = 1; i <= entries; ++i) {
    text += fmt::format(
        "{}\n    {{\n      \"epoch\": {},\n      \"grad_norm\": {},\n      \"learning_rate\": {},\n      \"loss\": "
        "{},\n"
        "      \"step\": {}\n    }}",
        i == 1 ? "" : ",", EpochAt(i), values.Next(), values.Next(), values.Rounded(), i * 10);
  }
  return text + "\n  ],\n  \"max_steps\": 1\n}\n";
}

// The densest lines: nothing but numbers of seventeen digits under short names.
std::string MakeDenseLines(std::size_t rows) {
  Values values;
  std::string text;
  for (std::size_t i = 1; i <= rows; ++i) {
    text += fmt::format("{{\"loss\": {}, \"grad_norm\": {}, \"learning_rate\": {}, \"epoch\": {}, \"step\": {}}}\n",
                        values.Next(), values.Next(), values.Next(), EpochAt(i), i);
  }
  return text;
}

// The same with epochs that go back at every second row, as where several processes write one file: steps go on, but no
// row follows plainly from the one before.
std::string MakeUnsteadyLines(std::size_t rows) {
  Values values;
  std::string text;
  for (std::size_t i = 1; i <= rows; ++i) {
    text += fmt::format("{{\"loss\": {}, \"grad_norm\": {}, \"learning_rate\": {}, \"epoch\": {}, \"step\": {}}}\n",
                        values.Next(), values.Next(), values.Next(), values.Next(), i);
  }
  return text;
}

std::string MakeLlamaFactoryLines(std::size_t rows) {
  Values values;
  std::string text;
  for (std::size_t i = 1; i <= rows; ++i) {
    text += fmt::format(
        "{{\"current_steps\": {}, \"total_steps\": {}, \"loss\": {}, \"lr\": {}, \"epoch\": {}, \"percentage\": "
        "{:.2f}, "
        "\"elapsed_time\": \"0:12:{:02}\", \"remaining_time\": \"1:02:03\", \"throughput\": 1234.56, "
        "\"total_tokens\": {}}}\n",
        i * 10, rows * 10, values.Rounded(), values.Next(), EpochAt(i),
        100.0 * static_cast<double>(i) / static_cast<double>(rows), i % 60, i * 1000);
  }
  return text;
}

// verl: some thirty metrics with long names in a wrapper, no spaces.
std::string MakeVerlLines(std::size_t rows) {
  constexpr std::array<std::string_view, 6> kGroups = {"actor/",    "critic/score/", "response_length/",
                                                       "timing_s/", "perf/",         "training/"};
  constexpr std::array<std::string_view, 5> kNames = {"mean", "entropy_loss", "pg_clipfrac_lower", "max",
                                                      "per_token_ms"};
  Values values;
  std::string text;
  for (std::size_t i = 1; i <= rows; ++i) {
    text += fmt::format("{{\"step\":{},\"data\":{{", i);
    for (const auto group : kGroups) {
      for (const auto name : kNames) text += fmt::format("\"{}{}\":{},", group, name, values.Next());
    }
    text.back() = '}';
    text += "}\n";
  }
  return text;
}

// ---- peers that take the text apart and add the numbers up, no more

struct Adder : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Adder> {
  double sum = 0;
  bool Double(double value) {
    sum += value;
    return true;
  }
};

double RapidJsonSeconds(const Bench& bench, const std::string& text) {
  constexpr unsigned kFlags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag |
                              rapidjson::kParseFullPrecisionFlag | rapidjson::kParseStopWhenDoneFlag;
  Adder adder;
  return BestSeconds(bench.Repeats(5), [&] {
    rapidjson::Reader reader;
    rapidjson::StringStream stream(text.c_str());
    while (stream.Peek() != '\0' && !reader.Parse<kFlags>(stream, adder).IsError()) {
      while (stream.Peek() == '\n') stream.Take();
    }
  });
}

double AddUp(simdjson::ondemand::object object) {
  double sum = 0;
  for (auto field : object) {
    double value = 0;
    if (field.value().get(value) == simdjson::SUCCESS) sum += value;
  }
  return sum;
}

double SimdjsonStateSeconds(const Bench& bench, const std::string& text) {
  const simdjson::padded_string padded(text);
  simdjson::ondemand::parser parser;
  double sum = 0;
  return BestSeconds(bench.Repeats(5), [&] {
    simdjson::ondemand::document document = parser.iterate(padded);
    for (auto entry : document["log_history"].get_array()) sum += AddUp(entry.get_object());
  });
}

double ScannerSeconds(const Bench& bench, const std::string& text) {
  double sum = 0;
  return BestSeconds(bench.Repeats(5), [&] {
    std::string_view rest = text;
    while (!rest.empty()) {
      codec::JsonScanner scanner(rest);
      for (codec::JsonToken token = scanner.Next(); token < codec::JsonToken::kNeedMore; token = scanner.Next()) {
        if (token == codec::JsonToken::kNumber) sum += scanner.number();
      }
      rest.remove_prefix(std::min(rest.size(), scanner.consumed() + 1));
    }
  });
}

void Measure(Bench& bench, std::string_view title, const std::string& name, const std::string& text,
             std::size_t expected) {
  const TemporaryFile file(name, text);
  std::size_t points = 0;
  const double seconds = BestSeconds(bench.Repeats(7), [&] { points = PointsOf(formats::ReadFile(file.path())); });
  bench.Check(points == expected, "{}: read {} of {} values", title, points, expected);
  bench.Print("{}: {:.0f} MB, {} points\n", title, Megabytes(text.size()), points);
  bench.PrintRate("vigil, from file to series", text.size(), seconds, points, "point");
  const double rate = static_cast<double>(text.size()) / seconds;
  bench.Print("  {:<44} {:>9.2f} of the budget of {:.0f} MB/s\n", "", rate / kBudgetBytesPerSecond,
              kBudgetBytesPerSecond * 1e-6);
  const Limits limits = MeasureLimits(bench, file.path(), text);
  bench.Print("  {:<44} {:>9.1f} times its time\n", "against reading the file alone", seconds / limits.read_seconds);
  bench.PrintRate("vigil's scanner alone", text.size(), ScannerSeconds(bench, text), points, "point");
  bench.PrintRate("RapidJSON alone", text.size(), RapidJsonSeconds(bench, text), points, "point");
  if (name.ends_with(".json"))
    bench.PrintRate("simdjson alone", text.size(), SimdjsonStateSeconds(bench, text), points, "point");
  ComparePeer(bench, "python_json.py", file.path(), text.size(), seconds / static_cast<double>(text.size()));
}

void Main(Bench& bench) {
  const std::size_t rows = bench.Size<std::size_t>(400'000, 400);
  Measure(bench, "trainer state", "trainer_state.json", MakeState(rows), rows * 4);
  Measure(bench, "JSON lines, dense", "dense.jsonl", MakeDenseLines(rows), rows * 4);
  Measure(bench, "JSON lines, dense, epochs go back", "unsteady.jsonl", MakeUnsteadyLines(rows), rows * 4);
  Measure(bench, "JSON lines of LLaMA-Factory", "trainer_log.jsonl", MakeLlamaFactoryLines(rows / 2), rows / 2 * 5);
  Measure(bench, "JSON lines of verl", "verl.jsonl", MakeVerlLines(rows / 10), rows / 10 * 30);
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
