#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>

#include "import/settings/settings.h"

namespace vigil::import {
namespace {

constexpr std::size_t kDeepest = 8;
constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostBytes = std::size_t{4} << 20U;

// A plain value as text; empty for tables, lists and dates.
std::string TextOf(const toml::node& node) {
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* number = node.as_floating_point()) return FormatExact(number->get());
  if (const auto* text = node.as_string()) return Printable(std::string_view(text->get()).substr(0, kLongestSetting));
  return {};
}

std::vector<std::string> ItemsOf(const toml::array& list) {
  std::vector<std::string> items;
  for (const toml::node& item : list) {
    if (std::string text = TextOf(item); !text.empty() && items.size() < kMostItems) items.push_back(std::move(text));
  }
  return items;
}

struct Pending {
  const toml::table* table;
  std::string path;
  std::size_t depth;
};

void TakeTable(const Pending& pending, std::vector<Pending>& more, std::vector<Setting>& settings) {
  for (const auto& [key, node] : *pending.table) {
    if (settings.size() >= kMostSettings) return;
    const std::string name = Printable(std::string_view(key.str()).substr(0, 256));
    std::string path = pending.path.empty() ? name : pending.path + "." + name;
    if (const toml::table* below = node.as_table(); below != nullptr) {
      if (pending.depth < kDeepest) more.push_back({below, std::move(path), pending.depth + 1});
      continue;
    }
    std::vector<std::string> items;
    if (const toml::array* list = node.as_array(); list != nullptr) items = ItemsOf(*list);
    std::string value = items.empty() ? TextOf(node) : Join(items, ", ").substr(0, kLongestSetting);
    if (value.empty()) continue;
    const auto line = static_cast<std::uint32_t>(node.source().begin.line);
    settings.push_back({std::move(path), std::move(value), line, std::move(items)});
  }
}

// A string of TOML from its opening quote on: how many characters it takes. One that is not closed ends with the text.
std::size_t LengthOfString(std::string_view text) {
  const char quote = text[0];
  const bool is_long = text.size() > 2 && text[1] == quote && text[2] == quote;
  std::size_t at = is_long ? 3 : 1;
  for (; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (is_long ? text.substr(at).starts_with(std::string(3, quote)) : text[at] == quote || text[at] == '\n') {
      return at + (is_long ? 3 : 1);
    }
  }
  return text.size();
}

// Where the name of the table whose header begins at `at` should begin.
std::size_t BehindBrackets(std::string_view text, std::size_t at) {
  std::size_t name = text.find_first_not_of(" \t", at + 1);
  if (name != std::string_view::npos && text[name] == '[') name = text.find_first_not_of(" \t", name + 1);
  return name;
}

// What TOML has outside of strings and remarks.
bool IsPlain(char c) { return (c >= ' ' && c <= '~') || c == '\t' || c == '\r'; }

bool IsControl(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < ' ' && c != '\t' && c != '\r' && c != '\n') || code == 0x7F;
}

// The line of the first thing that no TOML has and that the parser takes for granted not to meet: a table whose name
// begins with what no name can begin with, letters of other alphabets outside of strings. 0 when there is none.
std::size_t LineOfBrokenText(std::string_view text) {
  std::size_t line = 1;
  int depth = 0;
  bool at_start = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      at_start = true;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '"' || c == '\'') {
      const std::size_t length = LengthOfString(text.substr(at));
      line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                  text.begin() + static_cast<std::ptrdiff_t>(at + length - 1), '\n'));
      at += length - 1;
      at_start = text[at] == '\n';
      line += at_start ? 1 : 0;
    } else if (c == '[' && at_start && depth == 0) {
      const std::size_t name = BehindBrackets(text, at);
      const char begins = name == std::string_view::npos ? ']' : text[name];
      const bool bare = std::isalnum(static_cast<unsigned char>(begins)) != 0 || begins == '_' || begins == '-';
      if (!bare && begins != '"' && begins != '\'' && begins != ']') return line;
      at = (name == std::string_view::npos ? text.size() : name) - 1;
      depth = 0;
      at_start = false;
    } else if (!IsPlain(c)) {
      return line;
    } else {
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && depth > 0) --depth;
      at_start = at_start && (c == ' ' || c == '\t' || c == '\r');
    }
  }
  return 0;
}

}  // namespace

std::vector<Setting> TomlSettings(std::string_view text, std::string* problem) {
  std::vector<Setting> settings;
  const auto complain = [&](std::string what) {
    if (problem != nullptr) *problem = std::move(what);
  };
  if (text.size() > kMostBytes) {
    complain("larger than any configuration");
    return settings;
  }
  if (const auto bad = std::find_if(text.begin(), text.end(), IsControl); bad != text.end()) {
    complain(fmt::format("line {}: a control character", 1 + std::count(text.begin(), bad, '\n')));
    return settings;
  }
  if (const std::size_t line = LineOfBrokenText(text); line > 0) {
    complain(fmt::format("line {}: what stands there is no TOML", line));
    return settings;
  }
  try {
    const toml::table content = toml::parse(text);
    std::vector<Pending> pending = {{&content, {}, 0}};
    while (!pending.empty()) {
      const Pending next = std::move(pending.back());
      pending.pop_back();
      TakeTable(next, pending, settings);
    }
  } catch (const toml::parse_error& error) {
    complain(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return settings;
}

}  // namespace vigil::import
