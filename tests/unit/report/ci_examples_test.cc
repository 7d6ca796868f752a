// The examples for continuous integration in the guide: their shell steps are run as the systems run them, on a run
// that passes and on one that does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "support/paths.h"
#include "support/scratch.h"
#include "support/shell.h"

namespace vigil::report {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::Outcome;
using testing_support::QuoteForShell;

struct Step {
  std::string script;
  bool always = false;  // also behind a step that failed
};

// What a system does with an example: its steps in order, and the files that it takes afterwards.
struct Example {
  std::vector<Step> steps;
  std::vector<std::string> uploads;
};

YAML::Node Load(const std::string& name) {
  return YAML::LoadFile(std::string(testing_support::kSourceDir) + "/doc/guide/ci/" + name);
}

Example GithubExample() {
  Example example;
  const YAML::Node job = Load("github-actions.yml")["jobs"]["training-gate"];
  for (const YAML::Node& step : job["steps"]) {
    const bool always = step["if"] && step["if"].as<std::string>() == "always()";
    if (step["run"]) example.steps.push_back({step["run"].as<std::string>(), always});
    for (const char* key : {"path", "sarif_file"}) {
      if (!step["with"] || !step["with"][key]) continue;
      EXPECT_TRUE(always) << "what failed is what has to be uploaded";
      example.uploads.push_back(step["with"][key].as<std::string>());
    }
  }
  return example;
}

Example GitlabExample() {
  Example example;
  const YAML::Node job = Load("gitlab-ci.yml")["training-gate"];
  std::string script;
  for (const YAML::Node& line : job["script"]) script += line.as<std::string>() + "\n";
  example.steps.push_back({script, false});
  const YAML::Node artifacts = job["artifacts"];
  EXPECT_EQ(artifacts["when"].as<std::string>(), "always");
  for (const YAML::Node& path : artifacts["paths"]) example.uploads.push_back(path.as<std::string>());
  example.uploads.push_back(artifacts["reports"]["junit"].as<std::string>());
  return example;
}

class CiExamples : public ScratchTest {
 protected:
  // Runs the steps in the scratch folder; the code of the first that fails, and all that was printed.
  Outcome Run(const Example& example, const std::string& run) const {
    const std::string fixtures = std::string(testing_support::kSourceDir) + "/tests/fixtures/runs/torch/";
    const std::string folder = fs::path(testing_support::kProgram).parent_path();
    Outcome all;
    for (const Step& step : example.steps) {
      if (all.code != 0 && !step.always) continue;
      const Outcome outcome = testing_support::RunShell(fmt::format(
          "cd {} && env PATH={}:\"$PATH\" RUN={} BASELINE={} GITHUB_STEP_SUMMARY=summary.md sh -e -c {} 2>&1",
          QuoteForShell(Folder()), QuoteForShell(folder), QuoteForShell(fixtures + run),
          QuoteForShell(fixtures + "healthy-kv-s2"), QuoteForShell(step.script)));
      all.output += outcome.output;
      if (all.code == 0) all.code = outcome.code;
    }
    return all;
  }
  void ExpectUploads(const Example& example) const {
    ASSERT_FALSE(example.uploads.empty());
    for (const std::string& path : example.uploads) EXPECT_TRUE(fs::exists(folder_ / path)) << path;
    for (const char* name : {"report.html", "report.json", "report.txt", "junit.xml", "sarif.json"})
      EXPECT_TRUE(fs::exists(folder_ / "vigil-report" / name)) << name;
  }
};

TEST_F(CiExamples, OfGithubPassAHealthyRun) {
  const Outcome outcome = Run(GithubExample(), "healthy-nanogpt-s3");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(BytesOf(folder_ / "summary.md"), HasSubstr("no worse than healthy-kv-s2"));
  ExpectUploads(GithubExample());
}

TEST_F(CiExamples, OfGithubFailAFaultyRunLoudlyAndKeepTheReports) {
  const Outcome outcome = Run(GithubExample(), "lr-too-high-s12");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("worse than healthy-kv-s2: loss"));
  EXPECT_THAT(BytesOf(folder_ / "summary.md"), HasSubstr("baseline/loss"));
  EXPECT_THAT(BytesOf(folder_ / "vigil-report/junit.xml"), HasSubstr("<failure"));
  ExpectUploads(GithubExample());
}

TEST_F(CiExamples, OfGitlabPassAHealthyRun) {
  const Outcome outcome = Run(GitlabExample(), "healthy-nanogpt-s3");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  ExpectUploads(GitlabExample());
}

TEST_F(CiExamples, OfGitlabFailAFaultyRunLoudlyAndKeepTheReports) {
  const Outcome outcome = Run(GitlabExample(), "lr-too-high-s12");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("worse than healthy-kv-s2: loss"));
  ExpectUploads(GitlabExample());
}

}  // namespace
}  // namespace vigil::report
