// A face is short and says first what it is for; no file grows past what one person reads in a sitting.
#include <gtest/gtest.h>

#include <algorithm>

#include "tree.h"

namespace vigil::structure {
namespace {

constexpr std::ptrdiff_t kLongestFace = 300;
constexpr std::ptrdiff_t kLongestSource = 600;

std::ptrdiff_t LinesOf(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Faces, OpenWithTheirPurpose) {
  for (const Module& module : ReadLayers().modules) {
    const std::string face = ReadText(InTree("src/" + module.name + "/" + module.name + ".h"));
    EXPECT_TRUE(face.starts_with("// " + module.name + ": ")) << module.name;
  }
}

TEST(Faces, AreShort) {
  for (const Module& module : ReadLayers().modules) {
    const std::string face = ReadText(InTree("src/" + module.name + "/" + module.name + ".h"));
    EXPECT_LE(LinesOf(face), kLongestFace) << module.name;
  }
}

TEST(Sources, AreReadableInOneSitting) {
  for (const char* folder : {"src", "apps", "tests", "fuzz", "bench", "tools"}) {
    for (const auto& file : FilesBelow(folder, {".cc", ".h", ".py"})) {
      EXPECT_LE(LinesOf(ReadText(InTree(file))), kLongestSource) << file;
    }
  }
}

}  // namespace
}  // namespace vigil::structure
