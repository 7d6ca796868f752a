#include <unordered_map>

#include "catalogue/catalogue.h"

namespace vigil::catalogue {
namespace {

// Names differ in case and separators between loggers: "Train/Loss", "train loss", "train-loss" are one name.
std::string Fold(std::string_view name) {
  std::string folded = ToLower(Trim(name));
  for (char& c : folded) {
    if (c == ' ' || c == '-') c = '_';
  }
  return folded;
}

struct Wildcard {
  std::string before;
  std::string after;
  const SignalRow* row;
};

struct Exact {
  const SignalRow* row;
  double scale;
};

struct Vocabulary {
  std::unordered_map<std::string, Exact> exact;
  std::vector<Wildcard> wildcards;
  std::unordered_map<std::string, std::string_view> facts;
};

Vocabulary Build() {
  Vocabulary vocabulary;
  for (const SignalRow& row : Signals()) {
    vocabulary.exact.emplace(Fold(row.id), Exact{&row, 1});
    for (const ScaledName& name : row.scaled) vocabulary.exact.emplace(Fold(name.name), Exact{&row, name.factor});
    for (const std::string_view alias : row.aliases) {
      const std::string folded = Fold(alias);
      const std::size_t star = folded.find('*');
      if (star == std::string::npos) {
        vocabulary.exact.emplace(folded, Exact{&row, 1});
      } else {
        vocabulary.wildcards.push_back({folded.substr(0, star), folded.substr(star + 1), &row});
      }
    }
  }
  for (const FactRow& row : Facts()) {
    vocabulary.facts.emplace(Fold(row.id), row.id);
    for (const std::string_view alias : row.aliases) vocabulary.facts.emplace(Fold(alias), row.id);
  }
  return vocabulary;
}

// Built once, from constant rows, and never changed.
const Vocabulary& TheVocabulary() {
  static const Vocabulary vocabulary = Build();
  return vocabulary;
}

}  // namespace

std::optional<Meaning> Interpret(std::string_view raw_name) {
  const std::string name = Fold(raw_name);
  const Vocabulary& vocabulary = TheVocabulary();
  if (const auto at = vocabulary.exact.find(name); at != vocabulary.exact.end())
    return Meaning{at->second.row->id, at->second.row->unit, {}, at->second.scale};
  for (const Wildcard& wildcard : vocabulary.wildcards) {
    const std::size_t fixed = wildcard.before.size() + wildcard.after.size();
    if (name.size() <= fixed || !name.starts_with(wildcard.before) || !name.ends_with(wildcard.after)) continue;
    const std::string_view value = Trim(raw_name).substr(wildcard.before.size(), name.size() - fixed);
    return Meaning{wildcard.row->id, wildcard.row->unit, {{std::string(wildcard.row->label), std::string(value)}}};
  }
  return std::nullopt;
}

std::string_view InterpretFact(std::string_view raw_key) {
  const auto& facts = TheVocabulary().facts;
  const auto at = facts.find(Fold(raw_key));
  return at == facts.end() ? std::string_view() : at->second;
}

}  // namespace vigil::catalogue
