// Real trainings beside each other: seeds are alike, faults are worse.
#include "diagnose/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/baseline.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/paths.h"

namespace vigil::pipeline {
namespace {

model::RunReport Load(const std::string& run) {
  auto loaded = LoadBaseline(std::string(testing_support::kSourceDir) + "/tests/fixtures/" + run, {});
  EXPECT_TRUE(loaded.has_value()) << run;
  return loaded ? std::move(*loaded) : model::RunReport();
}

// The comparisons that say worse, as text for a message; findings that are no more than warnings are left out.
std::string Worse(const std::string& run, const std::string& reference) {
  model::Report report;
  report.runs.push_back(Load(run));
  diagnose::CompareWithBaseline(report.runs.front(), Load(reference), {});
  EXPECT_TRUE(report.runs.front().baseline->IsOfUse()) << run << " beside " << reference;
  std::string ids;
  for (const model::Finding& finding : report.runs.front().findings) {
    if (finding.id.starts_with("baseline/") && finding.severity >= model::Severity::kError) ids += finding.id + " ";
  }
  return ids;
}

TEST(BaselineOfFixtures, HealthyRunsThatDifferInTheirSeedAreAlikeBothWays) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"runs/torch/healthy-spiky-s13", "runs/torch/healthy-spiky-s23"},
      {"runs/torch/healthy-nanogpt-s3", "runs/torch/healthy-nanogpt-s24"},
      {"runs/torch/healthy-events-s4", "runs/torch/healthy-events-s28"},
      {"runs/hf/healthy-short-s5", "runs/hf/healthy-short-s29"},
      {"runs/dpo/healthy-s3", "runs/dpo/healthy-s5"},
      {"gym/runs/healthy-s1", "gym/runs/healthy-s2"},
      {"gym/runs/healthy-s2", "gym/runs/healthy-s3"},
      {"gym/runs/healthy-lr-s1", "gym/runs/healthy-lr-s2"},
      {"gym/runs/healthy-lr-s2", "gym/runs/healthy-lr-s3"},
      {"gym/runs/healthy-large-s1", "gym/runs/healthy-large-s3"},
      {"gym/runs/healthy-ranks-s1", "gym/runs/healthy-ranks-s2"},
      {"gym/runs/healthy-post-norm-s1", "gym/runs/healthy-post-norm-s3"},
      {"gym/runs/healthy-accumulate-s1", "gym/runs/healthy-accumulate-s2"},
      {"gym/runs/healthy-warmup-s2", "gym/runs/healthy-warmup-s3"},
  };
  for (const auto& [one, other] : pairs) {
    EXPECT_EQ(Worse(one, other), "") << one << " beside " << other;
    EXPECT_EQ(Worse(other, one), "") << other << " beside " << one;
  }
}

TEST(BaselineOfFixtures, FaultsAreWorseThanAHealthyRun) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"runs/torch/lr-too-high-s12", "runs/torch/healthy-kv-s2"},
      {"runs/torch/lr-too-low-s1", "runs/torch/healthy-kv-s2"},
      {"runs/torch/labels-shuffled-s13", "runs/torch/healthy-kv-s2"},
      {"runs/torch/lr-zero-s0", "runs/torch/healthy-kv-s2"},
      {"runs/hf/lr-too-high-s2", "runs/hf/healthy-linear-s3"},
      {"runs/hf/labels-shuffled-s5", "runs/hf/healthy-linear-s3"},
  };
  for (const auto& [bad, good] : pairs)
    EXPECT_THAT(Worse(bad, good), ::testing::HasSubstr("baseline/loss")) << bad << " beside " << good;
}

}  // namespace
}  // namespace vigil::pipeline
