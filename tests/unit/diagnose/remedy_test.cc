// Remedies in the words of the framework found, with values computed from the run.
#include "diagnose/remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "diagnose/incident.h"
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

// ---- what is offered, and what is not

std::vector<std::string> IdsOf(const RunMaker& run, std::string_view cause,
                               std::initializer_list<std::string_view> found) {
  RunMaker copy = run;
  for (const std::string_view id : found) copy.Found(id, 100, 200);
  const catalogue::CauseRow* row = catalogue::FindCause(cause);
  EXPECT_NE(row, nullptr) << cause;
  const auto incidents = GroupIncidents(copy.run, copy.findings);
  std::vector<std::string> ids;
  if (row == nullptr || incidents.empty()) return ids;
  for (const model::Remedy& remedy : RemediesFor(*row, copy.run, incidents.front())) ids.push_back(remedy.id);
  return ids;
}

std::optional<model::Remedy> Offered(const RunMaker& run, std::string_view id,
                                     std::string_view found = "loss/divergence") {
  RunMaker copy = run;
  copy.Found(found, 100, 200);
  const auto incidents = GroupIncidents(copy.run, copy.findings);
  return RemedyFor(id, copy.run, incidents.front());
}

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Applicability, AnAdapterIsMadeSmallerOnlyWhereThereIsOne) {
  RunMaker plain;
  EXPECT_THAT(IdsOf(plain, "overfitting", {"loss/overfit"}), Not(Contains("smaller-adapter")));
  RunMaker lora;
  lora.Fact("adapter", "lora").Fact("lora_rank", "64");
  EXPECT_THAT(IdsOf(lora, "overfitting", {"loss/overfit"}), Contains("smaller-adapter"));
  EXPECT_EQ(Offered(lora, "smaller-adapter")->proposed, "16");
  lora.run.facts.back().value = "8";
  EXPECT_FALSE(Offered(lora, "smaller-adapter")) << "it is small already";
}

TEST(Applicability, WorkersAreTakenAwayOnlyWhereThereAreSome) {
  RunMaker none;
  EXPECT_THAT(IdsOf(none, "out-of-host-memory", {"memory/host-alloc"}), ElementsAre("stream-data"));
  none.Fact("data_workers", "8");
  EXPECT_THAT(IdsOf(none, "out-of-host-memory", {"memory/host-alloc"}), ElementsAre("fewer-workers", "stream-data"));
  EXPECT_EQ(Offered(none, "fewer-workers", "memory/host-alloc")->proposed, "4");
}

TEST(Applicability, DeviceMemoryIsNoMatterOfTheHost) {
  RunMaker run;
  EXPECT_TRUE(Offered(run, "checkpoint-activations", "memory/oom"));
  EXPECT_FALSE(Offered(run, "checkpoint-activations", "memory/host-alloc"));
}

TEST(Applicability, AKeptGraphIsDroppedByItem) {
  const auto ids = IdsOf(RunMaker("torch"), "graph-retained", {"memory/leak"});
  ASSERT_FALSE(ids.empty());
  EXPECT_EQ(ids.front(), "detach-loss");
  EXPECT_THAT(Offered(RunMaker("torch"), "detach-loss")->code, HasSubstr("loss.item()"));
}

TEST(Applicability, ATrainerZeroesItsGradientsItself) {
  EXPECT_TRUE(Offered(RunMaker("torch"), "zero-gradients"));
  EXPECT_FALSE(Offered(RunMaker("hf-trainer"), "zero-gradients"));
}

TEST(Applicability, AccumulationIsDividedByOnlyWhereThereIsSome) {
  RunMaker run("torch");
  run.Fact("accumulation", "1");
  EXPECT_FALSE(Offered(run, "scale-accumulation"));
  run.run.facts.back().value = "8";
  EXPECT_TRUE(Offered(run, "scale-accumulation"));
}

TEST(Applicability, EveryConditionOfARowHasCode) {
  const auto names = ConditionNames();
  for (const catalogue::RemedyRow& row : catalogue::Remedies()) {
    for (const std::string_view condition : row.when) EXPECT_THAT(names, Contains(condition)) << row.id;
  }
}

TEST(Applicability, TheAdviceOfAMessageThatMeansAnotherCauseIsNotGiven) {
  RunMaker run("torch");
  run.Found("memory/host-alloc", 100, 100);
  run.findings.back().signature = "log/host-alloc";
  const auto incidents = GroupIncidents(run.run, run.findings);
  for (const model::Remedy& fix : FixesOfMessages(incidents.front(), "graph-retained"))
    EXPECT_NE(catalogue::FindSignature(fix.id)->cause, "out-of-host-memory");
}

// ---- values

