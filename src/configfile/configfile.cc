#include "configfile/configfile.h"

#include <algorithm>
#include <exception>

#include "catalogue/says.h"
#include "configfile/collect.h"

namespace vigil::configfile {
namespace {

bool EndsWith(std::string_view path, std::string_view ending) {
  return path.size() > ending.size() && EqualsIgnoringCase(path.substr(path.size() - ending.size()), ending);
}

bool IsPickle(std::string_view head) {
  const bool archive = head.starts_with("PK\x03\x04");
  return archive || (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5);
}

// Brackets that open deeper than this are no configuration; parsers would recurse for each.
bool NestsTooDeep(std::string_view text) {
  std::size_t open = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > 2 * kDeepest) return true;
  }
  return false;
}

// Block sequences in one line ("- - - -") and indentation nest without brackets.
bool IndentsTooDeep(std::string_view text) {
  constexpr std::size_t kMostIndent = 200;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t begin = std::min(line.find_first_not_of(" -?"), line.size());
    if (begin > kMostIndent) return true;
  }
  return false;
}

void ParseInto(File& file, Collector& collector) {
  switch (file.notation) {
    case Notation::kYaml:
      return ParseYaml(file, collector);
    case Notation::kJson:
      return ParseJson(file, collector);
    case Notation::kToml:
      return ParseToml(file, collector);
    case Notation::kCommand:
      return ParseCommand(file, collector);
    case Notation::kPickle:
      return ParsePickle(file, collector);
  }
}

}  // namespace

std::optional<Notation> NotationOf(std::string_view path, std::string_view head) {
  if (EndsWith(path, ".yaml") || EndsWith(path, ".yml")) return Notation::kYaml;
  if (EndsWith(path, ".toml")) return Notation::kToml;
  if (EndsWith(path, ".json") || EndsWith(path, ".jsonc") || EndsWith(path, ".json5")) return Notation::kJson;
  if (EndsWith(path, ".sh") || EndsWith(path, ".bash") || EndsWith(path, ".slurm") || EndsWith(path, ".sbatch"))
    return Notation::kCommand;
  if (IsPickle(head)) return Notation::kPickle;
  const std::string_view text = Trim(head);
  if (text.starts_with("#!") && text.substr(0, text.find('\n')).find("sh") != std::string_view::npos)
    return Notation::kCommand;
  if (text.starts_with('{')) return Notation::kJson;
  return std::nullopt;
}

const Entry* File::Find(std::string_view entry_path) const {
  const auto at =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.path == entry_path; });
  return at == entries.end() ? nullptr : &*at;
}

bool File::HasSection(std::string_view section) const {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    if (entry.path == section) return entry.kind == Kind::kMap;
    return entry.path.size() > section.size() && entry.path.starts_with(section) && entry.path[section.size()] == '.';
  });
}

File Parse(std::string path, std::string text, Notation notation) {
  File file;
  file.path = std::move(path);
  file.notation = notation;
  file.text = std::move(text);
  Collector collector(file);
  if (file.text.size() > kMostBytes) {
    collector.RemarkOnLine(RemarkKind::kBroken, 0, 0, {}, says::DamageLargerThanConfiguration{});
    return file;
  }
  const bool has_depth = notation == Notation::kYaml || notation == Notation::kToml;
  if (has_depth && (NestsTooDeep(file.text) || IndentsTooDeep(file.text))) {
    collector.RemarkOnLine(RemarkKind::kBroken, 0, 0, {}, says::DamageDeeperThanConfiguration{});
    return file;
  }
  try {
    ParseInto(file, collector);
    collector.Finish();
  } catch (const std::exception& error) {
    collector.RemarkOnLine(RemarkKind::kBroken, 0, 0, {}, says::ConfigfileBroken{.message = error.what()});
  }
  return file;
}

}  // namespace vigil::configfile
