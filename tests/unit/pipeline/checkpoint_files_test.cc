// The checkpoints on disk: which steps they are of, and whether they are whole.
#include "pipeline/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch.h"

namespace vigil::pipeline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CheckpointFiles : public ScratchTest {
 protected:
  // An archive as torch.save writes it, as far as its first and its last bytes go.
  static std::string Zip() { return "PK\x03\x04" + std::string(100, 'x') + "PK\x05\x06" + std::string(18, '\0'); }
  // One tensor of 8 bytes.
  static std::string Safetensors(std::size_t tensor_bytes) {
    const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    return bytes + header + std::string(tensor_bytes, 'w');
  }
  void Trainer(int step, std::size_t tensor_bytes = 8) const {
    const std::string folder = "out/checkpoint-" + std::to_string(step) + "/";
    Write(folder + "trainer_state.json", "{}");
    Write(folder + "model.safetensors", Safetensors(tensor_bytes));
    Write(folder + "optimizer.pt", Zip());
    Write(folder + "scheduler.pt", Zip());
  }
  model::Run Found(const std::string& source) const {
    model::Run run;
    run.sources.push_back({Folder() + "/" + source, "log", model::SourceState::kRead, {}});
    FindCheckpoints(run);
    return run;
  }
};

TEST_F(CheckpointFiles, OfATrainerAreFoundInTheOrderOfTheirSteps) {
  Write("out/train.log", "x");
  Trainer(400);
  Trainer(90);
  const model::Run run = Found("out/train.log");
  ASSERT_EQ(run.checkpoints.size(), 2U);
  EXPECT_EQ(run.checkpoints[0].at.value(), 90);
  EXPECT_EQ(run.checkpoints[1].at.value(), 400);
  EXPECT_THAT(run.checkpoints[1].missing, IsEmpty());
}

TEST_F(CheckpointFiles, AFileInsideOfOneLeadsToTheOthers) {
  Trainer(100);
  Trainer(200);
  EXPECT_EQ(Found("out/checkpoint-200/trainer_state.json").checkpoints.size(), 2U);
}

TEST_F(CheckpointFiles, WithoutTheOptimizerOneIsNotWhole) {
  Trainer(100);
  std::filesystem::remove(folder_ / "out/checkpoint-100/optimizer.pt");
  EXPECT_THAT(Found("out/train.log").checkpoints.at(0).missing, ElementsAre("optimizer.pt"));
}

TEST_F(CheckpointFiles, ACopyWithoutWeightsSaysSo) {
  Write("out/checkpoint-100/trainer_state.json", "{}");
  EXPECT_THAT(Found("out/train.log").checkpoints.at(0).missing, Contains(std::string(model::kNoWeights)));
}

TEST_F(CheckpointFiles, WeightsThatWereCutAreSeen) {
  Trainer(100, 5);
  EXPECT_THAT(Found("out/train.log").checkpoints.at(0).missing, ElementsAre("the end of model.safetensors"));
}

TEST_F(CheckpointFiles, AnArchiveThatWasCutIsSeen) {
  Write("logs/metrics.csv", "x");
  Write("logs/checkpoints/epoch=1-step=200.ckpt", Zip());
  Write("logs/checkpoints/epoch=2-step=300.ckpt", Zip().substr(0, 60));
  Write("logs/checkpoints/epoch=3-step=400.ckpt", "");
  const model::Run run = Found("logs/metrics.csv");
  ASSERT_EQ(run.checkpoints.size(), 3U);
  EXPECT_EQ(run.checkpoints[0].at.value(), 200);
  EXPECT_THAT(run.checkpoints[0].missing, IsEmpty());
  EXPECT_THAT(run.checkpoints[1].missing, ElementsAre("its end"));
  EXPECT_THAT(run.checkpoints[2].missing, ElementsAre("its end"));
}

TEST_F(CheckpointFiles, DistributedOnesNeedTheirMetadata) {
  Write("job/train.log", "x");
  Write("job/checkpoint/step-500/__0_0.distcp", "data");
  Write("job/checkpoint/step-500/.metadata", "m");
  Write("job/checkpoint/step-1000/__0_0.distcp", "data");
  const model::Run run = Found("job/train.log");
  ASSERT_EQ(run.checkpoints.size(), 2U);
  EXPECT_THAT(run.checkpoints[0].missing, IsEmpty());
  EXPECT_THAT(run.checkpoints[1].missing, ElementsAre(".metadata"));
}

TEST_F(CheckpointFiles, OtherFilesAndFoldersAreNone) {
  Write("out/train.log", "x");
  Write("out/step_1_notes.txt", "x");
  Write("out/step-3/readme.txt", "x");
  Write("out/model.pt", Zip());
  EXPECT_THAT(Found("out/train.log").checkpoints, IsEmpty());
}

TEST_F(CheckpointFiles, WhatIsNotOnDiskHasNone) {
  model::Run run;
  run.sources.push_back({"-", "log", model::SourceState::kRead, {}});
  run.sources.push_back({Folder() + "/no/such.tar/inner.log", "log", model::SourceState::kRead, {}});
  FindCheckpoints(run);
  EXPECT_THAT(run.checkpoints, IsEmpty());
}

}  // namespace
}  // namespace vigil::pipeline