TEST(Proposals, ARateFarAboveTheOptimizersIsSetToIt) {
  RunMaker run("torch");
  run.Fact("optimizer", "adamw").Fact("lr", "3.0");
  EXPECT_EQ(Offered(run, "lower-lr")->proposed, "0.003");
  EXPECT_EQ(Offered(run, "lower-lr")->current, "3.0") << "as the user wrote it";
  EXPECT_THAT(Words(Offered(run, "lower-lr")->reason), HasSubstr("1000 times"));
  RunMaker within("torch");
  within.Fact("optimizer", "adamw").Fact("lr", "0.003");
  EXPECT_EQ(Offered(within, "lower-lr")->proposed, "0.001") << "a third, where it is not unusual";
  EXPECT_EQ(Offered(within, "lower-lr", "grad/explosion")->proposed, "0.0003") << "a tenth after an explosion";
}

TEST(Proposals, ARateFarBelowTheOptimizersIsSetToIt) {
  RunMaker run("torch");
  run.Fact("optimizer", "adam").Fact("lr", "3e-06");
  EXPECT_EQ(Offered(run, "raise-lr", "loss/not-decreasing")->proposed, "0.001");
  RunMaker sgd("torch");
  sgd.Fact("optimizer", "sgd").Fact("lr", "1e-06");
  EXPECT_EQ(Offered(sgd, "raise-lr", "loss/not-decreasing")->proposed, "0.01");
  RunMaker tuned("trl");
  tuned.Method("lora").Fact("lr", "1e-06");
  EXPECT_EQ(Offered(tuned, "raise-lr", "loss/not-decreasing")->proposed, "0.0001") << "what the method takes";
}

TEST(Proposals, TheClipLimitIsTheRunsOwnNorm) {
  RunMaker large("torch");
  large.Series("grad_norm", 200, [&](int) { return 40 * large.Factor(0.05); }).Fact("max_grad_norm", "0");
  const auto clip = Offered(large, "clip-gradients");
  ASSERT_TRUE(clip);
  EXPECT_NEAR(std::stod(clip->proposed), 40, 3);
  EXPECT_EQ(clip->current, "off");
  EXPECT_THAT(clip->code, HasSubstr("clip_grad_norm_(model.parameters(), "));
  RunMaker usual("torch");
  usual.Series("grad_norm", 200, [&](int) { return usual.HealthyNorm(); });
  EXPECT_EQ(Offered(usual, "clip-gradients")->proposed, "1.0");
  usual.Fact("max_grad_norm", "1.0");
  EXPECT_FALSE(Offered(usual, "clip-gradients")) << "it is clipped there already";
}

TEST(Proposals, ALimitThatIsTooLowIsRaisedToTheNorm) {
  RunMaker run("torch");
  run.Series("grad_norm", 200, [&](int) { return 3 * run.Factor(0.05); }).Fact("max_grad_norm", "0.001");
  EXPECT_NEAR(std::stod(Offered(run, "raise-clip", "loss/plateau")->proposed), 3, 0.3);
  RunMaker off("torch");
  off.Fact("max_grad_norm", "0");
  EXPECT_FALSE(Offered(off, "raise-clip", "loss/plateau")) << "nothing is clipped";
}

TEST(Proposals, HalvingTheBatchKeepsTheSamplesOfAStep) {
  RunMaker run;
  run.Fact("batch_size", "8").Fact("accumulation", "4");
  const auto remedy = Offered(run, "smaller-batch", "memory/oom");
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->proposed, "4");
  ASSERT_EQ(remedy->also.size(), 1U);
  EXPECT_EQ(remedy->also[0].setting, "gradient_accumulation_steps");
  EXPECT_EQ(remedy->also[0].proposed, "8");
  run.run.facts.front().value = "1";
  EXPECT_FALSE(Offered(run, "smaller-batch", "memory/oom")) << "there is nothing to halve";
}

TEST(Proposals, EpochsAreThoseOfTheUser) {
  RunMaker run("torch");
  run.CountedOn(model::Axis::kEpoch);
  run.Series("eval_loss", 60, [](int s) { return s < 21 ? 2.0 - 0.04 * s : 1.2 + 0.01 * s; });
  run.Series("epoch", 60, [](int s) { return s - 1; });
  const auto remedy = Offered(run, "fewer-epochs", "loss/overfit");
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->current, "60") << "epochs are counted from 0";
  EXPECT_EQ(remedy->proposed, "20");
}

TEST(Proposals, WithoutEpochsTheStepsAreCut) {
  RunMaker run("torch");
  run.Series("eval_loss", 600, [](int s) { return s < 201 ? 2.0 - 0.004 * s : 1.2 + 0.001 * s; }, 20);
  run.Fact("max_steps", "600");
  const auto remedy = Offered(run, "fewer-steps", "loss/overfit");
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->current, "600");
  EXPECT_EQ(remedy->proposed, "200");
}

