// Evidence tests: questions about a run and an incident that code can answer with yes, no, or "cannot tell from what
// was logged", and with the numbers it saw. Pure functions, named by the rows of evidence.toml. They take a short
// series, one point, all NaN, averaged logs and missing metrics for what they are: mostly reasons not to answer.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "diagnose/incident.h"
#include "diagnose/view.h"
#include "model/finding.h"

namespace vigil::diagnose {

// kMoot: the question has no meaning for this run, so nobody needs to log anything for it.
enum class Verdict : std::uint8_t { kUnknown, kMoot, kYes, kNo };

struct Answer {
  Verdict verdict = Verdict::kUnknown;
  model::Evidence evidence;  // what was seen; empty without a yes or no
};

using EvidenceTest = Answer (*)(const RunView& run, const Incident& incident);

struct NamedTest {
  std::string_view name;
  EvidenceTest test;
};

// The tables of tests, one per file.
std::span<const NamedTest> BlowUpTests();
std::span<const NamedTest> LearningRateTests();
std::span<const NamedTest> NumericsTests();
std::span<const NamedTest> LearningTests();
std::span<const NamedTest> RlTests();
std::span<const NamedTest> ResumeTests();
std::span<const NamedTest> CostTests();
std::span<const NamedTest> SettingTests();
std::span<const NamedTest> CrashTests();
std::span<const NamedTest> SamplingTests();
std::span<const NamedTest> PrecisionTests();
std::span<const NamedTest> RankTests();

// The code of a test, null when there is none.
EvidenceTest FindTest(std::string_view name);

inline Answer Unknown() { return {}; }
inline Answer Moot() { return {Verdict::kMoot, {}}; }
inline Answer Answered(Verdict verdict, model::Statement says, model::Position at, double value) {
  Answer answer{verdict, {}};
  answer.evidence.says = std::move(says);
  answer.evidence.value = value;
  answer.evidence.at = at;
  return answer;
}
// What was seen, where, and the value there.
inline Answer Yes(model::Statement says, model::Position at = {}, double value = model::kNoValue) {
  return Answered(Verdict::kYes, std::move(says), at, value);
}
inline Answer No(model::Statement says, model::Position at = {}, double value = model::kNoValue) {
  return Answered(Verdict::kNo, std::move(says), at, value);
}
// Where the finding itself is the evidence: its own statement at its own place.
inline Answer AsFound(const model::Finding& finding, double value = model::kNoValue) {
  return Yes(finding.says, finding.first, value);
}

}  // namespace vigil::diagnose
