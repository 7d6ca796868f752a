#include "tree.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/base.h"
#include "support/paths.h"

namespace vigil::structure {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Strings(const toml::node_view<const toml::node>& node) {
  std::vector<std::string> strings;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& item : *array) strings.push_back(item.value_or(std::string()));
  }
  return strings;
}

bool Contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string FirstFolder(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

// The module a file belongs to; empty for the programs in apps/, which may use every face.
std::string ModuleOf(const fs::path& file) {
  auto part = file.begin();
  return *part == "src" ? std::next(part)->string() : std::string();
}

bool IsSystemHeader(const Layers& layers, std::string_view header) {
  return std::any_of(layers.system_headers.begin(), layers.system_headers.end(), [&](const std::string& reserved) {
    return header == reserved || (reserved.ends_with('/') && header.starts_with(reserved));
  });
}

std::string JudgeQuoted(const Layers& layers, const std::string& own, const Include& include) {
  const std::string wanted = FirstFolder(include.path);
  if (layers.Find(wanted) == nullptr) return "is no path from src/ on; write <module>/<file>";
  if (wanted == own) return {};
  if (const auto& faces = layers.Find(wanted)->faces; !Contains(faces, include.path))
    return fmt::format("reaches behind the face of {}; include {}", wanted, Join(faces, ", "));
  if (!own.empty() && !Contains(layers.Find(own)->uses, wanted))
    return fmt::format("is an edge {} -> {} that src/layers.toml does not allow", own, wanted);
  return {};
}

std::vector<std::string> FacesOf(const std::string& module, const toml::node_view<const toml::node>& row) {
  std::vector<std::string> faces = Strings(row["faces"]);
  if (faces.empty()) faces.push_back(module + ".h");
  for (std::string& face : faces) face = module + "/" + face;
  return faces;
}

// Everything `name` may use, over any number of edges, itself excluded.
std::set<std::string> Reach(const Layers& layers, const std::string& name) {
  std::set<std::string> reached;
  std::vector<std::string> pending = layers.Find(name)->uses;
  while (!pending.empty()) {
    const std::string next = pending.back();
    pending.pop_back();
    if (!reached.insert(next).second) continue;
    const auto& uses = layers.Find(next)->uses;
    pending.insert(pending.end(), uses.begin(), uses.end());
  }
  return reached;
}

bool FollowsFromOthers(const Layers& layers, const Module& module, const std::string& used) {
  return std::any_of(module.uses.begin(), module.uses.end(),
                     [&](const std::string& other) { return other != used && Reach(layers, other).contains(used); });
}

}  // namespace

