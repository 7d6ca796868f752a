// Fits the weights of the causes to runs with known faults and writes src/catalogue/rows/weights.toml.
//
// usage: fit SET [--out FILE] [--runs LABELS.tsv]... [--rounds N] [--sparse X] [--small X] [--every N] [--columns FILE]
//   SET          a folder of the gym at scale
//   --runs TSV   labelled run folders beside it: columns path, expect, cause; paths are relative to the file; where
//                there is a column split, only rows with `tune` are taken
//   --columns F  also writes what each run was fitted by, for a look at it
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "fit/lessons.h"
#include "platform/files.h"
#include "scale/read_set.h"

namespace vigil::fit {
namespace {

struct Options {
  std::string set;
  std::string out;
  std::string columns;
  std::vector<std::string> runs;
  LearnOptions learn;
  scale::ReadOptions read;
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
    options.learn.fit.rounds = static_cast<int>(*number);
  else if (word == "--sparse" && number)
    options.learn.fit.sparse = *number;
  else if (word == "--small" && number)
    options.learn.fit.small = *number;
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
      continue;
    }
    ++i;
    if (i >= count || !TakeOption(options, word, arguments[i])) return std::nullopt;
  }
  return options.set.empty() ? std::nullopt : std::optional(options);
}

std::string Origin(const Options& options, const Lessons& lessons, std::size_t samples, std::size_t kept) {
  return fmt::format(
      "# What each level of each measure, each answer and each finding adds to each cause, in natural-log odds against "
      "a\n"
      "# sound run. Fitted by `make fit` to {} runs in up to five views each ({} samples), as few and small as they "
      "can be\n"
      "# (penalties {} on absolute values, {} on squares): {} weights are not 0. Not written by hand.\n",
      lessons.runs.size(), samples, options.learn.fit.sparse, options.learn.fit.small, kept);
}

Status WriteColumns(const std::string& file, const Lessons& lessons) {
  std::string text;
  for (const Example& example : lessons.examples) {
    std::vector<std::string> columns;
    columns.reserve(example.columns.size());
    for (const std::uint32_t column : example.columns) columns.push_back(std::to_string(column));
    text += fmt::format("{}\t{}\t{}\t{}\n", example.run, example.weight, Join(example.causes, ","), Join(columns, " "));
  }
  return platform::WriteFileAtomically(file, text);
}

int Main(Options options) {
  const auto records = scale::ReadSet(options.set, options.read);
  if (!records) return Complain(records.error().Text());
  Lessons lessons;
  AddRecords(*records, lessons);
  for (const std::string& file : options.runs) {
    if (const Status read = AddLabelled(file, lessons); !read) return Complain(read.error().Text());
  }
  if (!options.columns.empty()) {
    if (const Status written = WriteColumns(options.columns, lessons); !written)
      return Complain(written.error().Text());
  }
  options.learn.fit.progress = [](int round, double loss) {
    if (round % 20 == 0) fmt::print(stderr, "round {}: {:.4f}\n", round, loss);
  };
  const Learned learned = Learn(lessons, std::vector<bool>(lessons.runs.size(), true), options.learn);
  const diagnose::FittedModel& model = learned.model;
  const auto kept = static_cast<std::size_t>(
      std::count_if(model.weights.begin(), model.weights.end(), [](double weight) { return weight != 0; }));
  fmt::print("{} samples, {} causes, {} weights\n", learned.samples, model.causes.size(), kept);
  if (options.out.empty()) return 0;
  const Status written =
      platform::WriteFileAtomically(options.out, WriteWeights(model, Origin(options, lessons, learned.samples, kept)));
  return written ? 0 : Complain(written.error().Text());
}

}  // namespace
}  // namespace vigil::fit

int main(int count, char** arguments) {
  const auto options = vigil::fit::ParseOptions(count, arguments);
  if (!options) return vigil::fit::Complain("usage: fit SET [--out FILE] [--runs LABELS.tsv]... [--rounds N]");
  return vigil::fit::Main(*options);
}
