// The figures of the pages, counted over a handful of labelled runs.
#include "accuracy/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vigil::accuracy {
namespace {

using testing::HasSubstr;
using testing::Not;

Observed Judged(std::string_view expect, std::vector<std::string> causes, const std::string& found, std::int64_t step,
                const std::string& cause) {
  Observed run;
  run.outcome.labelled.path = "runs/a";
  run.outcome.labelled.label = "fault";
  run.outcome.labelled.expectation = ParseExpectation(expect);
  run.outcome.labelled.causes = std::move(causes);
  run.outcome.labelled.onset_step = 10;
  run.outcome.read = true;
  run.outcome.steps = 100;
  run.outcome.cause = cause;
  run.metrics = {"loss"};
  if (found.empty()) return run;
  model::Finding finding;
  finding.id = found;
  finding.severity = model::Severity::kError;
  finding.first = model::Position(model::Axis::kStep, step);
  run.outcome.findings.push_back(finding);
  run.outcome.expected_found = run.outcome.faulty();
  return run;
}

// The row of an id, up to the next.
std::string RowOf(const std::string& file, const std::string& id) {
  const std::size_t at = file.find("id = \"" + id + "\"\n");
  return at == std::string::npos ? std::string() : file.substr(at, file.find("\n\n", at) - at) + "\n";
}

TEST(FiguresOfAFinding, CountHealthyAndFaultyRunsAndDelays) {
  const std::vector<ObservedList> lists = {{"tests/",
                                            {Judged("none", {}, "loss/spike", 5, ""), Judged("none", {}, "", 0, ""),
                                             Judged("loss/spike,loss/divergence", {}, "loss/spike", 13, ""),
                                             Judged("loss/spike,loss/divergence", {}, "loss/divergence", 20, "")}}};
  const std::string row = RowOf(FigureFile("findings.toml", lists), "loss/spike");
  for (const std::string line : {"healthy_runs = 2\n", "healthy_points = 200\n", "errors = 1\n", "expected = 2\n",
                                 "found = 1\n", "stood_in = 1\n", "dated = 1\n", "median_delay = 3\n"})
    EXPECT_THAT(row, HasSubstr(line));
}

TEST(FiguresOfAFinding, LeaveOutRunsWithoutTheMetricThatItJudges) {
  const std::vector<ObservedList> lists = {{"tests/", {Judged("none", {}, "", 0, "")}}};
  EXPECT_THAT(RowOf(FigureFile("findings.toml", lists), "grad/spike"), Not(HasSubstr("healthy_runs")));
}

TEST(FiguresOfACause, CountWhereItIsNamedRightlyAndWrongly) {
  const std::vector<ObservedList> lists = {
      {"tests/",
       {Judged("loss/spike", {"lr-too-high"}, "loss/spike", 10, "lr-too-high"),
        Judged("loss/spike", {"lr-too-high", "no-warmup"}, "loss/spike", 10, "no-warmup"),
        Judged("loss/spike", {"bad-sample"}, "loss/spike", 10, "lr-too-high"),
        Judged("none", {}, "loss/spike", 10, "lr-too-high")}}};
  const std::string row = RowOf(FigureFile("causes.toml", lists), "lr-too-high");
  for (const std::string line :
       {"labelled = 2\n", "first = 1\n", "other_first = 1\n", "wrong = 1\n", "wrong_healthy = 1\n"})
    EXPECT_THAT(row, HasSubstr(line));
}

TEST(Examples, TakeTheCurveThatShowsMostAndOfEqualOnesTheFirst) {
  Observed first = Judged("loss/spike", {}, "loss/spike", 10, "");
  first.examples.push_back({"loss/spike", "loss", "step", 10, 3, {1, 2}, {1.5, model::kNoValue}});
  Observed second = first;
  second.outcome.labelled.path = "runs/b";
  const std::string file = FigureFile("examples.toml", {{"tests/", {first, second}}});
  EXPECT_THAT(file, HasSubstr("run = \"tests/runs/a\"\n"));
  EXPECT_THAT(file, HasSubstr("steps = [1, 2]\nvalues = [1.5, nan]\n"));
}

}  // namespace
}  // namespace vigil::accuracy
