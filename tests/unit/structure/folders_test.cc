// Inside large modules: folders do not include each other in a circle, formats know nothing of one another, and what is
// particular to a format is asked of its row.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "formats/formats.h"
#include "identify/frameworks.h"
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

// A literal that is an id by its letters and means something else there.
struct OtherMeaning {
  std::string_view file;
  std::string_view literal;
};
constexpr OtherMeaning kOtherMeanings[] = {
    {"src/ingest/ignored.cc", "wandb"},        // a directory
    {"src/ingest/ignored.cc", "tfevents"},     // part of a file's name
    {"src/assemble/place.cc", "wandb"},        // a directory
    {"src/assemble/passes.cc", "tfevents"},    // part of a file's name
    {"src/journal/mover.cc", "journal"},       // an event
    {"src/journal/inspect.cc", "journal"},     // the same
    {"apps/vigil/journal.cc", "journal"},      // a command
    {"src/configfile/command.cc", "trl"},      // a program
    {"src/configfile/command.cc", "axolotl"},  // the same
};

bool MeansSomethingElse(std::string_view file, std::string_view literal) {
  return std::any_of(std::begin(kOtherMeanings), std::end(kOtherMeanings),
                     [&](const OtherMeaning& other) { return other.file == file && other.literal == literal; });
}

// The literals of a source that are one of the ids, wherever they stand: compared, in a list, in a map, in a call.
std::vector<std::string> IdsNamedIn(const std::string& file, std::string_view source,
                                    const std::set<std::string>& ids) {
  std::vector<std::string> named;
  for (const Literal& literal : LiteralsOf(source)) {
    if (ids.contains(literal.text) && !MeansSomethingElse(file, literal.text))
      named.push_back(fmt::format("{}:{}: \"{}\"", file, literal.line, literal.text));
  }
  return named;
}

std::vector<std::string> IdsNamedOutside(const std::vector<std::string_view>& owners,
                                         const std::set<std::string>& ids) {
  std::vector<std::string> named;
  for (const char* folder : {"src", "apps"}) {
    for (const auto& file : FilesBelow(folder, {".cc", ".h"})) {
      const std::string path = file.string();
      const bool owned =
          std::any_of(owners.begin(), owners.end(), [&](std::string_view owner) { return path.starts_with(owner); });
      if (owned) continue;
      for (const std::string& each : IdsNamedIn(path, ReadText(InTree(file)), ids)) named.push_back(each);
    }
  }
  return named;
}

// The traits of a format are fields of its row. Log text has a module of its own.
TEST(Formats, NoOtherCodeNamesAFormatById) {
  std::set<std::string> ids;
  for (const ingest::Format& format : formats::Formats()) {
    ids.insert(std::string(format.id));
    for (const std::string_view variant : format.traits.variants) ids.insert(std::string(variant));
  }
  EXPECT_THAT(IdsNamedOutside({"src/formats/", "src/textlog/"}, ids), IsEmpty());
}

// The traits of a framework are fields of its row, which become the profile of the run. Readers say which framework
// wrote a file.
TEST(Frameworks, NoOtherCodeNamesAFrameworkById) {
  std::set<std::string> ids;
  for (const identify::Framework& framework : identify::Frameworks()) ids.insert(std::string(framework.id));
  EXPECT_THAT(IdsNamedOutside(
                  {"src/identify/", "src/formats/", "src/textlog/", "src/hyperparams/", "src/preflight/role.cc"}, ids),
              IsEmpty());
}

TEST(FormatsCheck, SeesAnIdWhereverItStands) {
  const std::set<std::string> ids = {"csv", "tfevents"};
  for (const char* source : {"if (format == \"csv\") {", "constexpr std::array kTables = {\"jsonl\", \"csv\"};",
                             "std::map<std::string, int> m = {{\"csv\", 3}};", "if (kNames.contains(\"csv\")) {"})
    EXPECT_THAT(IdsNamedIn("src/x/x.cc", source, ids), ElementsAre("src/x/x.cc:1: \"csv\"")) << source;
  EXPECT_THAT(IdsNamedIn("src/x/x.cc", "// \"csv\"\nauto a = \"a csv file\";\n", ids), IsEmpty());
  EXPECT_THAT(IdsNamedIn("src/ingest/ignored.cc", "file.find(\"tfevents\")", ids), IsEmpty());
}

}  // namespace
}  // namespace vigil::structure
