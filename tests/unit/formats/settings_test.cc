#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/says.h"
#include "formats/formats.h"
#include "hyperparams/hyperparams.h"
#include "identify/identify.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support/scratch.h"
#include "support/why.h"

namespace vigil::formats {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ingest::Reading<model::Run> ReadAs(const std::string& name, std::string_view text) {
  const ingest::Format* const format = Recognise({name, text, text.size()});
  if (format == nullptr) return Fail(ErrorCode::kNoData, "not recognised");
  return ingest::ReadBytes(name, text, *format);
}

std::string FactOf(const Result<model::Run>& run, std::string_view key) {
  if (!run) return "none: " + run.error().Text();
  const model::Fact* const fact = run->FindFact(key);
  return fact == nullptr ? "none" : fact->value;
}

constexpr std::string_view kAxolotl = R"(base_model: acme/tiny
datasets:
  - path: acme/data
    type: alpaca
sequence_len: 2048
adapter: lora
lora_r: 16
gradient_accumulation_steps: 4
micro_batch_size: 2
num_epochs: 3
learning_rate: 0.0002
bf16: auto
warmup_steps: 10
special_tokens:
  pad_token: "<pad>"
)";

TEST(Settings, OfAxolotl) {
  const auto run = ReadAs("config.yaml", kAxolotl);
  EXPECT_EQ(FactOf(run, "lr"), "0.0002");
  EXPECT_EQ(FactOf(run, "batch_size"), "2");
  EXPECT_EQ(FactOf(run, "accumulation"), "4");
  EXPECT_EQ(FactOf(run, "adapter"), "lora");
  EXPECT_EQ(FactOf(run, "bf16"), "none") << "auto leaves it to the framework";
  EXPECT_EQ(FactOf(run, "sequence_length"), "2048");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->framework, "axolotl");
  EXPECT_EQ(run->FindFact("lr")->place.line, 11U);
}

TEST(Settings, OfTorchtitan) {
  const auto run = ReadAs("train.toml", R"([metrics]
log_freq = 5
[optimizer]
name = "AdamW"
lr = 8e-4
[lr_scheduler]
warmup_steps = 200
decay_type = "linear"
[training]
local_batch_size = 8
max_norm = 1.0
steps = 1000
[validation]
steps = 10
)");
  EXPECT_EQ(FactOf(run, "lr"), "0.0008");
  EXPECT_EQ(FactOf(run, "max_steps"), "1000");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "1");
  EXPECT_EQ(FactOf(run, "warmup_steps"), "200");
  EXPECT_EQ(FactOf(run, "logging_steps"), "5");
  EXPECT_EQ(FactOf(run, "lr_schedule"), "linear");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->framework, "torchtitan");
}

TEST(Settings, OfKempnerForge) {
  const auto run = ReadAs("7b.toml", R"([model]
vocab_size = 32000
[train]
batch_size = 8
max_steps = 100000
grad_accum_steps = 4
grad_clip_norm = 1.0
[optimizer]
lr = 3e-4
betas = [0.9, 0.95]
[scheduler]
name = "cosine"
warmup_steps = 2000
[distributed]
dp_shard = -1
)");
  EXPECT_EQ(FactOf(run, "vocab_size"), "32000");
  EXPECT_EQ(FactOf(run, "accumulation"), "4");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "1");
  EXPECT_EQ(FactOf(run, "lr_schedule"), "cosine");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->framework, "kempnerforge");
}

TEST(Settings, OfDeepSpeed) {
  const auto run =
      ReadAs("ds_config.json", R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": "auto",
    "gradient_clipping": 1.0, "fp16": {"enabled": true, "loss_scale": 0},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "weight_decay": 0.1}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 100}},
    "zero_optimization": {"stage": 2}})");
  EXPECT_EQ(FactOf(run, "lr"), "0.0001");
  EXPECT_EQ(FactOf(run, "fp16"), "true");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "1");
  EXPECT_EQ(FactOf(run, "warmup_steps"), "100");
  EXPECT_EQ(FactOf(run, "accumulation"), "none");
  EXPECT_EQ(FactOf(run, "training_stage"), "none") << "the stage of ZeRO is another";
}

TEST(Settings, InOneLineAreNoRowOfMetrics) {
  constexpr std::string_view kLine = R"({"learning_rate": 0.0001, "max_steps": 400, "per_device_train_batch_size": 4})";
  EXPECT_EQ(Recognise({"config.json", kLine, kLine.size()})->id, "config-json");
  constexpr std::string_view kTwo = R"({"learning_rate": 0.0001, "max_steps": 400})";
  EXPECT_EQ(Recognise({"hyper.json", kTwo, kTwo.size()})->id, "config-json");
  constexpr std::string_view kOne = R"({"learning_rate": 0.0001, "team": "blue"})";
  EXPECT_EQ(Recognise({"run/train_config.json", kOne, kOne.size()})->id, "config-json");
  constexpr std::string_view kRow =
      R"({"step": 1, "loss": 2.5, "learning_rate": 0.1, "max_steps": 9, "weight_decay": 0})";
  EXPECT_EQ(Recognise({"log.json", kRow, kRow.size()})->id, "jsonl");
}

