// A face is short and says first what it is for; no file grows past what one person reads in a sitting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tree.h"

namespace vigil::structure {
namespace {

constexpr std::ptrdiff_t kLongestFace = 300;
constexpr std::ptrdiff_t kLongestWithOtherFaces = 700;
constexpr std::ptrdiff_t kLongestSource = 600;

std::ptrdiff_t LinesOf(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

std::string ReadHeader(const std::string& header) { return ReadText(InTree("src/" + header)); }

TEST(Faces, OpenWithTheirPurpose) {
  for (const Module& module : ReadLayers().modules) {
    for (const std::string& face : module.faces) {
      EXPECT_TRUE(ReadHeader(face).starts_with(OpeningOf(face))) << face << " must open with " << OpeningOf(face);
    }
  }
}

// Moving half of a face into a header that it includes does not make it shorter to read.
TEST(Faces, AreShortWithWhatTheyReExport) {
  for (const Module& module : ReadLayers().modules) {
    for (const std::string& face : module.faces) {
      EXPECT_LE(LinesReExported(face, module.faces, ReadHeader), kLongestFace) << face;
      // Other faces that it includes are read by themselves, but come with it all the same.
      EXPECT_LE(LinesReExported(face, {}, ReadHeader), kLongestWithOtherFaces) << face << " with the faces it includes";
    }
  }
}

TEST(FacesCheck, CountsOwnHeadersOnceOverAnyNumberOfIncludesAndNobodyElses) {
  const std::map<std::string, std::string> headers = {
      {"model/model.h",
       "// model: x\n#include \"model/run.h\"\n#include \"model/finding.h\"\n#include \"base/base.h\"\n"},
      {"model/run.h", "#include \"model/position.h\"\n\n"},
      {"model/finding.h", "#include \"model/position.h\"\n#include \"model/model.h\"\n#include <map>\n"},
      {"model/position.h", "\n\n\n\n\n"},
  };
  const auto read = [&](const std::string& header) { return headers.at(header); };
  EXPECT_EQ(LinesReExported("model/position.h", {}, read), 5);
  EXPECT_EQ(LinesReExported("model/run.h", {}, read), 2 + 5);
  EXPECT_EQ(LinesReExported("model/model.h", {}, read), 4 + 2 + 3 + 5);
}

TEST(FacesCheck, DoesNotCountWhatIsAFaceItself) {
  const std::map<std::string, std::string> headers = {
      {"model/run.h", "#include \"model/position.h\"\n#include \"model/columns.h\"\n"},
      {"model/position.h", "\n\n\n\n\n"},
      {"model/columns.h", "\n\n\n"},
  };
  const auto read = [&](const std::string& header) { return headers.at(header); };
  EXPECT_EQ(LinesReExported("model/run.h", {"model/run.h", "model/position.h"}, read), 2 + 3);
}

// A header that only includes others hides which of them a file needs.
TEST(Faces, DeclareSomethingThemselves) {
  for (const Module& module : ReadLayers().modules) {
    for (const std::string& face : module.faces)
      EXPECT_THAT(ReadHeader(face), testing::HasSubstr("namespace ")) << face;
  }
}

TEST(FacesCheck, WantsTheNameOfTheFaceInItsOpening) {
  EXPECT_EQ(OpeningOf("model/model.h"), "// model: ");
  EXPECT_EQ(OpeningOf("model/run.h"), "// model/run: ");
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
