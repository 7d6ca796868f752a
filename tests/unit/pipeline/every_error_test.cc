// Whatever is an error has a diagnosis, be it that the cause is not known.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "pipeline/pipeline.h"
#include "support/paths.h"

namespace vigil::pipeline {
namespace {

bool IsDiagnosed(const model::RunReport& run, std::size_t finding) {
  return std::any_of(run.diagnoses.begin(), run.diagnoses.end(), [&](const model::Diagnosis& diagnosis) {
    return std::find(diagnosis.findings.begin(), diagnosis.findings.end(), finding) != diagnosis.findings.end();
  });
}

TEST(EveryError, HasADiagnosis) {
  const Outcome outcome = DiagnosePaths({std::string(testing_support::kSourceDir) + "/tests/fixtures/runs"}, {}, {});
  ASSERT_FALSE(outcome.report.runs.empty());
  std::size_t errors = 0;
  for (const model::RunReport& run : outcome.report.runs) {
    for (std::size_t i = 0; i < run.findings.size(); ++i) {
      const model::Finding& finding = run.findings[i];
      // A setting is a fact for the diagnosis of what it broke, and no incident by itself.
      if (finding.severity < model::Severity::kError || finding.id.starts_with("config/")) continue;
      ++errors;
      EXPECT_TRUE(IsDiagnosed(run, i)) << run.run.name << ": " << finding.id;
    }
  }
  EXPECT_GT(errors, 10U);
}

}  // namespace
}  // namespace vigil::pipeline