TEST(Settings, OfHydraAndNemo) {
  const auto run = ReadAs("config.yaml", R"(trainer:
  max_steps: 10000
  gradient_clip_val: 1.0
  accumulate_grad_batches: 2
  precision: bf16-mixed
model:
  optim:
    name: adamw
    lr: 0.0003
    sched:
      warmup_steps: 100
  vocab_size: 32000
data:
  batch_size: 4
  seq_length: 2048
)");
  EXPECT_EQ(FactOf(run, "max_steps"), "10000");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "1.0");
  EXPECT_EQ(FactOf(run, "accumulation"), "2");
  EXPECT_EQ(FactOf(run, "precision"), "bf16-mixed");
  EXPECT_EQ(FactOf(run, "lr"), "0.0003");
  EXPECT_EQ(FactOf(run, "warmup_steps"), "100");
  EXPECT_EQ(FactOf(run, "optimizer"), "adamw");
  EXPECT_EQ(FactOf(run, "vocab_size"), "32000");
  EXPECT_EQ(FactOf(run, "batch_size"), "4");
  EXPECT_EQ(FactOf(run, "sequence_length"), "2048");
}

TEST(Settings, OfLlamaFactory) {
  const auto run = ReadAs("train.yaml", R"(### model
model_name_or_path: acme/tiny
### method
stage: dpo
finetuning_type: lora
lora_rank: 8
cutoff_len: 2048
### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 5.0e-6
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
resume_from_checkpoint: null
)");
  EXPECT_EQ(FactOf(run, "training_stage"), "dpo");
  EXPECT_EQ(FactOf(run, "adapter"), "lora");
  EXPECT_EQ(FactOf(run, "sequence_length"), "2048");
  EXPECT_EQ(FactOf(run, "warmup_ratio"), "0.1");
  EXPECT_EQ(FactOf(run, "bf16"), "true");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->framework, "llama-factory");
}

TEST(Settings, OfAModelSayWhatItIs) {
  const auto run = ReadAs("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 32000, "hidden_size": 512, "attention_dropout": 0.1, "transformers_version": "5.2.0"})");
  EXPECT_EQ(FactOf(run, "architectures"), "LlamaForCausalLM");
  EXPECT_EQ(FactOf(run, "vocab_size"), "32000");
  EXPECT_EQ(FactOf(run, "framework_version"), "5.2.0");
}

TEST(Settings, OfLightning) {
  const auto run = ReadAs("hparams.yaml", Fixture("configs/hparams.yaml"));
  EXPECT_EQ(FactOf(run, "lr"), "0.001");
  EXPECT_EQ(FactOf(run, "weight_decay"), "0.01");
  EXPECT_EQ(FactOf(run, "epochs"), "3");
}

TEST(Settings, OfWandb) {
  const auto config = ReadAs("files/config.yaml", R"(_wandb:
    value:
        cli_version: 0.28.0
        learning_rate: 99
learning_rate:
    desc: null
    value: 0.0003
max_steps:
    value: 12
)");
  EXPECT_EQ(FactOf(config, "lr"), "0.0003");
  EXPECT_EQ(FactOf(config, "max_steps"), "12");
  const auto launch = ReadAs("wandb-metadata.json", R"({"os": "Linux", "program": "train.py",
    "args": ["--learning_rate", "1e-5", "--bf16", "--max_steps=500", "--warmup_steps", "20"]})");
  EXPECT_EQ(FactOf(launch, "lr"), "1e-5");
  EXPECT_EQ(FactOf(launch, "bf16"), "true");
  EXPECT_EQ(FactOf(launch, "max_steps"), "500");
}

TEST(Settings, OfVerlAreTheActorsNotTheCritics) {
  const auto run = ReadAs("config.yaml", R"(actor_rollout_ref:
  actor:
    optim:
      lr: 1e-6
    grad_clip: 1.0
critic:
  optim:
    lr: 1e-5
trainer:
  total_training_steps: 300
)");
  EXPECT_EQ(FactOf(run, "lr"), "1e-6");
  EXPECT_EQ(FactOf(run, "max_steps"), "300");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "1.0");
}

