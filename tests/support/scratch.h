// A folder of a test's own, and the fixtures that are kept compressed.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "codec/codec.h"
#include "support/paths.h"

namespace vigil {

inline std::string BytesOf(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Expands all of `packed`; what is damaged ends it.
inline std::string Expanded(std::string_view packed) {
  std::string out;
  std::string block(std::size_t{64} << 10U, '\0');
  const auto expander = codec::Decompressor::ForContent(packed);
  if (expander == nullptr) return out;
  for (;;) {
    const auto step = expander->Continue(packed, block.data(), block.size());
    packed.remove_prefix(step.taken);
    out.append(block, 0, step.made);
    if (step.state == codec::Decompressor::State::kDamaged || (step.made == 0 && packed.empty())) return out;
  }
}

inline std::string Fixture(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(testing_support::kSourceDir) / "tests/fixtures/sources" / name;
  const std::string bytes = BytesOf(path);
  return name.ends_with(".gz") ? Expanded(bytes) : bytes;
}

class ScratchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "vigil_scratch_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  std::string Folder() const { return folder_; }

  std::filesystem::path folder_;
};

}  // namespace vigil
