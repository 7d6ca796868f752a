#include "configfile/insert.h"

#include <fmt/format.h>

#include <algorithm>

#include "configfile/collect.h"
#include "configfile/write_value.h"

namespace vigil::configfile {
namespace {

bool IsChildOf(std::string_view path, std::string_view above) {
  if (above.empty()) return path.find('.') == std::string_view::npos;
  return path.size() > above.size() + 1 && path.starts_with(above) && path[above.size()] == '.' &&
         path.find('.', above.size() + 1) == std::string_view::npos;
}

std::string_view LastKey(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::size_t StartOf(const Entry& entry) { return entry.has_key ? entry.key_begin : entry.begin; }

// Where a new setting goes: the longest section of its path that is there, and the keys that are left.
struct Target {
  std::string section;
  const Entry* entry = nullptr;  // of the section; null for the top
  std::vector<std::string> keys;
};

Target TargetOf(const File& file, std::string_view path) {
  Target target;
  std::string_view above = path;
  for (;;) {
    const std::size_t dot = above.rfind('.');
    const std::string_view key = above.substr(dot == std::string_view::npos ? 0 : dot + 1);
    target.keys.insert(target.keys.begin(), std::string(key));
    if (dot == std::string_view::npos) return target;
    above = above.substr(0, dot);
    const Entry* entry = file.Find(above);
    if (entry == nullptr || (entry->kind != Kind::kMap && entry->kind != Kind::kNull)) continue;
    target.section = std::string(above);
    target.entry = entry;
    return target;
  }
}

// The setting of the section that the new one goes behind: the last whose name begins with the same word, else the
// last.
const Entry* SiblingFor(const File& file, const Target& target, bool plain_only) {
  const std::string_view key = target.keys.front();
  const std::string_view word = key.substr(0, key.find('_'));
  const Entry* last = nullptr;
  const Entry* alike = nullptr;
  for (const Entry& entry : file.entries) {
    if (!IsChildOf(entry.path, target.section) || entry.alias_line != 0) continue;
    if (plain_only && entry.kind == Kind::kMap && !entry.is_flow) continue;
    last = &entry;
    const std::string_view name = LastKey(entry.path);
    if (word.size() >= 3 && name.substr(0, name.find('_')) == word) alike = &entry;
  }
  return alike != nullptr ? alike : last;
}

std::string Put(const File& file, std::size_t at, std::string_view text) {
  return file.text.substr(0, at) + std::string(text) + file.text.substr(at);
}

// The first byte of the line behind that of `offset`; a text without a last line break gets one in `before`.
std::size_t NextLine(const File& file, std::size_t offset, std::string& before) {
  const std::size_t end = file.text.find('\n', offset);
  if (end != std::string::npos) return end + 1;
  before = "\n";
  return file.text.size();
}

// The closing bracket of what opens at `begin`, or the size of the text.
std::size_t CloseOf(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at;
    }
  }
  return text.size();
}

std::size_t EndOf(const File& file, const Entry& entry) {
  const bool in_brackets = (entry.kind == Kind::kMap || entry.kind == Kind::kList) && entry.is_flow;
  return in_brackets ? std::min(CloseOf(file.text, entry.begin) + 1, file.text.size()) : entry.end;
}

// ---- settings in brackets: JSON, flow maps, inline tables

std::string InBrackets(Notation notation, const std::vector<std::string>& keys, const std::string& value) {
  const std::string_view between = notation == Notation::kToml ? " = " : ": ";
  std::string text = value;
  for (std::size_t i = keys.size(); i-- > 0;) {
    text = fmt::format("{}{}{}", WriteKey(notation, keys[i]), between, text);
    if (i > 0) text = fmt::format("{{{}}}", text);
  }
  return text;
}

std::vector<std::string> IntoBrackets(const File& file, const Target& target, const std::string& value) {
  const std::string setting = InBrackets(file.notation, target.keys, value);
  const Entry* sibling = SiblingFor(file, target, false);
  if (sibling == nullptr) {
    const std::size_t open = target.entry != nullptr ? target.entry->begin : file.text.find('{');
    if (open == std::string::npos || open >= file.text.size()) return {};
    return {Put(file, open + 1, setting)};
  }
  const std::size_t line = file.text.rfind('\n', sibling->key_begin) + 1;
  const std::string indent = file.text.substr(line, sibling->key_begin - line);
  const bool own_line = indent.find_first_not_of(" \t") == std::string::npos;
  const std::string text = own_line ? fmt::format(",\n{}{}", indent, setting) : ", " + setting;
  return {Put(file, EndOf(file, *sibling), text)};
}

// ---- blocks: YAML by indentation

bool IsSpaceOrComment(std::string_view line, std::size_t indent) {
  const std::size_t begin = line.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos || (line[begin] == '#' && begin <= indent) || line.starts_with("...");
}

// The first byte behind the last line of an entry and all below it, comments of the next one not among them.
std::size_t EndOfBlock(const File& file, const Entry& entry) {
  const Lines lines(file.text);
  std::size_t next = file.text.size();
  for (const Entry& other : file.entries) {
    const bool below = other.path.starts_with(entry.path) && other.path.size() > entry.path.size() &&
                       other.path[entry.path.size()] == '.';
    const std::size_t start = StartOf(other);
    if (!below && other.alias_line == 0 && start > StartOf(entry)) next = std::min(next, start);
  }
  std::uint32_t line = next >= file.text.size() ? lines.count() + 1 : lines.LineOf(next);
  const std::uint32_t own = lines.LineOf(StartOf(entry));
  const std::size_t indent = lines.ColumnOf(StartOf(entry)) - 1;
  for (; line > own + 1; --line) {
    const std::size_t begin = lines.BeginOf(line - 1);
    if (!IsSpaceOrComment(std::string_view(file.text).substr(begin, lines.BeginOf(line) - begin), indent)) break;
  }
  return lines.BeginOf(line);
}

std::string Block(const std::vector<std::string>& keys, const std::string& value, std::size_t indent) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    text += std::string(indent + 2 * i, ' ') + WriteKey(Notation::kYaml, keys[i]) + ":";
    text += i + 1 == keys.size() ? " " + value + "\n" : "\n";
  }
  return text;
}

