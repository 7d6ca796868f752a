#include "configfile/write_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "configfile/collect.h"

namespace vigil::configfile {
namespace {

std::string InQuotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool IsPlainYaml(std::string_view text) {
  if (text.empty() || text.back() == '.') return false;
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  };
  const bool begins = std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_' || text[0] == '/';
  if (!begins || !std::all_of(text.begin(), text.end(), fits)) return false;
  Entry typed;
  typed.text = std::string(text);
  TypePlainYaml(typed);
  const std::string word = ToLower(text);
  return typed.kind == Kind::kText && word != "null" && word != "y" && word != "n";
}

std::string WriteText(Notation notation, std::string_view text) {
  if (notation == Notation::kYaml && IsPlainYaml(text)) return std::string(text);
  if (notation != Notation::kCommand) return InQuotes(text);
  const bool plain = !text.empty() && text.find_first_of(" \t\n'\"$\\;|&<>()#*?[]{}~") == std::string_view::npos;
  if (plain) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// PyYAML takes an exponent only behind a point: 1e-05 would be text to it.
std::string WriteNumber(Notation notation, std::string text, const Entry* replaced) {
  const std::size_t exponent = text.find_first_of("eE");
  const bool has_point = text.find('.') != std::string::npos;
  if (notation == Notation::kYaml && exponent != std::string::npos && !has_point) text.insert(exponent, ".0");
  const bool was_fraction = replaced != nullptr && replaced->kind == Kind::kNumber &&
                            replaced->text.find_first_of(".eE") != std::string::npos;
  const bool keeps_fraction = was_fraction && notation != Notation::kCommand && notation != Notation::kJson;
  if (keeps_fraction && exponent == std::string::npos && !has_point) text += ".0";
  return text;
}

}  // namespace

std::string WriteValue(Notation notation, const NewValue& value, const Entry* replaced) {
  switch (value.kind) {
    case Kind::kNumber:
      return WriteNumber(notation, value.text, replaced);
    case Kind::kTruth:
      if (replaced != nullptr && notation != Notation::kJson && notation != Notation::kToml &&
          !replaced->text.empty() && std::isupper(static_cast<unsigned char>(replaced->text[0])) != 0)
        return value.text == "true" ? "True" : "False";
      return value.text;
    case Kind::kNull:
      return "null";
    default:
      return WriteText(notation, value.text);
  }
}

std::string WriteKey(Notation notation, std::string_view key) {
  if (notation == Notation::kJson) return InQuotes(key);
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  return bare ? std::string(key) : InQuotes(key);
}

}  // namespace vigil::configfile