fs::path InTree(const fs::path& relative) { return fs::path(testing_support::kSourceDir) / relative; }

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> FilesBelow(const fs::path& folder, const std::vector<std::string>& endings) {
  std::vector<fs::path> files;
  if (!fs::exists(InTree(folder))) return files;
  for (const auto& entry : fs::recursive_directory_iterator(InTree(folder))) {
    if (entry.is_regular_file() && Contains(endings, entry.path().extension().string()))
      files.push_back(fs::relative(entry.path(), InTree("")));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Include> IncludesOf(std::string_view source) {
  std::vector<Include> includes;
  int number = 0;
  for (std::string_view line : Split(source, '\n')) {
    ++number;
    line = Trim(line);
    if (!line.starts_with('#')) continue;
    line = Trim(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = Trim(line.substr(7));
    if (line.size() < 2) continue;
    const std::size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
    if (end != std::string_view::npos)
      includes.push_back({std::string(line.substr(1, end - 1)), line[0] == '"', number});
  }
  return includes;
}

const Module* Layers::Find(std::string_view name) const {
  const auto at = std::find_if(modules.begin(), modules.end(), [&](const Module& m) { return m.name == name; });
  return at == modules.end() ? nullptr : &*at;
}

Layers ParseLayers(std::string_view toml) {
  const toml::parse_result parsed = toml::parse(toml);
  if (!parsed) return {};
  const toml::table& content = parsed.table();
  Layers layers;
  // toml++ sorts keys; the order of the file is the order of the layers.
  std::map<std::uint32_t, Module> by_line;
  if (const toml::table* modules = content["module"].as_table()) {
    for (const auto& [name, node] : *modules) {
      const toml::node_view<const toml::node> row(node);
      const std::string module(name.str());
      by_line[node.source().begin.line] = {module, row["purpose"].value_or(std::string()), FacesOf(module, row),
                                           Strings(row["uses"])};
    }
  }
  for (const auto& [line, module] : by_line) layers.modules.push_back(module);
  layers.system_headers = Strings(content["system"]["headers"]);
  layers.system_modules = Strings(content["system"]["modules"]);
  return layers;
}

Layers ReadLayers() { return ParseLayers(ReadText(InTree("src/layers.toml"))); }

std::vector<std::string> Offences(const Layers& layers, const fs::path& file, std::string_view source) {
  const std::string own = ModuleOf(file);
  if (!own.empty() && layers.Find(own) == nullptr)
    return {fmt::format("{}: the module {} is not in src/layers.toml", file.string(), own)};
  std::vector<std::string> offences;
  for (const Include& include : IncludesOf(source)) {
    std::string problem;
    if (include.quoted) {
      // The programs of apps/ keep private headers beside their sources.
      const bool beside = own.empty() && fs::exists(InTree(file.parent_path() / include.path));
      if (!beside) problem = JudgeQuoted(layers, own, include);
    } else if (!own.empty() && IsSystemHeader(layers, include.path) && !Contains(layers.system_modules, own)) {
      problem = fmt::format("is for {} alone: ask it for what you need", Join(layers.system_modules, ", "));
    }
    if (!problem.empty())
      offences.push_back(fmt::format("{}:{}: include of {} {}", file.string(), include.line, include.path, problem));
  }
  return offences;
}

std::vector<std::string> Offences(const Layers& layers) {
  std::vector<std::string> offences;
  std::set<std::string> above;
  for (const Module& module : layers.modules) {
    for (const std::string& used : module.uses) {
      if (!above.contains(used))
        offences.push_back(fmt::format("{} uses {}, which does not stand above it", module.name, used));
    }
    if (module.purpose.empty()) offences.push_back(module.name + " has no purpose");
    above.insert(module.name);
  }
  return offences;
}

std::ptrdiff_t LinesReExported(const std::string& face, const std::vector<std::string>& faces,
                               const std::function<std::string(const std::string& header)>& read) {
  const std::string module = FirstFolder(face);
  std::ptrdiff_t lines = 0;
  std::set<std::string> seen = {face};
  std::vector<std::string> pending = {face};
  while (!pending.empty()) {
    const std::string text = read(pending.back());
    pending.pop_back();
    lines += std::count(text.begin(), text.end(), '\n');
    for (const Include& include : IncludesOf(text)) {
      const bool own = include.quoted && FirstFolder(include.path) == module && !Contains(faces, include.path);
      if (own && seen.insert(include.path).second) pending.push_back(include.path);
    }
  }
  return lines;
}

std::string OpeningOf(const std::string& face) {
  const std::string module = FirstFolder(face);
  const std::string stem = fs::path(face).stem().string();
  return stem == module ? fmt::format("// {}: ", module) : fmt::format("// {}/{}: ", module, stem);
}

std::string Diagram(const Layers& layers) {
  std::string diagram = "```mermaid\nflowchart TD\n";
  for (const Module& module : layers.modules) {
    diagram += fmt::format("  {0}[{0}]\n", module.name);
  }
  for (const Module& module : layers.modules) {
    for (const std::string& used : module.uses) {
      if (!FollowsFromOthers(layers, module, used)) diagram += fmt::format("  {} --> {}\n", module.name, used);
    }
  }
  diagram += "```\n\n| module | is for | may use |\n|---|---|---|\n";
  for (const Module& module : layers.modules) {
    diagram += fmt::format("| `src/{}` | {} | {} |\n", module.name, module.purpose, Join(module.uses, ", "));
  }
  return diagram;
}

std::string ReplaceGenerated(std::string_view document, std::string_view name, std::string_view content) {
  const std::size_t begin = document.find(fmt::format("<!-- begin {}", name));
  const std::size_t from = begin == std::string_view::npos ? begin : document.find("-->\n", begin);
  const std::size_t to = document.find(fmt::format("<!-- end {} -->", name));
  if (from == std::string_view::npos || to == std::string_view::npos || to < from) return {};
  return fmt::format("{}\n{}\n{}", document.substr(0, from + 4), content, document.substr(to));
}

std::vector<Literal> LiteralsOf(std::string_view source) {
  std::vector<Literal> literals;
  std::string before;
  int line = 1;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool at_line_start = i == 0 || source[i - 1] == '\n';
    if (source[i] == '\n') ++line;
    if (source.substr(i, 2) == "//" || (at_line_start && source[i] == '#')) {
      i = std::min(source.find('\n', i), source.size()) - 1;
    } else if (source[i] == '"' || source[i] == '\'') {
      const bool digit_separator =
          source[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(source[i - 1]));
      if (digit_separator) continue;
      const std::size_t begin = i + 1;
      for (++i; i < source.size() && source[i] != source[begin - 1]; ++i) i += source[i] == '\\' ? 1 : 0;
      if (source[begin - 1] == '"') literals.push_back({std::string(source.substr(begin, i - begin)), line, before});
    } else if (source[i] == ';') {
      before.clear();
    } else {
      before += source[i];
    }
  }
  return literals;
}

bool Rewriting() {
  const char* value = std::getenv("VIGIL_REWRITE");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace vigil::structure
