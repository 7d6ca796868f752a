#include "ingest/secrets.h"

#include <algorithm>
#include <atomic>

#include "ingest/secret_shapes.h"

namespace vigil::ingest {
namespace {

std::atomic<bool> keeps_secrets = false;
bool KeepsSecrets() { return keeps_secrets.load(std::memory_order_relaxed); }

// Several shapes may fit the same text: what they cover together is masked once.
std::string Masked(std::string_view text, TextSpans found) {
  std::sort(found.begin(), found.end(), [](const TextSpan& a, const TextSpan& b) { return a.begin < b.begin; });
  std::string masked;
  std::size_t at = 0;
  for (const TextSpan& secret : found) {
    if (secret.begin > at || masked.empty()) {
      masked += text.substr(at, secret.begin - at);
      masked += kMasked;
    }
    at = std::max(at, secret.end);
  }
  masked += text.substr(at);
  return masked;
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
  if (text.size() < kShortest || KeepsSecrets()) return text;
  TextSpans found;
  FindTokens(text, found);
  FindPrivateKeys(text, found);
  FindInUrls(text, found);
  FindNamed(text, found);
  return found.empty() ? text : Masked(text, std::move(found));
}

std::string WithoutSecrets(std::string_view key, std::string value) {
  if (!KeepsSecrets() && IsSecretSetting(key, value)) return std::string(kMasked);
  return WithoutSecrets(std::move(value));
}

void MaskSecrets(model::Event& event) {
  for (std::string* const text : {&event.name, &event.text, &event.detail}) MaskIn(*text);
  MaskSecrets(event.says);
}

void MaskSecrets(model::Labels& labels) {
  for (auto& [key, value] : labels) {
    value = WithoutSecrets(key, std::move(value));
    MaskIn(key);
  }
}

// Statements are as deep as templates are: a few levels.
// NOLINTNEXTLINE(misc-no-recursion)
void MaskSecrets(model::Statement& statement) {
  for (model::Argument& argument : statement.arguments) MaskArgument(argument);
}

}  // namespace vigil::ingest
