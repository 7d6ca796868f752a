#include "fit/lessons.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "detect/detect.h"
#include "pipeline/pipeline.h"
#include "scale/read_set.h"

namespace vigil::fit {
namespace {

// A run that was given by hand is worth several of a gym: there are few, and they are what users have.
constexpr double kWeightOfARun = 8;

using KnownCauses = std::function<Truth(const std::vector<model::Finding>& findings)>;

std::vector<Example> ExamplesOf(const model::Run& run, std::size_t number, const KnownCauses& known, double weight) {
  const catalogue::Thresholds thresholds;
  std::vector<Example> examples;
  for (const View view : kViews) {
    const model::Run seen = SeenAs(run, view);
    const std::vector<model::Finding> findings = detect::Detect(seen, thresholds);
    const Truth truth = known(findings);
    // The beginning of a run that fails later is like any other.
    if (!truth || (view == View::kBeginning && !truth->empty())) continue;
    Example& example = examples.emplace_back(ExampleOf(seen, findings));
    example.run = number;
    const bool all = view == View::kAll || view == View::kBeginning;
    example.causes = all ? *truth : WithoutSettings(*truth);
    if (example.causes.empty() && !truth->empty()) {
      examples.pop_back();
      continue;
    }
    example.weight = weight / static_cast<double>(kViews.size() - 1);
  }
  return examples;
}

std::vector<Example> ExamplesOfRecord(const scale::Record& record, std::size_t number) {
  const double weight = record.label.kind == scale::Class::kHarmless ? 0.5 : 1;
  return ExamplesOf(
      record.run, number, [&](const std::vector<model::Finding>& findings) { return TruthOf(record, findings); },
      weight);
}

void Append(std::vector<Example> examples, Lessons& lessons) {
  std::move(examples.begin(), examples.end(), std::back_inserter(lessons.examples));
}

}  // namespace

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
    if (places.contains("split") && cell("split") != "tune") continue;
    LabelledRun run{folder + std::string(cell("path")), {}, std::string(cell("expect")), {}};
    if (places.contains("trainer")) run.framework = cell("trainer");
    std::string causes(cell("cause"));
    std::replace(causes.begin(), causes.end(), ',', ' ');
    for (const std::string_view cause : Split(causes, ' ')) {
      if (!cause.empty() && cause != "-") run.causes.emplace_back(cause);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

void AddRecords(const std::vector<scale::Record>& records, Lessons& lessons) {
  const std::size_t first = lessons.runs.size();
  std::vector<std::vector<Example>> examples(records.size());
  scale::ForEachInParallel(records.size(), 0,
                           [&](std::size_t i) { examples[i] = ExamplesOfRecord(records[i], first + i); });
  for (std::size_t i = 0; i < records.size(); ++i) {
    lessons.runs.push_back({i, {}});
    Append(std::move(examples[i]), lessons);
  }
}

Status AddLabelled(const std::string& file, Lessons& lessons) {
  const auto labelled = ReadLabels(file);
  if (!labelled) return Fail(labelled.error());
  for (const LabelledRun& run : *labelled) {
    const bool healthy = run.expect == "none";
    const bool about_learning = std::any_of(run.causes.begin(), run.causes.end(), IsFitted);
    if (!healthy && !about_learning) continue;
    const pipeline::Imported imported = pipeline::ImportPaths({run.path});
    if (imported.runs.size() != 1) continue;
    const Truth truth = healthy ? std::vector<std::string>() : run.causes;
    Append(ExamplesOf(
               imported.runs.front(), lessons.runs.size(), [&](const auto&) -> Truth { return Truth(truth); },
               kWeightOfARun),
           lessons);
    lessons.runs.push_back({Lessons::kNoRecord, run.framework});
  }
  return {};
}

Learned Learn(const Lessons& lessons, const std::vector<bool>& take, const LearnOptions& options) {
  const std::vector<std::string> classes =
      ClassesOf(lessons.examples, static_cast<int>(kViews.size()) * options.fewest);
  const std::size_t columns = diagnose::FeatureSpace::Get().columns();
  const std::vector<Sample> samples = SamplesOf(lessons.examples, classes, take);
  const Solution causes = Optimise(samples, columns, classes.size(), options.fit);
  FitOptions trouble = options.fit;
  trouble.small = options.trouble_small;
  const std::vector<Sample> all = TroubleSamplesOf(lessons.examples, take);
  return {ModelOf(causes, classes, Optimise(all, columns, 1, trouble)), samples.size()};
}

}  // namespace vigil::fit
