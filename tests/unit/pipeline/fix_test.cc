// --fix: what is written beside the config, and what is never touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "support/scratch.h"

namespace vigil::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Fixes : public ScratchTest {
 protected:
  static model::Remedy Remedy(std::string id, std::string setting, std::string proposed) {
    model::Remedy remedy;
    remedy.id = std::move(id);
    remedy.setting = std::move(setting);
    remedy.proposed = std::move(proposed);
    return remedy;
  }
  model::Report Report(const std::vector<std::string>& configs) const {
    model::Report report;
    model::RunReport& run = report.runs.emplace_back();
    run.run.name = "mine";
    for (const std::string& config : configs) {
      run.run.sources.push_back({config, "config-yaml", model::SourceState::kRead, {}});
      run.run.sources.back().is_config = true;
    }
    model::Diagnosis& diagnosis = run.diagnoses.emplace_back();
    diagnosis.remedies = {Remedy("inspect-batch", "", ""), Remedy("lower-lr", "learning_rate", "0.0002"),
                          Remedy("clip-gradients", "max_grad_norm", "1.0")};
    return report;
  }
  std::string config_ = "learning_rate: 0.002  # mine\nmax_steps: 100\n";
};

TEST_F(Fixes, TheConfigStaysAndTheFixStandsBesideIt) {
  const std::string path = Write("run/config.yml", config_);
  model::Report report = Report({path});
  EXPECT_THAT(FixConfigs(report, {}), IsEmpty());
  EXPECT_EQ(BytesOf(path), config_);
  ASSERT_EQ(report.fixes.size(), 1U);
  EXPECT_EQ(report.fixes[0].written, Folder() + "/run/config.vigil-fix.yml");
  EXPECT_EQ(BytesOf(report.fixes[0].written), "learning_rate: 0.0002  # mine\nmax_steps: 100\n");
  EXPECT_THAT(report.fixes[0].diff, HasSubstr("-learning_rate: 0.002  # mine\n+learning_rate: 0.0002  # mine\n"));
}

TEST_F(Fixes, AFileThatIsThereIsNeverReplaced) {
  const std::string path = Write("run/config.yml", config_);
  Write("run/config.vigil-fix.yml", "mine");
  model::Report report = Report({path});
  EXPECT_THAT(FixConfigs(report, {}), IsEmpty());
  EXPECT_EQ(report.fixes.at(0).written, Folder() + "/run/config.vigil-fix-2.yml");
  EXPECT_EQ(BytesOf(Folder() + "/run/config.vigil-fix.yml"), "mine");
}

TEST_F(Fixes, ADryRunWritesNothing) {
  const std::string path = Write("run/config.yml", config_);
  model::Report report = Report({path});
  EXPECT_THAT(FixConfigs(report, {.dry = true}), IsEmpty());
  EXPECT_FALSE(report.fixes.at(0).diff.empty());
  EXPECT_FALSE(std::filesystem::exists(report.fixes.at(0).written));
}

TEST_F(Fixes, AllInOneOrEachInItsOwn) {
  const std::string path = Write("run/config.yml", config_);
  model::Report all = Report({path});
  EXPECT_THAT(FixConfigs(all, {.which = FixWhich::kAll, .dry = true}), IsEmpty());
  ASSERT_EQ(all.fixes.size(), 1U);
  EXPECT_EQ(all.fixes[0].settings.size(), 2U);
  model::Report each = Report({path});
  EXPECT_THAT(FixConfigs(each, {.which = FixWhich::kEach}), IsEmpty());
  ASSERT_EQ(each.fixes.size(), 2U);
  EXPECT_EQ(each.fixes[0].written, Folder() + "/run/config.vigil-fix.lower-lr.yml");
  EXPECT_EQ(each.fixes[1].written, Folder() + "/run/config.vigil-fix.clip-gradients.yml");
  EXPECT_THAT(BytesOf(each.fixes[1].written), HasSubstr("learning_rate: 0.002"));
}

TEST_F(Fixes, EveryFileThatStatesTheSettingIsChanged) {
  const std::string path = Write("run/config.yml", config_);
  const std::string other = Write("run/ds.json", R"({"optimizer": {"params": {"lr": 0.002}}})");
  model::Report report = Report({path, other});
  EXPECT_THAT(FixConfigs(report, {.dry = true}), IsEmpty());
  ASSERT_EQ(report.fixes.size(), 2U);
  EXPECT_THAT(report.fixes[1].diff, HasSubstr("0.0002"));
}

TEST_F(Fixes, WithoutAConfigTheSettingsAreToBeCopied) {
  model::Report report = Report({});
  EXPECT_THAT(FixConfigs(report, {}), IsEmpty());
  ASSERT_EQ(report.fixes.size(), 1U);
  EXPECT_EQ(report.fixes[0].config, "");
  EXPECT_EQ(report.fixes[0].snippet, "learning_rate: 0.0002\n");
}

TEST_F(Fixes, AConfigThatIsNamedIsTaken) {
  const std::string path = Write("elsewhere/config.yml", config_);
  model::Report report = Report({});
  FixOptions options;
  options.configs = {path};
  EXPECT_THAT(FixConfigs(report, options), IsEmpty());
  EXPECT_EQ(report.fixes.at(0).written, Folder() + "/elsewhere/config.vigil-fix.yml");
  options.configs = {Write("notes.txt", "hello")};
  EXPECT_EQ(FixConfigs(report, options).size(), 1U) << "no config";
}

TEST_F(Fixes, AFolderThatCannotBeWrittenToIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const std::string path = Write("run/config.yml", config_);
  std::filesystem::permissions(folder_ / "run",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  model::Report report = Report({path});
  EXPECT_EQ(FixConfigs(report, {}).size(), 1U);
  EXPECT_FALSE(report.fixes.at(0).diff.empty()) << "the diff is shown all the same";
  std::filesystem::permissions(folder_ / "run", std::filesystem::perms::owner_all);
}

TEST_F(Fixes, ARunWithoutADiagnosisHasNone) {
  const std::string path = Write("run/config.yml", config_);
  model::Report report = Report({path});
  report.runs[0].diagnoses.clear();
  EXPECT_THAT(FixConfigs(report, {}), IsEmpty());
  EXPECT_THAT(report.fixes, IsEmpty());
}

}  // namespace
}  // namespace vigil::pipeline