TEST(Settings, OfTransformersFromAPickle) {
  const auto run = ReadAs("training_args.bin", Fixture("configs/training_args.bin"));
  EXPECT_EQ(FactOf(run, "lr"), "0.0003");
  EXPECT_EQ(FactOf(run, "warmup_steps"), "50");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "0.5");
  EXPECT_EQ(FactOf(run, "batch_size"), "4");
  EXPECT_EQ(FactOf(run, "accumulation"), "8");
  EXPECT_EQ(FactOf(run, "max_steps"), "1200");
  EXPECT_EQ(FactOf(run, "lr_schedule"), "cosine");
  EXPECT_EQ(FactOf(run, "fp16"), "false");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->framework, "hf-trainer");
}

TEST(Settings, OfTrlFromAPickle) {
  const auto run = ReadAs("training_args.bin", Fixture("configs/grpo_training_args.bin"));
  EXPECT_EQ(FactOf(run, "lr"), "1e-06");
  EXPECT_EQ(FactOf(run, "kl_coefficient"), "0.04");
  EXPECT_EQ(FactOf(run, "num_generations"), "8");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->framework, "trl");
}

TEST(Settings, OfOldTorchFromPicklesInARow) {
  const auto run = ReadAs("args.pt", Fixture("configs/old_args.pt"));
  EXPECT_EQ(FactOf(run, "lr"), "0.0003");
  EXPECT_EQ(FactOf(run, "weight_decay"), "0.1");
}

TEST(Settings, APickleThatCallsAProgramIsNamedAndNotBelieved) {
  using namespace std::string_literals;
  const std::string bytes =
      "\x80\x02}(X\x02\0\0\0lrG?PbM\xd2\xf1\xa9\xfcX\x01\0\0\0xcposix\nsystem\n(X\x02\0\0\0idtRu."s;
  const auto run = ReadAs("training_args.bin", bytes);
  ASSERT_FALSE(run);
  EXPECT_THAT(WhyNot(run.error()), HasSubstr("posix.system"));
}

TEST(Settings, ReadAPickleCutAnywhere) {
  const std::string sound = Fixture("configs/training_args.bin");
  for (std::size_t size = 0; size < sound.size(); size += 7)
    static_cast<void>(ReadAs("training_args.bin", std::string_view(sound).substr(0, size)));
}

TEST(Settings, AliasesOfYamlDoNotGrow) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\nlearning_rate: 0.1\nmax_steps: 5\n";
  for (char c = 'b'; c < 'z'; ++c)
    bomb +=
        fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c, static_cast<char>(c - 1));
  EXPECT_EQ(FactOf(ReadAs("config.yaml", bomb), "lr"), "0.1");
}

TEST(Settings, DeepNestingIsRefused) {
  for (const std::string& text :
       {std::string(100000, '['), std::string(100000, '{'), "a: " + std::string(50000, '[')}) {
    model::Statement damage;
    EXPECT_THAT(hyperparams::YamlHyperparameters(text, &damage), IsEmpty());
    EXPECT_FALSE(damage.empty());
    EXPECT_THAT(hyperparams::TomlHyperparameters("a = " + text, &damage), IsEmpty());
    EXPECT_THAT(hyperparams::JsonHyperparameters(text, &damage), IsEmpty());
  }
  std::string blocks;
  for (int i = 0; i < 5000; ++i) blocks += "- ";
  model::Statement damage;
  hyperparams::YamlHyperparameters(blocks + "x", &damage);
  EXPECT_EQ(damage.id, "damage/deeper-than-configuration");
}

TEST(Settings, AreReadUpToTheDamage) {
  model::Statement damage;
  const auto settings =
      hyperparams::YamlHyperparameters("learning_rate: 0.1\nmax_steps: 5\nbroken: [1, 2\nmore: }\n", &damage);
  EXPECT_THAT(settings, SizeIs(testing::Ge(2U)));
  EXPECT_EQ(damage.id, "damage/error-in-line");
}

TEST(Settings, AreNotSeenInOtherText) {
  EXPECT_FALSE(ReadAs("docker-compose.yaml", "services:\n  web:\n    image: nginx\n"));
  EXPECT_FALSE(ReadAs("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n"));
}

TEST(Settings, KnowTheirKeyBelowSectionsOfTheTraining) {
  EXPECT_THAT(hyperparams::KeyOfHyperparameter("optimizer.params.lr"), Eq("lr"));
  EXPECT_THAT(hyperparams::KeyOfHyperparameter("critic.optim.lr"), Eq(""));
  EXPECT_THAT(hyperparams::KeyOfHyperparameter("model.dropout"), Eq("dropout"));
  EXPECT_THAT(hyperparams::KeyOfHyperparameter("model.hidden_activation"), Eq(""));
}

