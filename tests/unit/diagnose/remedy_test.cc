// Remedies in the words of the framework found, with values computed from the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

// A clear case of a learning rate too high, for any framework.
RunMaker Exploding(std::string framework, std::string_view method, double peak) {
  RunMaker run(std::move(framework));
  run.Planned(1000).Method(method);
  run.Series("lr", 400, [=](int s) { return CosineLr(peak, s, 100, 1000); });
  run.Series("grad_norm", 400,
             [&](int s) { return run.HealthyNorm() * (s < 180 ? 1 : std::exp(0.25 * std::min(s - 180, 40))); });
  run.Series("loss", 400, [&](int s) { return run.HealthyLoss(s) * (s < 190 ? 1 : 1 + 0.2 * (s - 190)); });
  run.Found("grad/explosion", 182, 400).Found("loss/divergence", 191, 400);
  return run;
}

model::Remedy LowerLr(const RunMaker& run) {
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "lr-too-high") << Describe(diagnosis);
  const model::Remedy* remedy = FindRemedyIn(diagnosis, "lower-lr");
  return remedy == nullptr ? model::Remedy() : *remedy;
}

TEST(Remedies, TheConfigClassOfTrlIsThatOfTheMethod) {
  EXPECT_EQ(LowerLr(Exploding("trl", "sft", 2e-3)).file, "SFTConfig");
  EXPECT_EQ(LowerLr(Exploding("trl", "grpo", 2e-3)).file, "GRPOConfig");
  EXPECT_EQ(LowerLr(Exploding("trl", "dpo", 2e-3)).file, "DPOConfig");
  EXPECT_EQ(LowerLr(Exploding("hf-trainer", "sft", 2e-3)).file, "TrainingArguments");
}

TEST(Remedies, EachFrameworkHasItsOwnWord) {
  EXPECT_EQ(LowerLr(Exploding("axolotl", "sft", 2e-3)).setting, "learning_rate");
  EXPECT_EQ(LowerLr(Exploding("axolotl", "sft", 2e-3)).file, "config.yml");
  EXPECT_EQ(LowerLr(Exploding("torch", "sft", 2e-3)).setting, "lr");
  EXPECT_EQ(LowerLr(Exploding("somebody's own", "sft", 2e-3)).framework, "*");
}

TEST(Remedies, AnExplosionLowersTheRateByTenOrIntoTheUsualRange) {
  RunMaker full = Exploding("hf-trainer", "sft", 2e-3);
  EXPECT_EQ(LowerLr(full).proposed, "0.0002") << "it may have an adapter";
  full.Fact("adapter", "none");
  EXPECT_EQ(LowerLr(full).proposed, "5e-05");
  EXPECT_EQ(LowerLr(Exploding("hf-trainer", "pretrain", 6e-3)).proposed, "0.0006");
  EXPECT_EQ(LowerLr(Exploding("hf-trainer", "pretrain", 6e-3)).current, "0.006");
}

TEST(Remedies, NeverBelowTheUsualRange) {
  EXPECT_EQ(LowerLr(Exploding("hf-trainer", "pretrain", 5e-4)).proposed, "0.0001");
}

TEST(Remedies, WhatIsAlreadySetIsNotProposed) {
  RunMaker run = Exploding("hf-trainer", "sft", 2e-3);
  run.Fact("warmup_steps", "100").Fact("max_grad_norm", "1.0");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(FindRemedyIn(diagnosis, "add-warmup"), nullptr);
  EXPECT_EQ(FindRemedyIn(diagnosis, "clip-gradients"), nullptr);
  EXPECT_EQ(FindRemedyIn(diagnosis, "log-every-step"), nullptr);
}

TEST(Remedies, NoRemedyIsListedTwice) {
  for (const std::string_view framework : {"hf-trainer", "trl", "torch", "axolotl", "lightning"}) {
    const model::Diagnosis diagnosis = Exploding(std::string(framework), "sft", 2e-3).First();
    std::set<std::string> ids;
    for (const model::Remedy& remedy : diagnosis.remedies) EXPECT_TRUE(ids.insert(remedy.id).second) << remedy.id;
  }
}

// What is proposed for a switch or a number must read as one.
TEST(Remedies, TheFirstSettingOfTheTrainerHasAValue) {
  const model::Diagnosis diagnosis = Exploding("hf-trainer", "sft", 2e-3).First();
  ASSERT_FALSE(diagnosis.remedies.empty());
  EXPECT_FALSE(diagnosis.remedies.front().setting.empty());
  EXPECT_FALSE(diagnosis.remedies.front().proposed.empty());
}

}  // namespace
}  // namespace vigil::diagnose
