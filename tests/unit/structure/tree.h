// The source tree as the structure tests see it: files, includes, the table of layers, generated parts of documents.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::structure {

// A path below the root of the repository.
std::filesystem::path InTree(const std::filesystem::path& relative);
std::string ReadText(const std::filesystem::path& path);
// Paths relative to the root, sorted, of the files below `folder` that end in one of `endings`.
std::vector<std::filesystem::path> FilesBelow(const std::filesystem::path& folder,
                                              const std::vector<std::string>& endings);

struct Include {
  std::string path;
  bool quoted = false;  // "x" rather than <x>
  int line = 0;
};
std::vector<Include> IncludesOf(std::string_view source);

struct Literal {
  std::string text;
  int line = 0;
  std::string before;  // the code of the same statement that stands before it
};

// The string literals of a source, without comments, character literals and includes.
std::vector<Literal> LiteralsOf(std::string_view source);

struct Module {
  std::string name;
  std::string purpose;
  std::vector<std::string> faces;  // headers that others may include, "<module>/<file>"; one by that name unless said
  std::vector<std::string> uses;
};
// src/layers.toml: the modules in the order of the file, and the headers that only some modules may include.
struct Layers {
  std::vector<Module> modules;
  std::vector<std::string> system_headers;  // "sys/" stands for all below
  std::vector<std::string> system_modules;

  const Module* Find(std::string_view name) const;
};
Layers ParseLayers(std::string_view toml);
Layers ReadLayers();

// What is wrong with the includes of one file, one sentence each. `file` is relative to the root ("src/base/text.cc").
std::vector<std::string> Offences(const Layers& layers, const std::filesystem::path& file, std::string_view source);
// What is wrong with the table itself: names that are not there, or stand below their user (which also rules out
// rings).
std::vector<std::string> Offences(const Layers& layers);

// The lines of a face with all that it includes of its own module, over any number of includes: what a reader of the
// face is made to read. Other `faces` of the module are read for themselves and not counted. `read` gives the text of a
// header ("model/run.h").
std::ptrdiff_t LinesReExported(const std::string& face, const std::vector<std::string>& faces,
                               const std::function<std::string(const std::string& header)>& read);
// How a face must open: "// model: " for model/model.h, "// model/run: " for model/run.h.
std::string OpeningOf(const std::string& face);

// The module diagram and table as Markdown. Edges that follow from others are not drawn.
std::string Diagram(const Layers& layers);

// Replaces what stands between `<!-- begin NAME` and `<!-- end NAME -->`; empty when the markers are not there.
std::string ReplaceGenerated(std::string_view document, std::string_view name, std::string_view content);

// With VIGIL_REWRITE=1 in the environment, generated parts are rewritten in place of being compared.
bool Rewriting();

}  // namespace vigil::structure
