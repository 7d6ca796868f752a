// Causes that the evidence does not exclude, and what would decide between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using catalogue::CauseRow;
using ::testing::HasSubstr;

// A NaN out of flat gradients: a sample or a layer.
RunMaker SuddenNan() {
  RunMaker run("torch");
  run.Planned(300);
  run.Series("lr", 300, [](int s) { return CosineLr(3e-4, s, 20, 300); });
  run.Series("loss", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", 120, 300).Found("grad/non-finite", 120, 300);
  return run;
}

TEST(Rivals, AreNamedBestFirstWithTheirConfidence) {
  const model::Diagnosis diagnosis = SuddenNan().First();
  ASSERT_FALSE(diagnosis.rivals.empty()) << Describe(diagnosis);
  EXPECT_LE(diagnosis.rivals.size(), 3U);
  double before = diagnosis.confidence;
  for (const model::Rival& rival : diagnosis.rivals) {
    EXPECT_LE(rival.confidence, before);
    EXPECT_GE(rival.confidence, 0.1);
    EXPECT_NE(rival.cause, diagnosis.cause);
    EXPECT_FALSE(Words(rival.tell_apart).empty()) << rival.cause;
    before = rival.confidence;
  }
}

TEST(Rivals, ASampleAndALayerAreDistinguishedByTheSentenceOfThePair) {
  const model::Diagnosis diagnosis = SuddenNan().First();
  ASSERT_FALSE(diagnosis.rivals.empty());
  EXPECT_THAT(Words(diagnosis.rivals[0].tell_apart), HasSubstr("another batch"));
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr(Words(diagnosis.rivals[0].tell_apart)));
}

TEST(Rivals, AClearCauseHasNone) {
  RunMaker run;
  run.Planned(80);
  run.Series("loss", 80, [&](int) { return 4.4 + run.Noise(0.03); });
  run.Series("lr", 80, [](int) { return 0.0; });
  run.Found("lr/zero", 1, 80).Found("loss/not-decreasing", 1, 80);
  EXPECT_TRUE(run.First().rivals.empty()) << Describe(run.First());
}

TEST(Rivals, AnUndecidedDiagnosisNamesAllThatItIsUndecidedBetween) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return run.HealthyLoss(s) + (s < 150 ? 0.0 : 0.2 * (s - 150)); });
  run.Found("loss/divergence", 150, 300);
  const model::Diagnosis diagnosis = run.First();
  ASSERT_EQ(diagnosis.cause, kUnknownCause) << Describe(diagnosis);
  ASSERT_GE(diagnosis.rivals.size(), 2U);
  EXPECT_FALSE(Words(diagnosis.rivals[0].tell_apart).empty());
}

bool ShareAFinding(const CauseRow& a, const CauseRow& b) {
  return std::any_of(a.explains.begin(), a.explains.end(), [&](std::string_view id) {
    return !id.starts_with("log/") && std::find(b.explains.begin(), b.explains.end(), id) != b.explains.end();
  });
}

// Messages name their causes themselves; what is left to distinguish are causes that evidence is weighed for.
TEST(Rivals, EveryLikelyPairHasItsSentence) {
  constexpr double kLikely = -3.0 - 1e-9;  // of both priors together
  const auto causes = catalogue::Causes();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    for (std::size_t j = i + 1; j < causes.size(); ++j) {
      const CauseRow& a = causes[i];
      const CauseRow& b = causes[j];
      const bool likely = !a.evidence.empty() && !b.evidence.empty() && a.prior + b.prior >= kLikely;
      if (!likely || !ShareAFinding(a, b)) continue;
      EXPECT_NE(catalogue::FindPair(a.id, b.id), nullptr) << a.id << " and " << b.id;
    }
  }
}

TEST(Rivals, APairIsOfCausesThatAreMistakenForEachOther) {
  for (const catalogue::PairRow& pair : catalogue::Pairs()) {
    const CauseRow* a = catalogue::FindCause(pair.causes[0]);
    const CauseRow* b = catalogue::FindCause(pair.causes[1]);
    ASSERT_TRUE(a != nullptr && b != nullptr) << pair.id;
    EXPECT_TRUE(ShareAFinding(*a, *b)) << pair.id;
    EXPECT_EQ(catalogue::FindPair(b->id, a->id), &pair) << "in either order";
    EXPECT_TRUE(pair.tell_apart.ends_with('.')) << pair.id;
    EXPECT_EQ(Words(catalogue::TextOf("pair", pair.id, "tell_apart")), pair.tell_apart);
  }
}

}  // namespace
}  // namespace vigil::diagnose
