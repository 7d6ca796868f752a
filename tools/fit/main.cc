// Fits the weights of the causes to runs with known faults and writes src/catalogue/rows/weights.toml.
//
// usage: fit SET --out FILE [--runs LABELS.tsv]... [--rounds N] [--sparse X] [--small X] [--every N] [--columns FILE]
//   SET          a folder of the gym at scale
//   --runs TSV   labelled run folders beside it: columns path, expect, cause; paths are relative to the file; where
//                there is a column split, only rows with `tune` are taken
//   --columns F  also writes what each run was fitted by, for a look at it
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>

#include "detect/detect.h"
#include "fit/samples.h"
#include "pipeline/pipeline.h"
#include "platform/files.h"
#include "scale/read_set.h"

namespace vigil::fit {
namespace {

struct Options {
  std::string set;
  std::string out;
  std::string columns;
  std::vector<std::string> runs;
  FitOptions fit;
  scale::ReadOptions read;
  double trouble_small = 4e-4;  // FitOptions::small for whether anything is wrong
  int fewest = 6;               // runs of a cause below which it is not fitted
};

int Complain(const std::string& message) {
  fmt::print(stderr, "fit: {}\n", message);
  return 2;
}

bool TakeOption(Options& options, std::string_view word, std::string_view value) {
  const auto number = ParseNumber(value);
  if (word == "--out")
    options.out = value;
  else if (word == "--columns")
    options.columns = value;
  else if (word == "--runs")
    options.runs.emplace_back(value);
  else if (word == "--rounds" && number)
    options.fit.rounds = static_cast<int>(*number);
  else if (word == "--sparse" && number)
    options.fit.sparse = *number;
  else if (word == "--small" && number)
    options.fit.small = *number;
  else if (word == "--every" && number)
    options.read.every = static_cast<std::size_t>(*number);
  else
    return false;
  return !value.empty();
}

std::optional<Options> ParseOptions(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (!word.starts_with("--") && options.set.empty()) {
      options.set = word;
    } else if (i + 1 >= count || !TakeOption(options, word, arguments[++i])) {
      return std::nullopt;
    }
  }
  return options.set.empty() ? std::nullopt : std::optional(options);
}

// A run that was given by hand is worth several of a gym: there are few, and they are what users have.
constexpr double kWeightOfARun = 3;

using KnownCauses = std::function<Truth(const std::vector<model::Finding>& findings)>;

std::vector<Example> ExamplesOf(const model::Run& run, std::size_t place, const KnownCauses& known, double weight) {
  const catalogue::Thresholds thresholds;
  std::vector<Example> examples;
  for (const View view : {View::kAll, View::kNoSettings, View::kLossOnly}) {
    const model::Run seen = SeenAs(run, view);
    const std::vector<model::Finding> findings = detect::Detect(seen, thresholds);
    const Truth truth = known(findings);
    if (!truth) continue;
    Example& example = examples.emplace_back(ExampleOf(seen, findings));
    example.run = place;
    example.causes = view == View::kAll ? *truth : WithoutSettings(*truth);
    if (example.causes.empty() && !truth->empty()) {
      examples.pop_back();
      continue;
    }
    example.weight = weight / 3;
  }
  return examples;
}

struct Data {
  std::vector<Example> examples;
  std::size_t runs = 0;
};

Status AddSet(const Options& options, Data& data) {
  std::mutex mutex;
  const Status read =
      scale::ForEachRecord(options.set, options.read, [&](std::size_t place, const scale::Record& record) {
        const double weight = record.label.kind == scale::Class::kHarmless ? 0.5 : 1;
        std::vector<Example> examples = ExamplesOf(
            record.run, place, [&](const std::vector<model::Finding>& findings) { return TruthOf(record, findings); },
            weight);
        const std::lock_guard<std::mutex> lock(mutex);
        data.runs = std::max(data.runs, place + 1);
        std::move(examples.begin(), examples.end(), std::back_inserter(data.examples));
      });
  return read;
}

struct LabelledRun {
  std::string path;
  std::string expect;
  std::vector<std::string> causes;
};

Result<std::vector<LabelledRun>> ReadLabels(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Fail(ErrorCode::kNotFound, file, "cannot be opened");
  const std::string folder = file.substr(0, file.find_last_of('/') + 1);
  std::map<std::string, std::size_t, std::less<>> places;
  std::vector<LabelledRun> runs;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string_view> cells = Split(line, '\t');
    if (places.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i) places[std::string(Trim(cells[i]))] = i;
      for (const char* name : {"path", "expect", "cause"}) {
        if (!places.contains(name)) return Fail(ErrorCode::kInvalid, file, fmt::format("no column '{}'", name));
      }
      continue;
    }
    const auto cell = [&](std::string_view name) {
      const std::size_t at = places.find(name)->second;
      return at < cells.size() ? Trim(cells[at]) : std::string_view();
    };
    // What is kept for scoring is not fitted to.
    if (places.contains("split") && cell("split") != "tune") continue;
    LabelledRun run{folder + std::string(cell("path")), std::string(cell("expect")), {}};
    std::string causes(cell("cause"));
    std::replace(causes.begin(), causes.end(), ',', ' ');
    for (const std::string_view cause : Split(causes, ' ')) {
      if (!cause.empty() && cause != "-") run.causes.emplace_back(cause);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

Status AddRuns(const std::string& file, Data& data) {
  const auto labelled = ReadLabels(file);
  if (!labelled) return Fail(labelled.error());
  for (const LabelledRun& run : *labelled) {
    const bool healthy = run.expect == "none";
    const bool about_learning = std::any_of(run.causes.begin(), run.causes.end(), IsFitted);
    if (!healthy && !about_learning) continue;
    const pipeline::Imported imported = pipeline::ImportPaths({run.path});
    if (imported.runs.size() != 1) continue;
    const Truth truth = healthy ? std::vector<std::string>() : run.causes;
    std::vector<Example> examples =
        ExamplesOf(imported.runs.front(), data.runs++, [&](const auto&) { return truth; }, kWeightOfARun);
    std::move(examples.begin(), examples.end(), std::back_inserter(data.examples));
  }
  return {};
}

std::string Origin(const Options& options, const Data& data, std::size_t samples, std::size_t kept) {
  return fmt::format(
      "# What each level of each measure, each answer and each finding adds to each cause, in natural-log odds against "
      "a\n"
      "# sound run. Fitted by `make fit` to {} runs in three views each ({} samples), as few and small as they can be\n"
      "# (penalties {} on absolute values, {} on squares): {} weights are not 0. Not written by hand.\n",
      data.runs, samples, options.fit.sparse, options.fit.small, kept);
}

Status WriteColumns(const std::string& file, const Data& data) {
  std::string text;
  for (const Example& example : data.examples) {
    std::vector<std::string> columns;
    for (const std::uint32_t column : example.columns) columns.push_back(std::to_string(column));
    text += fmt::format("{}\t{}\t{}\t{}\n", example.run, example.weight, Join(example.causes, ","), Join(columns, " "));
  }
  return platform::WriteFileAtomically(file, text);
}

int Main(Options options) {
  Data data;
  if (const Status read = AddSet(options, data); !read) return Complain(read.error().Text());
  for (const std::string& file : options.runs) {
    if (const Status read = AddRuns(file, data); !read) return Complain(read.error().Text());
  }
  if (!options.columns.empty()) {
    if (const Status written = WriteColumns(options.columns, data); !written) return Complain(written.error().Text());
  }
  const std::vector<std::string> classes = ClassesOf(data.examples, 3 * options.fewest);
  const std::vector<Sample> samples = SamplesOf(data.examples, classes, std::vector<bool>(data.runs, true));
  options.fit.progress = [](int round, double loss) {
    if (round % 20 == 0) fmt::print(stderr, "round {}: {:.4f}\n", round, loss);
  };
  const std::size_t columns = diagnose::FeatureSpace::Get().columns();
  const Solution causes = Optimise(samples, columns, classes.size(), options.fit);
  FitOptions trouble_fit = options.fit;
  trouble_fit.small = options.trouble_small;
  const std::vector<Sample> all = TroubleSamplesOf(data.examples, std::vector<bool>(data.runs, true));
  const diagnose::FittedModel model = ModelOf(causes, classes, Optimise(all, columns, 1, trouble_fit));
  const auto kept = static_cast<std::size_t>(
      std::count_if(model.weights.begin(), model.weights.end(), [](double weight) { return weight != 0; }));
  fmt::print("{} samples, {} causes, {} weights\n", samples.size(), classes.size(), kept);
  if (options.out.empty()) return 0;
  const Status written =
      platform::WriteFileAtomically(options.out, WriteWeights(model, Origin(options, data, samples.size(), kept)));
  return written ? 0 : Complain(written.error().Text());
}

}  // namespace
}  // namespace vigil::fit

int main(int count, char** arguments) {
  const auto options = vigil::fit::ParseOptions(count, arguments);
  if (!options) return vigil::fit::Complain("usage: fit SET [--out FILE] [--runs LABELS.tsv]... [--rounds N]");
  return vigil::fit::Main(*options);
}
