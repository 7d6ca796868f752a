// The table of layers holds for every include in the tree, and the tests themselves see a wrong include.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "base/base.h"
#include "tree.h"

namespace vigil::structure {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kSample = R"(
[system]
headers = ["unistd.h", "sys/"]
modules = ["platform"]
[module.base]
purpose = "ground"
uses = []
[module.platform]
purpose = "system"
faces = ["files.h", "clock.h"]
uses = ["base"]
[module.detect]
purpose = "detectors"
uses = ["base"]
[module.report]
purpose = "words"
uses = ["base", "detect"]
)";

std::vector<std::string> OffencesInSample(const std::string& file, std::string_view source) {
  return Offences(ParseLayers(kSample), file, source);
}

TEST(Layers, EveryIncludeFollowsTheTable) {
  const Layers layers = ReadLayers();
  ASSERT_FALSE(layers.modules.empty());
  std::size_t seen = 0;
  for (const char* folder : {"src", "apps"}) {
    for (const auto& file : FilesBelow(folder, {".cc", ".h"})) {
      ++seen;
      EXPECT_THAT(Offences(layers, file, ReadText(InTree(file))), IsEmpty());
    }
  }
  EXPECT_GT(seen, 10U);
}

TEST(Layers, TheTableHasNoRingsAndNamesOnlyModulesAboveTheUser) { EXPECT_THAT(Offences(ReadLayers()), IsEmpty()); }

TEST(Layers, EveryModuleIsAFolderWithAFace) {
  for (const Module& module : ReadLayers().modules) {
    for (const std::string& face : module.faces) EXPECT_TRUE(std::filesystem::exists(InTree("src/" + face))) << face;
  }
}

TEST(Layers, TheBuildLinksExactlyWhatTheTableAllows) {
  const std::string build = ReadText(InTree("src/CMakeLists.txt"));
  const std::regex call(R"(vigil_module\((\w+)(?: USES ([a-z ]*?))?(?: LINKS [^)]*)?\))");
  std::vector<std::string> linked;
  for (std::sregex_iterator at(build.begin(), build.end(), call), end; at != end; ++at) {
    linked.push_back(fmt::format("{}: {}", (*at)[1].str(), Trim((*at)[2].str())));
  }
  std::vector<std::string> allowed;
  for (const Module& module : ReadLayers().modules) {
    allowed.push_back(fmt::format("{}: {}", module.name, Join(module.uses, " ")));
  }
  EXPECT_THAT(linked, testing::UnorderedElementsAreArray(allowed));
}

TEST(Layers, TheGeneratedDiagramOfArchitectureIsThatOfTheTable) {
  const auto path = InTree("ARCHITECTURE.md");
  const std::string document = ReadText(path);
  const std::string expected = ReplaceGenerated(document, "modules", Diagram(ReadLayers()));
  ASSERT_FALSE(expected.empty()) << "ARCHITECTURE.md has lost its markers: <!-- begin modules ... <!-- end modules -->";
  if (Rewriting()) std::ofstream(path, std::ios::binary) << expected;
  EXPECT_EQ(ReadText(path), expected) << "`make golden` rewrites it";
}

TEST(LayersCheck, AllowsOwnHeadersAndFacesOfTheLayersBelow) {
  EXPECT_THAT(OffencesInSample("src/report/a.cc", "#include \"report/text/a.h\"\n#include \"detect/detect.h\"\n"),
              IsEmpty());
  EXPECT_THAT(OffencesInSample("apps/vigil/main.cc", "#include \"report/report.h\"\n#include <unistd.h>\n"), IsEmpty());
  EXPECT_THAT(OffencesInSample("src/platform/files.cc", "#include <sys/stat.h>\n"), IsEmpty());
}

TEST(LayersCheck, SeesAnEdgeThatIsNotInTheTable) {
  EXPECT_THAT(OffencesInSample("src/detect/a.cc", "\n#include \"report/report.h\"\n"),
              ElementsAre(HasSubstr("src/detect/a.cc:2: include of report/report.h is an edge detect -> report")));
}

TEST(LayersCheck, SeesAReachBehindAFace) {
  EXPECT_THAT(OffencesInSample("src/report/a.cc", "#  include \"detect/spike.h\"\n"),
              ElementsAre(HasSubstr("behind the face of detect")));
  EXPECT_THAT(OffencesInSample("apps/vigil/main.cc", "#include \"detect/spike.h\"\n"),
              ElementsAre(HasSubstr("behind the face of detect")));
}

TEST(LayersCheck, AcceptsEveryFaceOfAModuleWithSeveralAndNoOther) {
  EXPECT_THAT(OffencesInSample("apps/vigil/main.cc", "#include \"platform/files.h\"\n#include \"platform/clock.h\"\n"),
              IsEmpty());
  EXPECT_THAT(OffencesInSample("apps/vigil/main.cc", "#include \"platform/platform.h\"\n"),
              ElementsAre(HasSubstr("behind the face of platform; include platform/files.h, platform/clock.h")));
}

TEST(LayersCheck, SeesAnIncludeThatHidesItsModule) {
  EXPECT_THAT(OffencesInSample("src/report/a.cc", "#include \"a.h\"\n"), ElementsAre(HasSubstr("no path from src/")));
  EXPECT_THAT(OffencesInSample("src/report/a.cc", "#include \"../detect/detect.h\"\n"),
              ElementsAre(HasSubstr("no path from src/")));
}

TEST(LayersCheck, SeesASystemHeaderOutsidePlatform) {
  EXPECT_THAT(OffencesInSample("src/detect/a.cc", "#include <sys/stat.h>\n"),
              ElementsAre(HasSubstr("is for platform alone")));
}

TEST(LayersCheck, SeesAModuleThatIsNotInTheTable) {
  EXPECT_THAT(OffencesInSample("src/stray/a.cc", ""), ElementsAre(HasSubstr("the module stray is not in")));
}

TEST(LayersCheck, SeesAModuleThatUsesOneBelowIt) {
  const Layers ring = ParseLayers(
      "[module.a]\npurpose = \"x\"\nuses = [\"b\"]\n"
      "[module.b]\npurpose = \"y\"\nuses = [\"a\"]\n");
  EXPECT_THAT(Offences(ring), ElementsAre("a uses b, which does not stand above it"));
}

TEST(LayersCheck, DrawsNoEdgeThatFollowsFromOthers) {
  const std::string diagram = Diagram(ParseLayers(kSample));
  EXPECT_THAT(diagram, HasSubstr("  report --> detect\n"));
  EXPECT_THAT(diagram, testing::Not(HasSubstr("  report --> base\n")));
  EXPECT_THAT(diagram, HasSubstr("| `src/report` | words | base, detect |"));
}

}  // namespace
}  // namespace vigil::structure
