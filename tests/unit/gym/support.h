// Small models and folders for the tests of the gym.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gym/data.h"
#include "gym/gym.h"
#include "gym/model.h"

namespace vigil::gym {

// A model that trains in a moment.
inline Options SmallOptions() {
  Options options;
  options.shape = {2, 32, 2, 16, 0};
  options.batch = 4;
  options.steps = 12;
  options.threads = 1;
  options.ranks = 1;
  options.eval_every = 5;
  options.stats_every = 4;
  options.timeout_s = 20;
  return options;
}

// An empty folder of the test that runs, removed at its end.
class Folder {
 public:
  Folder() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() / (std::string("vigil_gym_") + test->test_suite_name() + "_" +
                                                      test->name() + "_" + std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What must be equal when two runs are the same run: weights and moments.
inline std::string StateOf(const std::string& run, std::int64_t step) {
  const std::string folder = run + "/checkpoint-" + std::to_string(step);
  return ReadText(folder + "/model.safetensors") + ReadText(folder + "/optimizer.safetensors");
}

inline Batch RandomBatch(const ModelShape& shape, std::size_t samples, std::uint64_t seed) {
  Random random(seed);
  Batch batch;
  for (std::size_t i = 0; i < samples * static_cast<std::size_t>(shape.context); ++i) {
    batch.inputs.push_back(static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(shape.vocabulary))));
    batch.targets.push_back(static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(shape.vocabulary))));
  }
  batch.weights.assign(samples, 1.0F);
  return batch;
}

}  // namespace vigil::gym