class SettingsFiles : public ScratchTest {};

TEST_F(SettingsFiles, BelongToTheRunInWhoseFolderTheyStand) {
  Write("run/metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n");
  Write("run/.hydra/config.yaml", "optimizer:\n  lr: 0.003\ntrainer:\n  max_steps: 77\n");
  Write("run/training_args.bin", Fixture("configs/training_args.bin"));
  const pipeline::Imported imported = pipeline::ImportPaths({Folder()});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].FactNumber("lr"), 0.003);
  EXPECT_EQ(imported.runs[0].FactNumber("warmup_steps"), 50);
  EXPECT_EQ(imported.runs[0].sources.size(), 3U);
}

std::string MessageOf(const model::Statement& damage) {
  const model::Argument* message = damage.Find("message");
  return message == nullptr ? std::string() : std::get<model::Identifier>(message->value).text;
}

// The library takes for granted what it should check: without a check of ours it would be undefined what happens.
TEST(Settings, OfTomlWithATableThatHasNoNameAreNamedAndLeft) {
  for (const std::string& header : {std::string("[=x]"), std::string("[\x01\0x]", 5), std::string("[[[a]]]"),
                                    std::string("[\xC3\xA9]"), std::string("[.a]"), std::string("[{]")}) {
    model::Statement damage;
    EXPECT_THAT(hyperparams::TomlHyperparameters("a = 1\n" + header + "\nb = 2\n", &damage), SizeIs(1)) << header;
    EXPECT_TRUE(model::SameStatement(damage, says::DamageErrorInLine{.line = 2, .message = MessageOf(damage)}))
        << header;
  }
}

TEST(Settings, OfTomlWithListsAndLongStringsAreRead) {
  model::Statement damage;
  const auto settings = hyperparams::TomlHyperparameters(
      "[training]\nlr = 1e-3\nlists = [\n  [1, 2],\n  [{a = 1}],\n]\ntext = \"\"\"\n[=x]\n\"\"\"\n# "
      "[=]\n[[more]]\nsteps = 5\n",
      &damage);
  EXPECT_TRUE(damage.empty());
  EXPECT_FALSE(settings.empty());
}

TEST(Settings, DistinguishAnAdapterFromTheRankThatItWouldHave) {
  auto run = ReadAs("train.yaml",
                    "model_name_or_path: meta/x\nstage: sft\nlora_rank: 8\nfinetuning_type: full\n"
                    "per_device_train_batch_size: 1\nlearning_rate: 1.0e-5\nbf16: true\n");
  EXPECT_EQ(FactOf(run, "adapter"), "full");
  EXPECT_EQ(FactOf(run, "lora_rank"), "8");
  ASSERT_TRUE(run);
  identify::Classify(*run);
  EXPECT_EQ(run->method.name, "sft");
}

TEST(Settings, OfDeepSpeedGiveTheBatchOfAllProcesses) {
  const auto run = ReadAs("ds_config.json",
                          R"({"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4,
                              "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 3}})");
  EXPECT_EQ(FactOf(run, "global_batch_size"), "512");
  EXPECT_EQ(FactOf(run, "batch_size"), "4");
}

TEST(Settings, OfLightningAreThoseOfTrainerModelAndData) {
  const auto run = ReadAs("config.yaml",
                          "seed_everything: 42\ntrainer:\n  max_steps: 1000\n  precision: bf16-mixed\n"
                          "  gradient_clip_val: 1.0\n  accumulate_grad_batches: 4\n  devices: 8\n  num_nodes: 2\n"
                          "model:\n  class_path: M\n  init_args:\n    learning_rate: 0.001\n    weight_decay: 0.01\n"
                          "data:\n  init_args:\n    batch_size: 32\n");
  EXPECT_EQ(FactOf(run, "lr"), "0.001");
  EXPECT_EQ(FactOf(run, "weight_decay"), "0.01");
  EXPECT_EQ(FactOf(run, "batch_size"), "32");
  EXPECT_EQ(FactOf(run, "world_size"), "16");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "1.0");
}

TEST(Settings, OfTrlCallTheLengthOfSamplesTheirMaximum) {
  EXPECT_EQ(FactOf(ReadAs("sft.yaml",
                          "learning_rate: 1e-5\nper_device_train_batch_size: 4\nmax_length: 4096\n"
                          "max_steps: 100\n"),
                   "sequence_length"),
            "4096");
  EXPECT_EQ(FactOf(ReadAs("sft.yaml",
                          "learning_rate: 1e-5\nper_device_train_batch_size: 4\nmax_length: 20\n"
                          "max_steps: 100\n"),
                   "sequence_length"),
            "none");
}

}  // namespace
}  // namespace vigil::formats
