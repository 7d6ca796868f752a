// What files are, what they amount to, and the message for those that cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "plan_maker.h"
#include "preflight/nearest_key.h"

namespace vigil::preflight {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::string_view RoleOfText(const std::string& name, const std::string& text) {
  return RoleOf(
      configfile::Parse(name, text, configfile::NotationOf(name, text).value_or(configfile::Notation::kYaml)));
}

TEST(Role, IsKnownByTheNamesInTheFile) {
  EXPECT_EQ(RoleOfText("a.yaml", "base_model: x\nmicro_batch_size: 1\n"), "axolotl");
  EXPECT_EQ(RoleOfText("a.yaml", "model_name_or_path: x\nstage: sft\nlearning_rate: 0.1\n"), "llama-factory");
  EXPECT_EQ(RoleOfText("a.yaml", "num_generations: 8\nlearning_rate: 0.1\n"), "trl");
  EXPECT_EQ(RoleOfText("a.json", "{\"per_device_train_batch_size\": 8}"), "hf-trainer");
  EXPECT_EQ(RoleOfText("a.json", "{\"zero_optimization\": {\"stage\": 2}}"), "deepspeed");
  EXPECT_EQ(RoleOfText("a.yaml", "compute_environment: LOCAL_MACHINE\nnum_processes: 8\n"), "accelerate");
  EXPECT_EQ(RoleOfText("a.toml", "[job]\nx = 1\n[training]\nsteps = 5\n"), "torchtitan");
  EXPECT_EQ(RoleOfText("a.toml", "[train]\nmax_steps = 5\n[distributed]\ntp = 1\n"), "kempnerforge");
  EXPECT_EQ(RoleOfText("a.yaml", "seed_everything: 1\ntrainer:\n  max_epochs: 3\n"), "lightning");
  EXPECT_EQ(RoleOfText("config.json", "{\"model_type\": \"llama\", \"vocab_size\": 5}"), "model");
  EXPECT_EQ(RoleOfText("a.yaml", "name: something\nversion: 3\n"), "");
}

TEST(Plan, HasTheEffectiveBatchTokensAndWarmup) {
  const Texts texts = {{"a.yaml",
                        "base_model: x\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nsequence_len: 2048\n"
                        "max_steps: 1000\nwarmup_ratio: 0.1\nlearning_rate: 0.0002\nsave_steps: 250\nadapter: lora\n"}};
  EXPECT_EQ(ValueNamed(texts, "global_batch", {.ranks = 8}), 64);
  EXPECT_EQ(ValueNamed(texts, "tokens_per_step", {.ranks = 8}), 131072);
  EXPECT_EQ(ValueNamed(texts, "batch_of_a_rank"), 8);
  EXPECT_EQ(ValueNamed(texts, "steps"), 1000);
  EXPECT_EQ(ValueNamed(texts, "warmup_steps"), 100);
  EXPECT_EQ(ValueNamed(texts, "save_every"), 250);
  EXPECT_EQ(ValueNamed(texts, "peak_lr"), 0.0002);
}

TEST(Plan, RanksComeFromAccelerateALauncherOrLightning) {
  const std::string trainer = "per_device_train_batch_size: 2\nlearning_rate: 0.1\noutput_dir: o\n";
  EXPECT_EQ(
      ValueNamed({{"t.yaml", trainer}, {"acc.yaml", "compute_environment: X\nnum_processes: 4\n"}}, "global_batch"), 8);
  EXPECT_EQ(
      ValueNamed(
          {{"run.sh",
            "torchrun --nproc_per_node 4 --nnodes 2 t.py --per_device_train_batch_size 2 --learning_rate 1e-4\n"}},
          "global_batch"),
      16);
  EXPECT_EQ(
      ValueNamed({{"l.yaml", "trainer:\n  devices: 4\n  num_nodes: 2\ndata:\n  batch_size: 3\n"}}, "global_batch"), 24);
}

TEST(Plan, RanksThatShareOneModelDoNotAddToTheBatch) {
  const Texts texts = {{"t.toml",
                        "[job]\na = 1\n[training]\nlocal_batch_size = 2\nsteps = 10\nseq_len = 8\n"
                        "[parallelism]\ntensor_parallel_degree = 4\n"}};
  EXPECT_EQ(ValueNamed(texts, "global_batch", {.ranks = 16}), 8);
}

TEST(Plan, EachNumberNamesTheLinesItComesFrom) {
  const model::PlannedRun run =
      CheckTexts({{"a.yaml", "base_model: x\nmicro_batch_size: 2\n\ngradient_accumulation_steps: 4\n"}}, {.ranks = 2});
  const auto batch = std::find_if(run.values.begin(), run.values.end(),
                                  [](const model::DerivedValue& value) { return value.name == "global_batch"; });
  ASSERT_NE(batch, run.values.end());
  ASSERT_GE(batch->from.size(), 2U);
  EXPECT_EQ(batch->from[0].setting, "micro_batch_size");
  EXPECT_EQ(batch->from[0].line, 2U);
  EXPECT_EQ(batch->from[1].line, 4U);
}

TEST(NotChecked, TemplatesVariablesAndUnknownKeysAreNamedAndNotJudged) {
  const model::PlannedRun run = CheckTexts(
      {{"a.yaml", "base_model: x\nmicro_batch_size: 2\nlearning_rate: ${LR}\nweight_decay: {{ wd }}\nmy_field: 3\n"}});
  std::vector<std::pair<std::string, std::uint32_t>> said;
  for (const model::NotChecked& each : run.not_checked) said.emplace_back(each.says.id, each.line);
  EXPECT_THAT(said, Contains(std::pair<std::string, std::uint32_t>("configfile/variable", 3)));
  EXPECT_THAT(said, Contains(std::pair<std::string, std::uint32_t>("configfile/template", 4)));
  EXPECT_THAT(said, Contains(std::pair<std::string, std::uint32_t>("preflight/unknown-keys", 0)));
  EXPECT_THAT(run.breaches, IsEmpty());
}

TEST(Broken, ADamagedFileIsNamedWithItsPlaceAndTheRestIsChecked) {
  const auto found = Findings({{"a.yaml", "base_model: x\nmicro_batch_size: 2\nmax_grad_norm: 0\ndatasets: [a\n"}});
  std::vector<std::string> ids;
  for (const model::ConfigBreach& breach : found) ids.push_back(breach.finding.id);
  EXPECT_THAT(ids, ElementsAre("config/broken-file", "config/no-clipping"));
  EXPECT_GE(found[0].finding.evidence[0].line, 4U);
}

TEST(Settings, ASeverityOfTheUserCountsAndARuleCanBeSwitchedOff) {
  const auto thresholds = catalogue::Thresholds::Parse(
      "[\"config/no-clipping\"]\nseverity = \"error\"\n[\"config/no-eval\"]\nenabled = false\n", "mine.toml");
  ASSERT_TRUE(thresholds);
  const model::PlannedRun run = CheckTexts(
      {{"a.yaml", "base_model: x\nmicro_batch_size: 2\nmax_grad_norm: 0\nval_set_size: 0\n"}}, {}, *thresholds);
  ASSERT_EQ(run.breaches.size(), 1U);
  EXPECT_EQ(run.breaches[0].finding.severity, model::Severity::kError);
}

TEST(References, ArePathsOfConfigFilesOnly) {
  const auto file = configfile::Parse("a.yaml", "deepspeed: cfg/zero3.json\nfsdp_config: {}\nconfig_file: ${X}.yaml\n",
                                      configfile::Notation::kYaml);
  const auto references = ReferencesOf(file);
  ASSERT_EQ(references.size(), 1U);
  EXPECT_EQ(references[0].path, "cfg/zero3.json");
  EXPECT_EQ(references[0].line, 1U);
}

TEST(EditDistance, CountsLettersAndExchanges) {
  EXPECT_EQ(EditDistance("learning_rate", "learning_rate", 2), 0U);
  EXPECT_EQ(EditDistance("lerning_rate", "learning_rate", 2), 1U);
  EXPECT_EQ(EditDistance("learnign_rate", "learning_rate", 2), 1U);
  EXPECT_EQ(EditDistance("rate", "learning_rate", 2), 3U);
}

}  // namespace
}  // namespace vigil::preflight
