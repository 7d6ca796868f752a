// Evidence tests: questions about a run and an incident that code can answer with yes, no, or "cannot tell from what
// was logged", and with the numbers it saw. Pure functions, named by the rows of evidence.toml. They take a short
// series, one point, all NaN, averaged logs and missing signals for what they are: mostly reasons not to answer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "diagnose/incident.h"
#include "model/model.h"

namespace vigil::diagnose {

// kMoot: the question has no meaning for this run, so nobody needs to log anything for it.
enum class Verdict : std::uint8_t { kUnknown, kMoot, kYes, kNo };

struct Answer {
  Verdict verdict = Verdict::kUnknown;
  model::Evidence evidence;  // what was seen; empty without a yes or no
};

using EvidenceTest = Answer (*)(const model::Run& run, const Incident& incident);

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

// The code of a test, null when there is none.
EvidenceTest FindTest(std::string_view name);

inline Answer Unknown() { return {}; }
inline Answer Moot() { return {Verdict::kMoot, {}}; }
inline Answer Yes(std::string text, std::int64_t step = model::kNoStep, double value = model::kNoValue) {
  return {Verdict::kYes, {std::move(text), step, value, {}, 0}};
}
inline Answer No(std::string text, std::int64_t step = model::kNoStep, double value = model::kNoValue) {
  return {Verdict::kNo, {std::move(text), step, value, {}, 0}};
}

}  // namespace vigil::diagnose
