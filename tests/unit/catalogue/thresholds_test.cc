#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/catalogue.h"

namespace vigil::catalogue {
namespace {

using model::Severity;
using testing::AllOf;
using testing::HasSubstr;

Thresholds Parsed(std::string_view toml) {
  auto thresholds = Thresholds::Parse(toml, "vigil.toml");
  EXPECT_TRUE(thresholds) << (thresholds ? "" : thresholds.error().Text());
  return thresholds ? *thresholds : Thresholds();
}

std::string Complaint(std::string_view toml) {
  const auto thresholds = Thresholds::Parse(toml, "vigil.toml");
  EXPECT_FALSE(thresholds) << toml;
  return thresholds ? std::string() : thresholds.error().Text();
}

TEST(Thresholds, WithoutAFileTheRowsHold) {
  const Thresholds thresholds;
  EXPECT_EQ(thresholds.Threshold("loss/spike", "z"), FindFinding("loss/spike")->thresholds[0].value);
  EXPECT_EQ(thresholds.SeverityOf("loss/spike", Severity::kWarning), Severity::kWarning);
  EXPECT_TRUE(thresholds.Enabled("loss/spike"));
}

TEST(Thresholds, AFileChangesWhatItNamesAndNothingElse) {
  const Thresholds thresholds = Parsed("[\"loss/spike\"]\nz = 9.5\nseverity = \"error\"\nenabled = false\n");
  EXPECT_EQ(thresholds.Threshold("loss/spike", "z"), 9.5);
  EXPECT_EQ(thresholds.Threshold("loss/spike", "window"), Thresholds().Threshold("loss/spike", "window"));
  EXPECT_EQ(thresholds.SeverityOf("loss/spike", Severity::kWarning), Severity::kError);
  EXPECT_FALSE(thresholds.Enabled("loss/spike"));
  EXPECT_TRUE(thresholds.Enabled("loss/divergence"));
}

TEST(Thresholds, AWholeNumberIsAThresholdToo) {
  EXPECT_EQ(Parsed("[\"loss/spike\"]\nz = 9\n").Threshold("loss/spike", "z"), 9.0);
}

TEST(Thresholds, AnEmptyFileChangesNothing) { EXPECT_TRUE(Parsed("").Enabled("loss/spike")); }

TEST(Thresholds, AnUnknownIdIsRefusedWithTheNearestNames) {
  EXPECT_THAT(
      Complaint("\n[\"loss/spke\"]\nz = 9\n"),
      AllOf(HasSubstr("vigil.toml:2"), HasSubstr("unknown id 'loss/spke'"), HasSubstr("did you mean loss/spike")));
}

TEST(Thresholds, AnUnknownThresholdIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nzz = 9\n"),
              AllOf(HasSubstr("vigil.toml:2: 'loss/spike' has no setting 'zz'"), HasSubstr("z_with_grad")));
}

TEST(Thresholds, AValueOfTheWrongTypeIsRefused) {
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = \"high\"\n"), HasSubstr("'z' of 'loss/spike' must be a finite number"));
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nenabled = 1\n"), HasSubstr("must be true or false"));
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nseverity = \"bad\"\n"), HasSubstr("must be info, warning, error or fatal"));
  EXPECT_THAT(Complaint("\"loss/spike\" = 3\n"), HasSubstr("is no table"));
}

TEST(Thresholds, AThresholdIsAFiniteNumber) {
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = nan\n"), HasSubstr("must be a finite number"));
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = -inf\n"), HasSubstr("must be a finite number"));
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = -3\n"), HasSubstr("from 0 to 1e9"));
}

TEST(Thresholds, EveryMistakeIsNamedAtOnce) {
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = -3\nzz = 1\n[\"loss/spke\"]\n"),
              AllOf(HasSubstr("vigil.toml:2"), HasSubstr("vigil.toml:3"), HasSubstr("vigil.toml:4")));
}

TEST(Thresholds, OnlyWhatARunCanShowIsOffered) {
  EXPECT_THAT(Complaint("[\"grad_norm\"]\n"),
              AllOf(HasSubstr("unknown id 'grad_norm'"), testing::Not(HasSubstr("grad_norm,"))));
}

TEST(Thresholds, AnIdWithoutQuotesIsRefusedWithTheRightWay) {
  EXPECT_THAT(Complaint("[loss/spike]\nz = 3\n"), AllOf(HasSubstr("vigil.toml:1"), HasSubstr("[\"loss/spike\"]")));
}

TEST(Thresholds, ABrokenFileIsRefusedWithItsLine) {
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = = 3\n"), HasSubstr("vigil.toml:2"));
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = 3\n[]]\n[=]"), HasSubstr("vigil.toml:"));
  EXPECT_THAT(Complaint("[\"loss/spike\"]\nz = \x01 3\n"), HasSubstr("vigil.toml:2: a control character"));
}

}  // namespace
}  // namespace vigil::catalogue