TEST(Proposals, WhatIsFarFromUsualIsSetBack) {
  struct Case {
    std::string_view remedy, key, far, near, proposed;
  };
  for (const Case& one : {Case{"default-epsilon", "adam_epsilon", "0.01", "1e-8", "1e-08"},
                          Case{"default-betas", "adam_beta1", "0.999", "0.9", "0.9"},
                          Case{"default-momentum", "momentum", "0.999", "0.9", "0.9"},
                          Case{"less-dropout", "dropout", "0.95", "0.1", "0.1"},
                          Case{"less-smoothing", "label_smoothing", "0.9", "0.1", "0.1"},
                          Case{"plain-temperature", "temperature", "100", "1.0", "1.0"},
                          Case{"moderate-weight-decay", "weight_decay", "30", "0.05", "0.01"}}) {
    RunMaker run("torch");
    run.Fact("optimizer", "adam").Fact(one.key, one.far);
    ASSERT_TRUE(Offered(run, one.remedy)) << one.remedy;
    EXPECT_EQ(Offered(run, one.remedy)->proposed, one.proposed) << one.remedy;
    EXPECT_EQ(Offered(run, one.remedy)->current, one.far) << one.remedy;
    run.run.facts.back().value = one.near;
    EXPECT_FALSE(Offered(run, one.remedy)) << one.remedy;
  }
}

TEST(Proposals, OfReinforcementLearning) {
  RunMaker run("torch");
  run.Series("reward", 100, [](int) { return 0.0; }).Fact("entropy_coefficient", "1.0").Fact("discount", "1.05");
  EXPECT_EQ(Offered(run, "lower-entropy-bonus", "rl/reward-flat")->proposed, "0.01");
  EXPECT_EQ(Offered(run, "usual-discount", "rl/reward-flat")->proposed, "0.99");
  EXPECT_FALSE(Offered(run, "add-entropy-bonus", "rl/reward-flat")) << "it has one";
  RunMaker supervised("torch");
  supervised.Fact("entropy_coefficient", "1.0");
  EXPECT_FALSE(Offered(supervised, "lower-entropy-bonus")) << "no reward is logged";
}

TEST(Proposals, OfBatchesAndWorkers) {
  RunMaker run("torch");
  run.Fact("batch_size", "512").Fact("train_samples", "2048").Fact("data_workers", "2").Fact("sequence_length", "4096");
  EXPECT_EQ(Offered(run, "more-steps-per-epoch")->proposed, "128");
  EXPECT_EQ(Offered(run, "feed-faster", "throughput/data-starved")->proposed, "4");
  RunMaker noisy("hf-trainer");
  noisy.Fact("batch_size", "1");
  EXPECT_EQ(Offered(noisy, "more-accumulation")->proposed, "32");
}

// ---- the setting in everybody's words

TEST(SettingWords, EveryFrameworkHasItsOwnForTheRate) {
  struct Case {
    std::string framework, setting;
  };
  for (const Case& one : {Case{"hf-trainer", "learning_rate"}, Case{"axolotl", "learning_rate"},
                          Case{"torchtitan", "optimizer.lr"}, Case{"kempnerforge", "optimizer.lr"},
                          Case{"lightning", "lr"}, Case{"keras", "learning_rate"}, Case{"megatron", "--lr"}}) {
    RunMaker run(one.framework);
    run.Fact("lr", "1.0").Fact("optimizer", "adam");
    EXPECT_EQ(Offered(run, "lower-lr")->setting, one.setting) << one.framework;
  }
}

TEST(SettingWords, ALoopAroundDeepSpeedIsKnownByItsConfig) {
  RunMaker run("torch");
  run.run.facts.push_back({"batch_size", "8", "train_micro_batch_size_per_gpu", {}});
  run.Fact("lr", "1.0").Fact("optimizer", "adam");
  EXPECT_EQ(Offered(run, "lower-lr")->setting, "optimizer.params.lr");
  EXPECT_EQ(Offered(run, "lower-lr")->file, "ds_config.json");
}

TEST(SettingWords, TheUsersOwnNameAndFileComeFirst) {
  RunMaker run("axolotl");
  run.run.sources.push_back({"out/mine.yaml", "config-yaml", model::SourceState::kRead, {}});
  run.run.sources.back().is_config = true;
  run.run.facts.push_back({"lr", "0.9", "optimizer.lr", {1, 4}});
  const auto remedy = Offered(run, "lower-lr");
  EXPECT_EQ(remedy->setting, "optimizer.lr");
  EXPECT_EQ(remedy->file, "mine.yaml");
  EXPECT_EQ(remedy->current, "0.9");
}

TEST(SettingWords, Bf16SwitchesFp16Off) {
  RunMaker run("hf-trainer");
  run.Fact("fp16", "True");
  const auto remedy = Offered(run, "use-bf16", "numerics/loss-scale-collapse");
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->proposed, "True");
  ASSERT_EQ(remedy->also.size(), 1U);
  EXPECT_EQ(remedy->also[0].setting, "fp16");
  RunMaker keras("keras");
  EXPECT_EQ(Offered(keras, "use-bf16", "numerics/loss-scale-collapse")->proposed, "mixed_bfloat16");
}

TEST(SettingWords, EveryRemedyHasAReasonAndAnEffect) {
  const model::Diagnosis diagnosis = Exploding("hf-trainer", "sft", 2e-3).First();
  for (const model::Remedy& remedy : diagnosis.remedies) {
    EXPECT_FALSE(Words(remedy.reason).empty()) << remedy.id;
    EXPECT_FALSE(Words(remedy.effect).empty()) << remedy.id;
  }
}

}  // namespace
}  // namespace vigil::diagnose
