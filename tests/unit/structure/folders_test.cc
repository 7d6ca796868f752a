// Inside large modules: folders do not include each other in a circle, formats know nothing of one another, and what is
// particular to a format is asked of its row.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "formats/formats.h"
#include "tree.h"

namespace vigil::structure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Edges = std::map<std::string, std::set<std::string>>;

// "ingest/bytes" of src/ingest/bytes/utf16.h, "ingest" of src/ingest/read.cc.
std::string FolderOf(const std::filesystem::path& file) { return file.parent_path().string(); }

// Which folders of src include which others of the same module.
Edges EdgesWithinModules() {
  Edges edges;
  for (const auto& file : FilesBelow("src", {".cc", ".h"})) {
    const std::string folder = FolderOf(file).substr(4);
    const std::string module = folder.substr(0, folder.find('/'));
    for (const Include& include : IncludesOf(ReadText(InTree(file)))) {
      const std::string other = FolderOf(include.path);
      const bool inside = other.substr(0, other.find('/')) == module;
      if (include.quoted && inside && other != folder) edges[folder].insert(other);
    }
  }
  return edges;
}

bool Reaches(const Edges& edges, const std::string& from, const std::string& wanted) {
  std::set<std::string> seen;
  std::vector<std::string> pending = {from};
  while (!pending.empty()) {
    const std::string at = pending.back();
    pending.pop_back();
    const auto next = edges.find(at);
    if (next == edges.end()) continue;
    for (const std::string& other : next->second) {
      if (other == wanted) return true;
      if (seen.insert(other).second) pending.push_back(other);
    }
  }
  return false;
}

std::vector<std::string> Circles(const Edges& edges) {
  std::vector<std::string> circles;
  for (const auto& [folder, others] : edges) {
    if (Reaches(edges, folder, folder)) circles.push_back(folder);
  }
  return circles;
}

// Helpers that every format may use; anything else belongs to one format.
bool IsSharedByFormats(const std::string& folder) { return folder == "formats/json" || folder == "formats"; }

TEST(Folders, OfAModuleIncludeEachOtherInOneDirection) { EXPECT_THAT(Circles(EdgesWithinModules()), IsEmpty()); }

TEST(Folders, TheCheckSeesACircle) {
  EXPECT_THAT(Circles({{"a", {"a/x"}}, {"a/x", {"a/y"}}, {"a/y", {"a"}}, {"b", {"a"}}}),
              ElementsAre("a", "a/x", "a/y"));
}

TEST(Folders, OfAFormatKnowNoOtherFormat) {
  for (const auto& [folder, others] : EdgesWithinModules()) {
    if (!folder.starts_with("formats/")) continue;
    for (const std::string& other : others) EXPECT_TRUE(IsSharedByFormats(other)) << folder << " includes " << other;
  }
}

TEST(Formats, EachHasAFolderAndOnlyTheTableListsThem) {
  for (const auto& file : FilesBelow("src", {".cc", ".h"})) {
    if (FolderOf(file).starts_with("src/formats")) continue;
    for (const Include& include : IncludesOf(ReadText(InTree(file)))) {
      const bool behind_face = include.path.starts_with("formats/") && include.path != "formats/formats.h";
      EXPECT_FALSE(behind_face) << file << " includes " << include.path;
    }
  }
}

// The traits of a format are fields of its row. src/diagnose still asks for log text by name.
TEST(Formats, NoOtherCodeAsksForAFormatByItsId) {
  const std::regex comparison(R"re((==|!=)\s*"([a-z-]+)")re");
  std::set<std::string> ids;
  for (const ingest::Format& format : formats::Formats()) ids.insert(std::string(format.id));
  for (const char* folder : {"src", "apps"}) {
    for (const auto& file : FilesBelow(folder, {".cc", ".h"})) {
      const std::string path = file.string();
      if (path.starts_with("src/diagnose/") || path == "src/ingest/ignored.cc")
        continue;  // the latter: names of folders
      const std::string text = ReadText(InTree(file));
      for (std::sregex_iterator at(text.begin(), text.end(), comparison), end; at != end; ++at)
        EXPECT_FALSE(ids.contains((*at)[2].str())) << path << ": " << (*at)[0].str();
    }
  }
}

}  // namespace
}  // namespace vigil::structure
