#include "ingest/secrets.h"

#include <re2/re2.h>

#include <array>
#include <atomic>

#include "base/base.h"

namespace vigil::ingest {
namespace {

std::atomic<bool> keeps_secrets = false;

// What may stand before and behind a secret's name, and between it and the value: quotes, also escaped ones.
constexpr std::string_view kSecretNames =
    R"((?:api[_-]?key|api[_-]?token|auth[_-]?token|access[_-]?token|hf[_-]?token|hub[_-]?token|secret|secret[_-]?key|)"
    R"(secret[_-]?access[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|client[_-]?secret|passw(?:or)?d|passwd|)"
    R"(credentials?))";

struct Shape {
  std::string hint;  // texts without it need not be searched; empty: none is known
  RE2 pattern;
  std::string replacement;
};

// A hint is cheap: nearly no text has any.
const std::array<Shape, 5>& Shapes() {
  static const std::array<Shape, 5> shapes = {{
      {"",
       RE2(R"(\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"
           R"(|glpat-[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|xox[abprs]-[A-Za-z0-9-]{10,})"
           R"(|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}))"),
       std::string(kMasked)},
      {"PRIVATE KEY", RE2(R"(-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?)"),
       std::string(kMasked)},
      {"://", RE2(R"(([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@"'<>]*:)[^\s@/"'<>]+@)"), R"(\1[masked]@)"},
      {"", RE2(R"((?i)\b((?:bearer|authorization:\s*(?:basic|token|bearer))\s+)[A-Za-z0-9._~+/=-]{16,})"),
       R"(\1[masked])"},
      {"",
       RE2(R"((?i)((?:\b|_))" + std::string(kSecretNames) + R"([\\"']{0,4}\s*[:=]\s*[\\"']{0,4}))" +
           R"([^\s\\"',;&<>{}()\[\]]{6,})"),
       R"(\1[masked])"},
  }};
  return shapes;
}

// Words that are written where a secret could stand.
bool IsNothing(std::string_view value) {
  const std::string lower = ToLower(Trim(value));
  return lower.empty() || lower == "none" || lower == "null" || lower == "true" || lower == "false" ||
         lower == kMasked || ParseNumber(lower).has_value();
}

bool NamesASecret(std::string_view key) {
  static const RE2 pattern(R"((?i)(?:^|[^a-z0-9]))" + std::string(kSecretNames) + R"(\s*$)");
  return RE2::PartialMatch(key, pattern);
}

void MaskIn(std::string& text) { text = WithoutSecrets(std::move(text)); }

// NOLINTNEXTLINE(misc-no-recursion): see MaskSecrets
void MaskArgument(model::Argument& argument) {
  if (auto* const name = std::get_if<model::Identifier>(&argument.value)) MaskIn(name->text);
  if (auto* const names = std::get_if<model::Identifiers>(&argument.value)) {
    for (model::Identifier& name : *names) MaskIn(name.text);
  }
  if (auto* const quote = std::get_if<model::Quote>(&argument.value)) {
    MaskIn(quote->text);
    for (model::Statement& statement : quote->says) MaskSecrets(statement);
  }
  if (auto* const clauses = std::get_if<std::vector<model::Statement>>(&argument.value)) {
    for (model::Statement& clause : *clauses) MaskSecrets(clause);
  }
}

}  // namespace

void KeepSecrets(bool keep) { keeps_secrets.store(keep); }

std::string WithoutSecrets(std::string text) {
  constexpr std::size_t kShortest = 8;
  if (text.size() < kShortest || keeps_secrets.load(std::memory_order_relaxed)) return text;
  for (const Shape& shape : Shapes()) {
    if (shape.hint.empty() || text.find(shape.hint) != std::string::npos)
      RE2::GlobalReplace(&text, shape.pattern, shape.replacement);
  }
  return text;
}

std::string WithoutSecrets(std::string_view key, std::string value) {
  if (!keeps_secrets.load(std::memory_order_relaxed) && !IsNothing(value) && NamesASecret(key))
    return std::string(kMasked);
  return WithoutSecrets(std::move(value));
}

// Statements are as deep as templates are: a few levels.
// NOLINTNEXTLINE(misc-no-recursion)
void MaskSecrets(model::Statement& statement) {
  for (model::Argument& argument : statement.arguments) MaskArgument(argument);
}

}  // namespace vigil::ingest