std::string AfterBreak(const File& file, std::size_t at) {
  return at > 0 && at == file.text.size() && file.text.back() != '\n' ? "\n" : "";
}

std::vector<std::string> IntoYaml(const File& file, const Target& target, const std::string& value) {
  if (target.entry != nullptr && target.entry->is_flow) return IntoBrackets(file, target, value);
  const Lines lines(file.text);
  if (target.entry != nullptr && target.entry->kind == Kind::kNull) {
    std::string before;
    const std::size_t at = NextLine(file, target.entry->begin, before);
    return {Put(file, at, before + Block(target.keys, value, lines.ColumnOf(target.entry->key_begin) + 1))};
  }
  const Entry* sibling = SiblingFor(file, target, false);
  if (sibling == nullptr) {
    const std::size_t end = file.text.size();
    return {Put(file, end, AfterBreak(file, end) + Block(target.keys, value, 0))};
  }
  const std::size_t at = EndOfBlock(file, *sibling);
  return {Put(file, at, AfterBreak(file, at) + Block(target.keys, value, lines.ColumnOf(sibling->key_begin) - 1))};
}

// ---- tables: TOML

std::vector<std::string> IntoToml(const File& file, const Target& target, const std::string& value) {
  if (target.entry != nullptr && target.entry->is_flow) return IntoBrackets(file, target, value);
  std::vector<std::string> texts;
  const std::string line = InBrackets(file.notation, target.keys, value) + "\n";
  if (target.keys.size() == 1) {
    std::string before;
    if (const Entry* sibling = SiblingFor(file, target, true)) {
      const std::size_t at = NextLine(file, sibling->end > 0 ? sibling->end - 1 : 0, before);
      texts.push_back(Put(file, at, before + line));
    } else if (target.entry != nullptr) {
      const std::size_t at = NextLine(file, target.entry->begin, before);
      texts.push_back(Put(file, at, before + line));
    } else {
      texts.push_back(Put(file, 0, line));
    }
  }
  std::string header = target.section;
  for (std::size_t i = 0; i + 1 < target.keys.size(); ++i) {
    if (!header.empty()) header += '.';
    header += WriteKey(file.notation, target.keys[i]);
  }
  if (!header.empty()) {
    const std::string table =
        fmt::format("[{}]\n{} = {}\n", header, WriteKey(file.notation, target.keys.back()), value);
    const std::size_t end = file.text.size();
    texts.push_back(Put(file, end, AfterBreak(file, end) + "\n" + table));
  }
  return texts;
}

// ---- removal

std::string Without(const File& file, std::size_t begin, std::size_t end) {
  return file.text.substr(0, begin) + file.text.substr(end);
}

// With the comma behind the setting, else with the one before it.
std::vector<std::string> OutOfBrackets(const File& file, const Entry& entry) {
  const std::size_t end = EndOf(file, entry);
  std::vector<std::string> texts;
  const std::size_t next = file.text.find_first_not_of(" \t\r\n", end);
  if (next != std::string::npos && file.text[next] == ',') {
    const std::size_t after = std::min(file.text.find_first_not_of(" \t\r\n", next + 1), file.text.size());
    texts.push_back(Without(file, entry.key_begin, after));
  }
  const std::size_t previous =
      entry.key_begin == 0 ? std::string::npos : file.text.find_last_not_of(" \t\r\n", entry.key_begin - 1);
  if (previous != std::string::npos && file.text[previous] == ',') texts.push_back(Without(file, previous, end));
  texts.push_back(Without(file, entry.key_begin, end));
  return texts;
}

}  // namespace

std::vector<std::string> Insertions(const File& file, std::string_view path, const NewValue& value) {
  const Target target = TargetOf(file, path);
  const std::string written = WriteValue(file.notation, value, nullptr);
  switch (file.notation) {
    case Notation::kYaml:
      return IntoYaml(file, target, written);
    case Notation::kJson:
      return IntoBrackets(file, target, written);
    case Notation::kToml:
      return IntoToml(file, target, written);
    default:
      return {};
  }
}

std::vector<std::string> Removals(const File& file, const Entry& entry) {
  if (file.notation == Notation::kJson) return OutOfBrackets(file, entry);
  if (file.notation != Notation::kYaml && file.notation != Notation::kToml) return {};
  const Lines lines(file.text);
  const std::size_t begin = lines.BeginOf(lines.LineOf(StartOf(entry)));
  std::string before;
  const std::size_t end = file.notation == Notation::kYaml ? EndOfBlock(file, entry)
                                                           : NextLine(file, entry.end > 0 ? entry.end - 1 : 0, before);
  std::vector<std::string> texts = {Without(file, begin, end)};
  for (std::string& text : OutOfBrackets(file, entry)) texts.push_back(std::move(text));
  return texts;
}

}  // namespace vigil::configfile
