// Remedies put into configs: which setting is meant, what stays as it was, and the diff.
#include "fix/fix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vigil::fix {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kAxolotl = R"(# my run
base_model: some/model   # small

learning_rate: 0.002     # from the blog
micro_batch_size: 8
gradient_accumulation_steps: 2
bf16: false
fp16: true
)";

configfile::File Yaml(std::string_view text) {
  return configfile::Parse("config.yml", std::string(text), configfile::Notation::kYaml);
}

model::Remedy Remedy(std::string id, std::string setting, std::string proposed) {
  model::Remedy remedy;
  remedy.id = std::move(id);
  remedy.setting = std::move(setting);
  remedy.proposed = std::move(proposed);
  return remedy;
}

TEST(Fix, ChangesTheValueAndKeepsCommentsAndOrder) {
  const model::Remedy remedy = Remedy("lower-lr", "learning_rate", "0.0002");
  const Fixed fixed = Apply(Yaml(kAxolotl), std::span(&remedy, 1), true);
  ASSERT_TRUE(fixed.Any());
  std::string wanted(kAxolotl);
  wanted.replace(wanted.find("0.002 "), 6, "0.0002 ");
  EXPECT_EQ(fixed.text, wanted);
  EXPECT_EQ(fixed.changes[0].current, "0.002");
}

TEST(Fix, TheNameInTheFileCountsNotThatOfTheRow) {
  const model::Remedy remedy = Remedy("lower-lr", "learning_rate", "0.0002");
  const configfile::File file = Yaml("optimizer:\n  lr: 0.002\nmax_steps: 10\n");
  EXPECT_TRUE(HoldsSetting(file, remedy));
  const Fixed fixed = Apply(file, std::span(&remedy, 1), true);
  EXPECT_EQ(fixed.text, "optimizer:\n  lr: 0.0002\nmax_steps: 10\n");
  EXPECT_EQ(fixed.changes[0].setting, "optimizer.lr");
}

TEST(Fix, WhatIsMissingIsAddedOnlyWhenAsked) {
  const model::Remedy remedy = Remedy("clip-gradients", "max_grad_norm", "1.0");
  EXPECT_FALSE(HoldsSetting(Yaml(kAxolotl), remedy));
  const Fixed left = Apply(Yaml(kAxolotl), std::span(&remedy, 1), false);
  EXPECT_FALSE(left.Any());
  EXPECT_EQ(left.text, kAxolotl);
  const Fixed added = Apply(Yaml(kAxolotl), std::span(&remedy, 1), true);
  EXPECT_THAT(added.text, HasSubstr("max_grad_norm: 1"));
  EXPECT_THAT(added.text, HasSubstr("# from the blog"));
}

TEST(Fix, AllThatChangesTogetherIsChanged) {
  model::Remedy remedy = Remedy("smaller-batch", "micro_batch_size", "4");
  remedy.also.push_back({"gradient_accumulation_steps", "2", "4"});
  const Fixed fixed = Apply(Yaml(kAxolotl), std::span(&remedy, 1), true);
  EXPECT_THAT(fixed.text, HasSubstr("micro_batch_size: 4\ngradient_accumulation_steps: 4\n"));
}

TEST(Fix, SwitchesAreSwitchesInTheNotationOfTheFile) {
  model::Remedy remedy = Remedy("use-bf16", "bf16", "True");
  remedy.also.push_back({"fp16", "True", "False"});
  EXPECT_THAT(Apply(Yaml(kAxolotl), std::span(&remedy, 1), true).text, HasSubstr("bf16: true\nfp16: false\n"));
  const configfile::File json = configfile::Parse(
      "ds.json", R"({"bf16": {"enabled": false}, "fp16": {"enabled": true}})", configfile::Notation::kJson);
  model::Remedy nested = Remedy("use-bf16", "bf16.enabled", "true");
  nested.also.push_back({"fp16.enabled", "true", "false"});
  EXPECT_EQ(Apply(json, std::span(&nested, 1), true).text,
            R"({"bf16": {"enabled": true}, "fp16": {"enabled": false}})");
}

TEST(Fix, WhatIsLeftToTheFrameworkStays) {
  const configfile::File json =
      configfile::Parse("ds.json", R"({"gradient_clipping": "auto"})", configfile::Notation::kJson);
  const model::Remedy remedy = Remedy("clip-gradients", "gradient_clipping", "1.0");
  EXPECT_FALSE(HoldsSetting(json, remedy));
  const Fixed fixed = Apply(json, std::span(&remedy, 1), true);
  EXPECT_FALSE(fixed.Any());
  EXPECT_THAT(fixed.changes[0].problem, HasSubstr("auto"));
}

TEST(Fix, WordsAndCodeAreNotWritten) {
  EXPECT_TRUE(IsWritable(Remedy("lower-lr", "learning_rate", "0.1")));
  EXPECT_FALSE(IsWritable(Remedy("lower-lr", "learning rate", "0.1")));
  EXPECT_FALSE(IsWritable(Remedy("lower-lr", "learning_rate", "a tenth")));
  model::Remedy code = Remedy("lower-lr", "lr", "0.1");
  code.code = "lr=0.1";
  EXPECT_FALSE(IsWritable(code));
}

TEST(Diff, ShowsThreeLinesAroundAChange) {
  const std::string diff = UnifiedDiff("a", "1\n2\n3\n4\n5\n6\n7\n8\n", "b", "1\n2\n3\n4\nfive\n6\n7\n8\n");
  EXPECT_EQ(diff, "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(Diff, TwoChangesFarApartAreTwoHunks) {
  std::string old_text;
  for (int i = 0; i < 40; ++i) old_text += std::to_string(i) + "\n";
  std::string new_text = old_text;
  new_text.replace(new_text.find("\n3\n"), 3, "\nthree\n");
  new_text += "forty\n";
  const std::string diff = UnifiedDiff("a", old_text, "b", new_text);
  EXPECT_THAT(diff, HasSubstr("@@ -1,7 +1,7 @@"));
  EXPECT_THAT(diff, HasSubstr("@@ -38,3 +38,4 @@"));
}

TEST(Diff, EqualTextsHaveNone) { EXPECT_EQ(UnifiedDiff("a", "x\n", "b", "x\n"), ""); }

TEST(FixedName, StandsBesideWithTheSameEnding) {
  EXPECT_EQ(FixedName("out/config.yml"), "out/config.vigil-fix.yml");
  EXPECT_EQ(FixedName("out/config.yml", "lower-lr"), "out/config.vigil-fix.lower-lr.yml");
  EXPECT_EQ(FixedName("ds.v1/config", {}, 2), "ds.v1/config.vigil-fix-2");
}

TEST(Snippet, HasALineForEachSetting) {
  model::Remedy batch = Remedy("smaller-batch", "micro_batch_size", "4");
  batch.also.push_back({"gradient_accumulation_steps", "2", "4"});
  model::Remedy code = Remedy("zero-gradients", "zero_grad", "");
  code.code = "optimizer.zero_grad()";
  const std::vector<model::Remedy> remedies = {batch, code};
  EXPECT_EQ(Snippet(remedies), "micro_batch_size: 4\ngradient_accumulation_steps: 4\noptimizer.zero_grad()\n");
}

}  // namespace
}  // namespace vigil::fix
